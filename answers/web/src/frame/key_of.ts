// SPDX-License-Identifier: Apache-2.0
// The pressed key: lower-case letters; on a keyboard of another script, the Latin letter at that position. Keys of a
// page act when nothing in it has the focus.
import { useEffect } from "preact/hooks";
import { helpIsOpen } from "../state";

export function keyOf({ key, code }: KeyboardEvent): string {
  const isForeign = key.length === 1 && key > "\u007f" && /^Key[A-Z]$/.test(code);
  return (isForeign ? code.slice(3) : key).toLowerCase();
}

// A focused element handles its keys itself.
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
