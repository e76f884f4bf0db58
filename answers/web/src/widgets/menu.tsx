// SPDX-License-Identifier: Apache-2.0
// A button that opens a panel below it. Esc and a click elsewhere close it.
import { useEffect, useRef, useState } from "preact/hooks";
import type { ComponentChildren } from "preact";

export function Menu({
  text,
  label,
  children,
}: {
  text: ComponentChildren;
  label: string;
  children: (close: () => void) => ComponentChildren;
}) {
  const box = useRef<HTMLDivElement>(null),
    button = useRef<HTMLButtonElement>(null),
    [isOpen, setOpen] = useState(false);
  useEffect(() => {
    if (!isOpen) return;
    const onDown = (event: Event) => !box.current!.contains(event.target as Node) && setOpen(false);
    const onKey = (event: KeyboardEvent) => {
      if (event.key !== "Escape") return;
      event.stopPropagation(); // only the panel closes
      setOpen(false);
      button.current!.focus();
    };
    addEventListener("pointerdown", onDown);
    addEventListener("keydown", onKey, true);
    return () => {
      removeEventListener("pointerdown", onDown);
      removeEventListener("keydown", onKey, true);
    };
  }, [isOpen]);
  return (
    <div class="menu" ref={box}>
      <button type="button" ref={button} aria-expanded={isOpen} aria-label={label} onClick={() => setOpen(!isOpen)}>
        {text} <span aria-hidden="true">▾</span>
      </button>
      {isOpen && <div class="menu-panel">{children(() => setOpen(false))}</div>}
    </div>
  );
}
