// SPDX-License-Identifier: Apache-2.0
// All keys, in one table for the help. The frame handles its own from it; each page handles the others.
import { FLAME_KEYS, POINT_KEYS } from "../flame/keys";
import { helpIsOpen, page, PAGES, type Page } from "../state";
import { TIMELINE_KEYS } from "../timeline/key_help";
import { toggleTheme } from "./theme";

interface Key {
  keys: string[]; // as labelled on the keyboard
  what: string;
  pages?: Page[]; // none: on every page
  hears?: (event: KeyboardEvent) => boolean;
  run?: (event: KeyboardEvent) => void;
}
export const KEYS: { title: string; keys: Key[] }[] = [
  {
    title: "Everywhere",
    keys: [
      {
        keys: ["1", "…", "9"],
        what: "the first nine pages",
        hears: (event) => /^[1-9]$/.test(event.key),
        run: (event) => (page.value = PAGES[Number(event.key) - 1]),
      },
      {
        keys: ["/"],
        what: "find spans by name",
        hears: (event) => event.key === "/",
        run: (event) => {
          event.preventDefault();
          document.getElementById("find")?.focus();
        },
      },
      {
        keys: ["?"],
        what: "this help",
        hears: (event) => event.key === "?",
        run: () => (helpIsOpen.value = true),
      },
      { keys: ["T"], what: "light or dark", hears: (event) => event.key === "t", run: toggleTheme },
    ],
  },
  {
    title: "In the search",
    keys: [
      { keys: ["Enter"], what: "next match, on the timeline" },
      { keys: ["Shift", "Enter"], what: "previous match" },
      { keys: ["Esc"], what: "leave; the matches stay marked" },
    ],
  },
  {
    title: "Timeline",
    keys: TIMELINE_KEYS,
  },
  { title: "Flame graph", keys: FLAME_KEYS },
  { title: "Roofline and kernels, points", keys: POINT_KEYS },
  {
    title: "Tables",
    keys: [
      { keys: ["↑", "↓"], what: "previous and next row" },
      { keys: ["Home", "End"], what: "first and last row" },
      { keys: ["Enter"], what: "open the row" },
    ],
  },
];

export const isTyping = (event: Event) => /^(INPUT|TEXTAREA|SELECT)$/.test((event.target as Element).tagName ?? "");

export function startKeys() {
  addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey || event.defaultPrevented || isTyping(event)) return;
    if (helpIsOpen.value) return; // a modal dialog: the page below gets no keys
    for (const { keys } of KEYS)
      for (const key of keys)
        if (key.hears?.(event)) {
          key.run!(event);
          return;
        }
  });
}
