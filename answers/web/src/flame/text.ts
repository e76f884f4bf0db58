// SPDX-License-Identifier: Apache-2.0
// Names in boxes of a canvas: cut to the room by an estimate, measured once, and cut again where letters are wide.
const LETTER = 6.2; // pixels of a letter, about
const LEAST = 3; // letters: fewer are not drawn

// Not between the halves of a letter beyond 16 bits.
const cut = (text: string, letters: number) => `${text.slice(0, letters - 1).replace(/[\ud800-\udbff]$/, "")}…`;

// "": does not fit.
export function fitted(context: CanvasRenderingContext2D, text: string, room: number): string {
  const fits = Math.floor(room / LETTER);
  if (fits < LEAST) return "";
  const first = text.length > fits ? cut(text, fits) : text,
    wide = context.measureText(first).width;
  if (wide <= room) return first;
  const fewer = Math.floor((first.length * room) / wide);
  if (fewer < LEAST) return "";
  const second = cut(text, fewer);
  return context.measureText(second).width <= room ? second : cut(text, Math.max(2, Math.floor(fewer / 2)));
}
