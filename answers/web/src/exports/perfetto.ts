// SPDX-License-Identifier: Apache-2.0
// Hands a trace to a tab of Perfetto's viewer: opens it, asks "PING" until it answers "PONG", then sends the bytes
// (https://perfetto.dev/docs/visualization/deep-linking-to-perfetto-ui). They go from tab to tab of this browser, not
// to a server; nothing is opened or sent without a click.
export const PERFETTO = "https://ui.perfetto.dev";
const ASK_EVERY_MS = 100;
const WAIT_MOST_MS = 60_000;

export async function openInPerfetto(title: string, make: () => Promise<Blob>): Promise<void> {
  const tab = window.open(PERFETTO); // at once: browsers allow it only during the click
  if (tab === null) throw new Error("the browser did not open a new tab: allow this page to open one");
  const buffer = await (await make()).arrayBuffer();
  await new Promise<void>((resolve, reject) => {
    const giveUp = setTimeout(
      () => end(new Error("no answer from ui.perfetto.dev: is there a network?")),
      WAIT_MOST_MS,
    );
    const ask = setInterval(() => {
      if (tab.closed) end(new Error("its tab was closed"));
      else tab.postMessage("PING", PERFETTO);
    }, ASK_EVERY_MS);
    const onMessage = (event: MessageEvent) => {
      if (event.origin === PERFETTO && event.source === tab && event.data === "PONG") end(null);
    };
    const end = (error: Error | null) => {
      clearTimeout(giveUp);
      clearInterval(ask);
      removeEventListener("message", onMessage);
      if (error === null) resolve();
      else reject(error);
    };
    addEventListener("message", onMessage);
  });
  tab.postMessage({ perfetto: { buffer, title, fileName: "xsp.json", localOnly: true } }, PERFETTO, [buffer]);
}
