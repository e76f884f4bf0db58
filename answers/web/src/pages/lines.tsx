// SPDX-License-Identifier: Apache-2.0
// Time by line of code (A22): the source files with the lines' figures, and the table. The files are those of this moment on the
// machine of `xsp report`; where they are not on the page, it has the reason.
import { useMemo } from "preact/hooks";
import { codeFiles } from "../code";
import type { Answer } from "../data";
import { findingsAnswer } from "../findings";
import { digits, plural } from "../format";
import { shortPath } from "../source";
import { details, setDetail } from "../state";
import { LinkedTable, number, type Row } from "../widgets/answers";
import { answer } from "../widgets/parts";
import { CodeView, TIMES, type CodeLine } from "./code_view";
import { NoData } from "./no_data";

// Figures by line of a file; several functions of one line together.
export function linesOf(rows: Row[], file: string): Map<number, CodeLine> {
  const lines = new Map<number, CodeLine>();
  for (const row of rows) {
    const line = number(row.line);
    if (row.file !== file || line === null) continue;
    const known = lines.get(line)?.row ?? {},
      add = (key: string) => (number(row[key]) ?? 0) + (number(known[key]) ?? 0);
    const sums = Object.fromEntries([...TIMES, "time_pct", "samples"].map((key) => [key, add(key)]));
    lines.set(line, { row: { ...row, ...known, ...sums }, findings: [] });
  }
  for (const row of findingsAnswer()?.table.rows ?? []) {
    const line = number(row.line);
    if (row.file !== file || line === null) continue;
    const known = lines.get(line) ?? { row: null, findings: [] };
    lines.set(line, { ...known, findings: [...known.findings, row] });
  }
  return lines;
}

interface FileTime {
  name: string;
  pct: number;
}
// Files with their shares of the program's time, the largest first; those of findings too.
function filesOf(of: Answer | undefined): FileTime[] {
  const shares = new Map<string, number>();
  for (const row of [...(of?.table.rows ?? []), ...(findingsAnswer()?.table.rows ?? [])])
    if (typeof row.file === "string" && number(row.line) !== null)
      shares.set(row.file, (shares.get(row.file) ?? 0) + (number(row.time_pct) ?? 0));
  const all = [...shares].map(([name, pct]) => ({ name, pct }));
  const hasText = ({ name }: FileTime) => Number(codeFiles.value.get(name)?.text !== undefined);
  return all.sort((a, b) => hasText(b) - hasText(a) || b.pct - a.pct);
}

function Chooser({ files, chosen }: { files: FileTime[]; chosen: string }) {
  return (
    <label>
      File{" "}
      <select
        value={chosen}
        onChange={(event) => {
          setDetail("lines.line", "");
          setDetail("lines.file", event.currentTarget.value);
        }}
      >
        {files.map(({ name, pct }) => (
          <option key={name} value={name}>
            {shortPath(name)}
            {pct > 0 ? ` · ${digits(pct, 3)} %` : ""}
          </option>
        ))}
      </select>
    </label>
  );
}

export function Lines() {
  const a22 = answer("A22"),
    files = useMemo(() => filesOf(a22), [a22, findingsAnswer(), codeFiles.value]),
    wanted = details.value["lines.file"] ?? "",
    chosen = files.some(({ name }) => name === wanted) ? wanted : (files[0]?.name ?? ""),
    rows = a22?.table.rows ?? [],
    lines = useMemo(() => linesOf(rows, chosen), [rows, chosen, findingsAnswer()]);
  if (files.length === 0) return <NoData />;
  const isOwn = chosen !== "" && lines.size > 0;
  return (
    <>
      <div class="tools">
        <Chooser files={files} chosen={chosen} />
        <span class="quiet">{plural(lines.size, "line")} with time or a finding</span>
      </div>
      {isOwn && <CodeView key={chosen} name={chosen} lines={lines} />}
      {a22 !== undefined && <LinkedTable answer={a22} height={520} />}
    </>
  );
}
