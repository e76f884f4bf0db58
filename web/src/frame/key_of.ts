// SPDX-License-Identifier: Apache-2.0
// Which key was pressed, for all pages alike: letters small, and on a keyboard of another script the letter that stands in
// its place on a Latin one. Keys of a page act when nothing in it has the focus.
import { useEffect } from "preact/hooks";
import { helpIsOpen } from "../state";

export function keyOf({ key, code }: KeyboardEvent): string {
  const isForeign = key.length === 1 && key > "\u007f" && /^Key[A-Z]$/.test(code);
  return (isForeign ? code.slice(3) : key).toLowerCase();
}

// What has the focus itself hears its keys already.
export function useKeysOfPage(onKey: ((event: KeyboardEvent) => void) | null) {
  useEffect(() => {
    if (onKey === null) return;
    const hear = (event: KeyboardEvent) => {
      if (event.target === document.body && !helpIsOpen.value) onKey(event);
    };
    document.addEventListener("keydown", hear);
    return () => document.removeEventListener("keydown", hear);
  });
}
