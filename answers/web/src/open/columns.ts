// SPDX-License-Identifier: Apache-2.0
// Columns of a run as the page has them (docs/internals/page.md): planes of bytes, the lowest first.
const zigzag = (value: number) => (value < 0 ? -2 * value - 1 : 2 * value);

export function planes(values: Float64Array): { bytes: Uint8Array; width: number } {
  let most = 0,
    width = 1;
  for (const value of values) most = Math.max(most, value);
  while (width < 8 && most >= 256 ** width) width++;
  const bytes = new Uint8Array(values.length * width);
  for (let i = 0; i < values.length; i++)
    for (let plane = 0, rest = values[i]; plane < width; plane++, rest = Math.floor(rest / 256))
      bytes[plane * values.length + i] = rest % 256;
  return { bytes, width };
}
// As differences. With `hasNone`, -1 is 0 and takes no part: most places have none.
export function differences(places: Int32Array, hasNone: boolean): Float64Array {
  const values = new Float64Array(places.length),
    more = hasNone ? 1 : 0;
  let last = 0;
  for (let i = 0; i < places.length; i++) {
    if (hasNone && places[i] < 0) continue;
    values[i] = zigzag(places[i] + more - last) + more;
    last = places[i] + more;
  }
  return values;
}
// Starts, from the end of the span before in the same row.
export function gaps(start: Float64Array, duration: Float64Array, rows: [number, number, number, number][]) {
  const values = new Float64Array(start.length);
  for (const [, , first, count] of rows)
    for (let i = first, before = 0; i < first + count; i++) {
      values[i] = zigzag(start[i] - before);
      before = start[i] + duration[i];
    }
  return values;
}
