// SPDX-License-Identifier: Apache-2.0
// The parts of the page's data, packed: elements of the page itself, or files of the server that the page comes from
// (xsp serve). The page may be truncated or damaged: a part is unpacked into exactly as many bytes as it should have.
const GZIP_MOST = 1040; // bytes that one packed byte can become
export const broken = (what: string) => new Error(`this report is damaged: ${what}; write it again with xsp report`);

// ---- a page with its data in it
// Scripts run while the page is still loading: columns come first, then the document, then tags. A part is complete
// once an element follows it.
const isRead = () => document.readyState !== "loading";
const element = (id: string) => document.getElementById(`xsp-${id}`);
const hasArrived = (id: string) => isRead() || (element(id)?.nextSibling ?? null) !== null;
function arrival(isThere: () => boolean): Promise<void> {
  return new Promise((done) => {
    if (isThere()) return done();
    const look = () => {
      if (!isThere()) return;
      watching.disconnect();
      document.removeEventListener("readystatechange", look);
      done();
    };
    const watching = new MutationObserver(look);
    watching.observe(document, { childList: true, subtree: true });
    document.addEventListener("readystatechange", look);
  });
}
// Fails if the page ends before its end.
export async function checkEnd() {
  await arrival(isRead);
  if (element("end") === null) throw broken("it was cut short");
}

// The bytes of an element. Its text is removed, so that memory holds a large page once.
function embedded(id: string, isKept: boolean): Uint8Array | null {
  const found = element(id),
    text = found?.textContent ?? "";
  if (found === null) return null;
  if (!isKept) found.remove();
  return fromBase64(id, text);
}
export function fromBase64(id: string, text: string): Uint8Array {
  try {
    const native = (Uint8Array as unknown as { fromBase64?: (text: string) => Uint8Array }).fromBase64;
    if (native !== undefined) return native(text);
    const binary = atob(text);
    const bytes = new Uint8Array(binary.length);
    for (let i = 0; i < binary.length; i++) bytes[i] = binary.charCodeAt(i);
    return bytes;
  } catch {
    throw broken(`its part "${id}" is not base64`);
  }
}

// ---- a page of a server
// What the server said of the page: "", or "live". Null: the page has its data. Known once loadDocument has begun to read.
export let served: string | null = null;
export const findSource = async () => {
  await arrival(() => hasArrived("served") || hasArrived("document"));
  served = element("served")?.textContent?.trim() ?? null;
};

// ---- a page without data, which a reader gives a file
let opened: Map<string, Uint8Array> | null = null; // its parts, as they are
export const openParts = (parts: Map<string, Uint8Array>) => (opened = parts);
export const isOpened = () => opened !== null;
// A damaged page ends early or has other parts.
export const hasNothing = () =>
  served === null &&
  element("end") !== null &&
  document.querySelector("[id^=xsp-]:not(#xsp-end, #xsp-licences)") === null;

// An answer of the server, by its path below the page's. `body`: what is too long for the address. Null: it has no such thing.
export async function ask(
  path: string,
  query: Record<string, string | number> = {},
  body?: string,
): Promise<Response | null> {
  const words = new URLSearchParams(
    Object.entries(query).map(([key, value]): [string, string] => [key, String(value)]),
  );
  const address = `${location.pathname}/${path}${words.size > 0 ? `?${words}` : ""}`,
    how = body === undefined ? {} : { method: "POST", body };
  const reply = await fetch(address, how).catch(() => {
    throw new Error("the server does not answer: is xsp serve still running?");
  });
  if (reply.status === 404) return null;
  if (!reply.ok) throw new Error(`the server refuses: ${reply.status} ${(await reply.text()).slice(0, 200)}`);
  return reply;
}

// ---- both; `version`: of a live page's parts, else ""
const early = new Map<string, Promise<Uint8Array | null>>();
// Asks a server for a part that is needed later.
export function askEarly(id: string, version: string) {
  if (served === null) return;
  const reply = packedOrNull(id, version, false);
  reply.catch(() => {}); // whoever needs it fails
  early.set(`${id} ${version}`, reply);
}
async function packedOrNull(id: string, version: string, isKept: boolean): Promise<Uint8Array | null> {
  if (opened !== null) return opened.get(id) ?? null;
  if (served === null) {
    await arrival(() => hasArrived(id));
    return embedded(id, isKept);
  }
  const asked = early.get(`${id} ${version}`);
  if (asked !== undefined) {
    early.delete(`${id} ${version}`);
    return asked;
  }
  const reply = await ask(`parts/${id}`, version === "" ? {} : { version });
  return reply === null ? null : new Uint8Array(await reply.arrayBuffer());
}
async function packed(id: string, version: string): Promise<Uint8Array> {
  const bytes = await packedOrNull(id, version, false);
  if (bytes === null) throw broken(`its part "${id}" is missing`);
  return bytes;
}
export const unpackPart = async (id: string, version: string, length: number) =>
  unpackExactly(id, await packed(id, version), length);

// Unpacks into exactly `length` bytes: a damaged part may claim terabytes.
export async function unpackExactly(id: string, source: Uint8Array, length: number): Promise<Uint8Array> {
  if (length > source.length * GZIP_MOST) throw broken(`its part "${id}" is shorter than it should be`);
  const bytes = new Uint8Array(length);
  let at = 0;
  await unpackInto(id, source, (chunk) => {
    if (at + chunk.length > length) throw broken(`its part "${id}" is longer than its ${length} bytes`);
    bytes.set(chunk, at);
    at += chunk.length;
  });
  if (at !== length) throw broken(`its part "${id}" has ${at} bytes instead of ${length}`);
  return bytes;
}

async function unpackInto(id: string, source: Uint8Array, put: (chunk: Uint8Array) => void) {
  if (opened !== null) return put(source);
  const whole = new ReadableStream<Uint8Array>({
    start: (to) => {
      to.enqueue(source);
      to.close();
    },
  });
  const reader = whole.pipeThrough(new DecompressionStream("gzip") as TransformStream<Uint8Array>).getReader();
  for (;;) {
    const { done, value } = await reader.read().catch(() => {
      throw broken(`its part "${id}" cannot be unpacked`);
    });
    if (done) return;
    put(value);
  }
}

const JSON_MOST = 1 << 29;
export const loadJson = async (id: string, version = "") => unpackJson(id, await packed(id, version));
// Of a part that may be missing, and is read again: null.
export async function loadJsonOrNull(id: string, version: string): Promise<unknown> {
  const source = await packedOrNull(id, version, true);
  return source === null ? null : unpackJson(id, source);
}
export async function unpackJson(id: string, source: Uint8Array): Promise<unknown> {
  const decoder = new TextDecoder();
  let text = "",
    length = 0;
  await unpackInto(id, source, (chunk) => {
    length += chunk.length;
    if (length > JSON_MOST) throw broken(`its part "${id}" is larger than 512 MiB`);
    text += decoder.decode(chunk, { stream: true });
  });
  try {
    return JSON.parse(text + decoder.decode());
  } catch {
    throw broken(`its part "${id}" is not JSON`);
  }
}
