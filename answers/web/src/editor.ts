// SPDX-License-Identifier: Apache-2.0
// The editor around the page, where xsp's extension shows it (editor/): messages to it, its theme, and links within the
// page, which a webview would hand to the editor.
import { effect } from "@preact/signals";
import { fragment } from "./state";

interface Host {
  postMessage(message: unknown): void;
  getState(): { hash?: string } | undefined; // kept while the editor has the file open
  setState(state: { hash: string }): void;
}
type WithHost = typeof globalThis & { acquireVsCodeApi?: () => Host };

// May be taken once only. undefined: the page is in a browser.
export const host = (globalThis as WithHost).acquireVsCodeApi?.();

// "dark" or "light", as the editor has it; null in a browser.
export function editorTheme(): "dark" | "light" | null {
  if (host === undefined) return null;
  return /dark|high-contrast$/.test(document.body.dataset.vscodeThemeKind ?? "") ? "dark" : "light";
}
export function watchEditorTheme(onChange: () => void) {
  if (host !== undefined)
    new MutationObserver(onChange).observe(document.body, { attributeFilter: ["data-vscode-theme-kind"] });
}

// Before the state is read: a page that is written again opens where it was, the first one at the flame graph.
export function restorePlace() {
  if (host !== undefined && location.hash === "") location.hash = host.getState()?.hash ?? "#page=flame";
}
// After the state was read.
export function keepPlace() {
  if (host === undefined) return;
  effect(() => host.setState({ hash: fragment() }));
  document.addEventListener(
    "click",
    (event) => {
      const link = (event.target as Element).closest("a");
      if (link === null || link.hash === "" || link.pathname !== location.pathname) return;
      event.preventDefault();
      event.stopImmediatePropagation();
      location.hash = link.hash;
    },
    true,
  );
}
