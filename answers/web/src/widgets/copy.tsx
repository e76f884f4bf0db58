// SPDX-License-Identifier: Apache-2.0
// Text to the clipboard, files to the disk, and lines that can be copied.
import { useRef, useState } from "preact/hooks";
import { CopyIcon } from "../frame/icons";

export async function copyText(text: string) {
  try {
    await navigator.clipboard.writeText(text);
  } catch {
    // from a file, some browsers have no clipboard
    const area = document.createElement("textarea");
    area.value = text;
    area.className = "unseen";
    (document.querySelector("dialog[open]") ?? document.body).append(area);
    area.select();
    document.execCommand("copy");
    area.remove();
  }
}

export function saveFile(name: string, type: string, parts: BlobPart[]) {
  const link = document.createElement("a");
  link.href = URL.createObjectURL(new Blob(parts, { type }));
  link.download = name;
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 60_000); // the browser may still be asking where to
}

const SHOWN_MS = 1500;
export function CopyButton({ text, label }: { text: string; label: string }) {
  const [isCopied, setCopied] = useState(false),
    timer = useRef(0);
  return (
    <button
      type="button"
      class="copy-button"
      aria-label={isCopied ? "Copied" : label}
      title={isCopied ? "Copied" : label}
      onClick={() =>
        copyText(text).then(() => {
          setCopied(true);
          clearTimeout(timer.current);
          timer.current = window.setTimeout(() => setCopied(false), SHOWN_MS);
        })
      }
    >
      {isCopied ? "✓" : <CopyIcon />}
    </button>
  );
}
// A word of a command as a shell reads it back.
export const quoted = (text: string) => (/^[\w@%+=:,./-]+$/.test(text) ? text : `'${text.replaceAll("'", `'\\''`)}'`);
// A command of xsp that can be copied.
export const Command = ({ text }: { text: string }) => (
  <span class="command">
    <code>{text}</code>
    <CopyButton text={text} label="Copy the command" />
  </span>
);
