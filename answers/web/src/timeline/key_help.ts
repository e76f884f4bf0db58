// SPDX-License-Identifier: Apache-2.0
// The timeline's keys for the help of the page; keys.ts and pointer.ts act on them.
export const TIMELINE_KEYS: { keys: string[]; what: string }[] = [
  { keys: ["W", "S"], what: "zoom in and out at the pointer" },
  { keys: ["A", "D"], what: "pan left and right" },
  { keys: ["wheel"], what: "scroll the tracks; with Ctrl zoom, with Shift pan" },
  { keys: ["drag"], what: "select a range, which filters every page; its edges can be dragged" },
  { keys: ["Shift", "drag"], what: "pan" },
  { keys: ["click"], what: "select a span; twice: zoom to it" },
  { keys: [",", "."], what: "previous and next span of the row" },
  { keys: ["←", "→", "↑", "↓"], what: "of the selected span: neighbours, parent, child; else pan, scroll" },
  {
    keys: ["G"],
    what: "from a launch to its execution, or a forward operator to its backward one, and back; from a collective to the next rank",
  },
  { keys: ["F"], what: "bring the selected span to the middle; again: fit it" },
  { keys: ["R"], what: "select the range of the selected span" },
  { keys: ["M"], what: "measure: a mark at the pointer, on and off" },
  { keys: ["[", "]"], what: "previous and next observation" },
  { keys: ["L"], what: "arrows of all launches in view, on and off" },
  { keys: ["0"], what: "show all; again: the observations, where the timeline opens on them" },
  { keys: ["Esc"], what: "clear: the span, then the range, then the mark, then the search" },
];
