// SPDX-License-Identifier: Apache-2.0
// Columns of spans: the chunks of an .xsp file (docs/format.md), decoded. Whole 64-bit numbers stay exact.
import { decompress } from "fzstd";
import type { Database, Row } from "./sqlite";

const PART_MOST = 65536; // rows of a chunk
const INT64 = 1,
  DELTA = 1;
const EXACT_PLANES = 4, // of residuals and a base whose sums over a chunk stay below 2^53
  EXACT_BASE = 2 ** 52;
const CONSTANT = 0,
  RAW = 1,
  ZSTD = 2;
export type Numbers = BigInt64Array | Float64Array; // the first: where doubles are not exact
export type Ids = ArrayLike<number | bigint>; // bigint: beyond 2^53 only

const wrong = (column: string) => new Error(`not a whole .xsp file: column "${column}" cannot be decoded`);

// The residuals' bytes, 8 each, the lowest first.
function planesOf(data: Uint8Array, column: string): { head: DataView; rows: number; residuals: Uint8Array } {
  const head = new DataView(data.buffer, data.byteOffset, data.byteLength);
  if (data.length < 24 || data[0] !== 1) throw wrong(column);
  const count = data[3],
    rows = head.getUint32(4, true);
  if (count > 8 || rows > PART_MOST || data.length < 24 + 8 * count) throw wrong(column);
  const residuals = new Uint8Array(8 * rows);
  let at = 24 + 8 * count;
  for (let plane = 0; plane < count; plane++) {
    const entry = 24 + 8 * plane,
      mode = data[entry],
      size = head.getUint32(entry + 4, true),
      stored = data.subarray(at, at + size);
    at += size;
    if (mode === CONSTANT) {
      for (let i = 0; i < rows; i++) residuals[8 * i + plane] = data[entry + 1];
      continue;
    }
    const bytes = mode === ZSTD ? decompress(stored, new Uint8Array(rows)) : stored;
    if ((mode !== RAW && mode !== ZSTD) || bytes.length !== rows) throw wrong(column);
    for (let i = 0; i < rows; i++) residuals[8 * i + plane] = bytes[i];
  }
  return { head, rows, residuals };
}

function decode(data: Uint8Array, column: string): Numbers {
  const { head, rows, residuals } = planesOf(data, column),
    isDelta = data[2] === DELTA;
  const exact = head.getBigInt64(8, true),
    base = Number(exact);
  if (data[1] !== INT64 || (data[3] <= EXACT_PLANES && Math.abs(base) < EXACT_BASE)) {
    const values = new Float64Array(rows),
      halves = new Uint32Array(residuals.buffer);
    for (let i = 0, last = base; i < rows; i++) {
      const residual = halves[2 * i] + halves[2 * i + 1] * 0x100000000;
      last = !isDelta ? base + residual : last + (residual % 2 === 0 ? residual / 2 : -(residual + 1) / 2);
      values[i] = last;
    }
    return values;
  }
  const values = new BigInt64Array(residuals.buffer);
  for (let i = 0, last = exact; i < rows; i++) {
    const residual = BigInt.asUintN(64, values[i]);
    values[i] = isDelta ? last + ((residual >> 1n) ^ -(residual & 1n)) : exact + residual; // stored modulo 2^64
    last = values[i];
  }
  return values;
}

const isSafe = (id: bigint) => id <= BigInt(Number.MAX_SAFE_INTEGER) && id >= -BigInt(Number.MAX_SAFE_INTEGER);

// Chunks of spans by run and column.
export class Chunks {
  private readonly found = new Map<string, Row[]>();
  constructor(database: Database) {
    for (const row of database.rows("chunk")) {
      if (row.series !== "span") continue;
      const key = `${row.run_id} ${row.column}`;
      const parts = this.found.get(key);
      if (parts === undefined) this.found.set(key, [row]);
      else parts.push(row);
    }
  }
  private parts(run: number, column: string): Numbers[] {
    const rows = this.found.get(`${run} ${column}`) ?? [];
    return rows
      .sort((a, b) => Number(a.part) - Number(b.part))
      .map(({ data }) => (data instanceof Uint8Array ? decode(data, column) : new Float64Array(0)));
  }
  private joined(parts: Numbers[]): Float64Array {
    const values = new Float64Array(parts.reduce((sum, part) => sum + part.length, 0));
    let at = 0;
    for (const part of parts) {
      if (part instanceof Float64Array) values.set(part, at);
      else for (let i = 0; i < part.length; i++) values[at + i] = Number(part[i]);
      at += part.length;
    }
    return values;
  }
  // All three: null where the run has no such column.
  numbers(run: number, column: string): Float64Array | null {
    const parts = this.parts(run, column);
    return parts.length === 0 ? null : this.joined(parts);
  }
  ids(run: number, column: string): Ids | null {
    const parts = this.parts(run, column);
    if (parts.length === 0) return null;
    if (parts.every((part) => part instanceof Float64Array)) return this.joined(parts);
    return parts.flatMap((part): (number | bigint)[] =>
      part instanceof Float64Array ? [...part] : Array.from(part, (id) => (isSafe(id) ? Number(id) : id)),
    );
  }
  // Times from the first one.
  times(run: number, column: string): { first: bigint; from: Float64Array } | null {
    const parts = this.parts(run, column).map((part) =>
      part instanceof BigInt64Array ? part : BigInt64Array.from(part, BigInt),
    );
    if (parts.length === 0) return null;
    let first = parts[0][0] ?? 0n;
    for (const part of parts) for (const time of part) if (time < first) first = time;
    return { first, from: this.joined(parts.map((part) => Float64Array.from(part, (time) => Number(time - first)))) };
  }
}
