// SPDX-License-Identifier: Apache-2.0
// Source lines of call paths: where a name's frame is, and how to open it. In xsp's editor extension the editor opens it; in
// a browser a vscode:// link does, if the reader has switched such links on.
import { computed, signal } from "@preact/signals";
import { host } from "./editor";
import { documentData } from "./state";

export interface Source {
  file: string;
  line: number;
}

// Off in a new page: whoever gets one by mail starts no program by a click (frame/source_switch.tsx).
export const areLinksOn = signal(false);

const sources = computed(() => {
  const found = new Map<number, Source>(),
    { files, name, file, line } = documentData.value!.sources;
  name.forEach((number, i) => found.set(number, { file: files[file[i]], line: line[i] }));
  return found;
});
// Of a name of the document. undefined: it is not a frame with a known line.
export const sourceOf = (name: number): Source | undefined => sources.value.get(name);

// A frame's name with its file's name for the whole path: for places with little room.
export function shortFrame(name: string, number: number): string {
  const file = sourceOf(number)?.file;
  return file === undefined ? name : name.replace(file, file.slice(file.lastIndexOf("/") + 1));
}

// The last two parts of a path: enough to tell files apart in little room.
export const shortPath = (file: string) => file.split("/").slice(-2).join("/");
export const sourceText = ({ file, line }: Source) => `${file.slice(file.lastIndexOf("/") + 1)}:${line}`;
// The link of a browser; of relative paths there is none.
export const sourceLink = ({ file, line }: Source) =>
  file.startsWith("/") ? `vscode://file${file.split("/").map(encodeURIComponent).join("/")}:${line}` : null;

// In an editor; a browser follows the link.
export function openSource(file: string, line: number) {
  host?.postMessage({ type: "xsp.source", file, line });
}
