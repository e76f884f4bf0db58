// SPDX-License-Identifier: Apache-2.0
// Light or dark: by the URL, else by the editor around the page, else by the system. The event "xsp-theme" announces changes to canvases.
import { effect, signal } from "@preact/signals";
import { editorTheme, watchEditorTheme } from "../editor";
import { putColors, type Theme } from "../colors";
import { theme } from "../state";

const systemIsDark = matchMedia("(prefers-color-scheme: dark)");
const around = (): Theme => editorTheme() ?? (systemIsDark.matches ? "dark" : "light");
const system = signal<Theme>(around());
// While printing: all rows of tables are in the document, and the page is black on white.
export const isPrinting = signal(false);

export const themeWanted = (): Theme => theme.value || system.value;
export function toggleTheme() {
  const next = themeWanted() === "dark" ? "light" : "dark";
  theme.value = next === system.value ? "" : next;
}

// The rule of colors.css that has the dark colours.
const darkColors = () =>
  [...document.styleSheets]
    .flatMap((sheet) => [...sheet.cssRules])
    .find(
      (rule) => rule instanceof CSSMediaRule && rule.conditionText.includes("prefers-color-scheme"),
    ) as CSSMediaRule;

export function startTheme() {
  const dark = darkColors();
  const look = () => (system.value = around());
  systemIsDark.addEventListener("change", look);
  watchEditorTheme(look);
  addEventListener("beforeprint", () => (isPrinting.value = true));
  addEventListener("afterprint", () => (isPrinting.value = false));
  matchMedia("print").addEventListener("change", (event) => (isPrinting.value = event.matches));
  effect(() => {
    const next = isPrinting.value ? "light" : themeWanted(),
      root = document.documentElement;
    root.dataset.theme = next;
    root.style.colorScheme = next;
    dark.media.mediaText = next === "dark" ? "all" : "not all";
    putColors(root, next);
    dispatchEvent(new Event("xsp-theme"));
  });
}
