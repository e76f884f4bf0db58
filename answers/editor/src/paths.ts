// SPDX-License-Identifier: Apache-2.0
// Recorded paths and those of this machine. Pure.

// How many of the last parts of two paths are equal.
export function commonParts(one: string, other: string): number {
  const first = one.split("/").reverse(),
    second = other.split("/").reverse();
  let parts = 0;
  while (parts < first.length && parts < second.length && first[parts] === second[parts]) parts++;
  return parts;
}

// Those with the longest common end; none if not even the file's name is equal.
export function bestMatches(wanted: string, paths: string[]): string[] {
  const most = paths.reduce((best, path) => Math.max(best, commonParts(wanted, path)), 1);
  return paths.filter((path) => commonParts(wanted, path) === most);
}

// The recorded file whose best match in the workspace is the opened one; of several, the one with the longest common end.
export function recordedAs(opened: string, recorded: string[], workspace: string[]): string | undefined {
  const fitting = recorded.filter((file) => bestMatches(file, workspace).includes(opened));
  return bestMatches(opened, fitting)[0];
}

export const baseName = (path: string) => path.slice(path.lastIndexOf("/") + 1);
// A pattern that matches exactly this text.
export const escapeGlob = (text: string) => text.replace(/[*?{}[\]]/g, (mark) => `[${mark}]`);

// An absolute path that may be opened: not one of a network share.
export const isLocal = (path: string) => path.startsWith("/") && !path.startsWith("//");
