// SPDX-License-Identifier: Apache-2.0
// Tables of an SQLite file in memory: rows in the order of their keys. Read only, without indexes and journals. The file is a
// stranger's: every offset is checked, and no page is visited twice.
export type Value = number | bigint | string | Uint8Array | null;
export type Row = Record<string, Value>;

const wrong = (what: string) => new Error(`not a whole .xsp file: ${what}`);
const TABLE_LEAF = 13,
  TABLE_INTERIOR = 5,
  INDEX_LEAF = 10,
  INDEX_INTERIOR = 2;
const utf8 = new TextDecoder();

export class Database {
  private readonly view: DataView;
  private readonly pageSize: number;
  private readonly usable: number; // bytes of a page
  private readonly tables = new Map<string, { root: number; columns: string[]; rowid: number }>();

  constructor(private readonly bytes: Uint8Array) {
    this.view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
    if (bytes.length < 512 || utf8.decode(bytes.subarray(0, 15)) !== "SQLite format 3")
      throw new Error("not an .xsp file: xsp import makes one of a trace of another profiler");
    const size = this.view.getUint16(16);
    this.pageSize = size === 1 ? 65536 : size;
    if (this.pageSize < 512 || (this.pageSize & (this.pageSize - 1)) !== 0) throw wrong("the page size is impossible");
    this.usable = this.pageSize - bytes[20];
    for (const [type, name, , root, sql] of this.walk(1)) {
      if (type !== "table" || typeof name !== "string" || typeof sql !== "string") continue;
      const columns = columnsOf(sql);
      this.tables.set(name, {
        root: Number(root),
        columns: columns.map(({ column }) => column),
        rowid: columns.findIndex(({ isRowid }) => isRowid),
      });
    }
  }
  get applicationId() {
    return this.view.getUint32(68);
  }
  get userVersion() {
    return this.view.getUint32(60);
  }

  // A table that the file lacks has no rows: earlier versions had fewer.
  *rows(table: string): Generator<Row> {
    const found = this.tables.get(table);
    if (found === undefined) return;
    for (const values of this.walk(found.root, found.rowid))
      yield Object.fromEntries(found.columns.map((column, i): [string, Value] => [column, values[i] ?? null]));
  }

  private *walk(root: number, rowid = -1, seen = new Set<number>()): Generator<Value[]> {
    const begin = (root - 1) * this.pageSize,
      head = root === 1 ? begin + 100 : begin;
    if (root < 1 || begin + this.pageSize > this.bytes.length || seen.has(root)) throw wrong(`page ${root} is missing`);
    seen.add(root);
    const kind = this.bytes[head],
      isInterior = kind === TABLE_INTERIOR || kind === INDEX_INTERIOR;
    if (!isInterior && kind !== TABLE_LEAF && kind !== INDEX_LEAF) throw wrong(`page ${root} is none of a table`);
    const count = this.view.getUint16(head + 3),
      cells = head + (isInterior ? 12 : 8);
    for (let i = 0; i < count; i++) {
      let at = begin + this.view.getUint16(cells + 2 * i);
      if (isInterior) {
        yield* this.walk(this.view.getUint32(at), rowid, seen);
        at += 4;
      }
      if (kind !== TABLE_INTERIOR) yield this.record(at, kind === TABLE_LEAF, rowid);
    }
    if (isInterior) yield* this.walk(this.view.getUint32(head + 8), rowid, seen);
  }

  private varint(bytes: Uint8Array, at: number): [value: number, next: number] {
    let value = 0;
    for (let i = 0; i < 8; i++) {
      const byte = bytes[at + i] ?? 0;
      value = value * 128 + (byte & 127);
      if (byte < 128) return [value, at + i + 1];
    }
    return [value * 256 + (bytes[at + 8] ?? 0), at + 9];
  }

  private record(at: number, isTable: boolean, rowid: number): Value[] {
    let size,
      key = 0;
    [size, at] = this.varint(this.bytes, at);
    if (isTable) [key, at] = this.varint(this.bytes, at);
    const values = valuesOf(this.payload(at, size, isTable), (bytes, place) => this.varint(bytes, place));
    if (rowid >= 0) values[rowid] = key;
    return values;
  }

  private payload(at: number, size: number, isTable: boolean): Uint8Array {
    const usable = this.usable,
      most = isTable ? usable - 35 : Math.floor(((usable - 12) * 64) / 255) - 23,
      least = Math.floor(((usable - 12) * 32) / 255) - 23,
      fitting = least + ((size - least) % (usable - 4)),
      local = size <= most ? size : fitting <= most ? fitting : least;
    if (size > this.bytes.length) throw wrong("a row is longer than the file");
    if (local === size) return this.bytes.subarray(at, at + size);
    const whole = new Uint8Array(size);
    whole.set(this.bytes.subarray(at, at + local));
    let next = this.view.getUint32(at + local);
    for (let filled = local; filled < size;) {
      const begin = (next - 1) * this.pageSize,
        part = Math.min(usable - 4, size - filled);
      if (next < 1 || begin + this.pageSize > this.bytes.length) throw wrong("a row ends early");
      whole.set(this.bytes.subarray(begin + 4, begin + 4 + part), filled);
      filled += part;
      next = this.view.getUint32(begin);
    }
    return whole;
  }
}

const INTEGER_BYTES = [0, 1, 2, 3, 4, 6, 8];
function valuesOf(bytes: Uint8Array, varint: (bytes: Uint8Array, at: number) => [number, number]): Value[] {
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength),
    values: Value[] = [];
  const [head, first] = varint(bytes, 0);
  let at = head;
  for (let place = first; place < head;) {
    let type;
    [type, place] = varint(bytes, place);
    const length = type < 7 ? INTEGER_BYTES[type] : type === 7 ? 8 : type < 12 ? 0 : Math.floor((type - 12) / 2);
    if (at + length > bytes.length) throw wrong("a row is shorter than its values");
    if (type === 0) values.push(null);
    else if (type === 7) values.push(view.getFloat64(at));
    else if (type === 8 || type === 9) values.push(type - 8);
    else if (type < 7) values.push(integer(view, at, length));
    else if (type % 2 === 1) values.push(utf8.decode(bytes.subarray(at, at + length)));
    else values.push(bytes.subarray(at, at + length));
    at += length;
  }
  return values;
}
function integer(view: DataView, at: number, length: number): number | bigint {
  if (length === 8) {
    const whole = view.getBigInt64(at);
    return Number.isSafeInteger(Number(whole)) ? Number(whole) : whole;
  }
  let value = view.getInt8(at);
  for (let i = 1; i < length; i++) value = value * 256 + view.getUint8(at + i);
  return value;
}

// Of the statements that xsp writes: names first, no commas but those between columns and within parentheses.
function columnsOf(sql: string): { column: string; isRowid: boolean }[] {
  const inner = sql.slice(sql.indexOf("(") + 1, sql.lastIndexOf(")")).replace(/\([^()]*\)/g, "");
  return inner
    .split(",")
    .map((text) => text.trim())
    .filter((text) => !/^(PRIMARY KEY|UNIQUE)\b/.test(text))
    .map((text) => ({ column: text.split(/\s/)[0].replaceAll('"', ""), isRowid: /INTEGER PRIMARY KEY/.test(text) }));
}
