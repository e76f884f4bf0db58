// SPDX-License-Identifier: Apache-2.0
// Texts of source files, as `xsp report` found them: part "code" of the page. A server's page has none.
import { batch as together, computed, signal } from "@preact/signals";
import { broken, loadJson } from "./parts";
import type { Source } from "./source";
import { details, documentData, page, run } from "./state";

export interface CodeFile {
  file: number; // place in the document's files
  name: string;
  left_out: string | null; // why there is no text
  crc32?: string;
  is_changed?: boolean; // since the trace was recorded
  text?: string;
}
const code = signal<CodeFile[]>([]);

const isCodeFile = (one: CodeFile | null) =>
  typeof one?.name === "string" && (typeof one.text === "string" || typeof one.left_out === "string");
// After the document: nothing that is drawn first waits for it.
export async function loadCode() {
  if (documentData.peek()?.has_code !== true) return;
  const all = (await loadJson("code")) as CodeFile[];
  if (!Array.isArray(all) || !all.every(isCodeFile)) throw broken("its source files are malformed");
  code.value = all;
}
// Of the file of the run shown, by name.
export const codeFiles = computed<Map<string, CodeFile>>(
  () =>
    new Map(
      code.value
        .filter(({ file }) => file === (run.value?.file ?? 0))
        .map((one): [string, CodeFile] => [one.name, one]),
    ),
);
export const hasCode = (file: string) => codeFiles.value.get(file)?.text !== undefined;

// To the line on the page of lines.
export function openCode({ file, line }: Source) {
  together(() => {
    details.value = { ...details.value, "lines.file": file, "lines.line": String(line) };
    page.value = "lines";
  });
}
