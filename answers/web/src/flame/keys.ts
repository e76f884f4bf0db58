// SPDX-License-Identifier: Apache-2.0
// Keys of the flame graph and of charts with points, for the help. The widgets handle them.
export const FLAME_KEYS = [
  { keys: ["←", "→", "↑", "↓"], what: "neighbours, the context around, the widest below" },
  { keys: ["Enter"], what: "show it alone; in time order: zoom to it" },
  { keys: ["Esc"], what: "back one step" },
  { keys: ["0"], what: "show all" },
  { keys: ["F"], what: "its longest span on the timeline" },
  { keys: ["W", "S", "A", "D"], what: "in time order: zoom and pan" },
];
export const POINT_KEYS = [
  { keys: ["←", "→"], what: "from point to point, the largest first" },
  { keys: ["Enter"], what: "open the point's layer or kernel" },
  { keys: ["W", "S", "A", "D"], what: "zoom and pan" },
  { keys: ["0"], what: "show all" },
];
