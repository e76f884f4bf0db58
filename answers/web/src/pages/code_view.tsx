// SPDX-License-Identifier: Apache-2.0
// A source file with the time of its lines. Lines far from any with time are folded until they are asked for.
import { useEffect, useRef, useState } from "preact/hooks";
import "./code.css";
import { codeFiles } from "../code";
import { longestSpanOf, openLineInFlame } from "../flame/of_line";
import { openFinding, titleOf } from "../findings";
import { showOnTimeline } from "../focus";
import { cell, digits, plural } from "../format";
import { details, run, setDetail, spans } from "../state";
import { number, text, type Row } from "../widgets/answers";
import { labelOf } from "../widgets/parts";
import { SourceLink } from "../widgets/source_link";

export interface CodeLine {
  row: Row | null; // of A22; null: only findings name the line
  findings: Row[];
}
type Lines = Map<number, CodeLine>;

const NEAR = 6, // lines shown around one with time
  HOT_PCT = 5; // of the program: marked
// Of A22: a line's time, and its parts.
export const TIMES = ["time_ms", "python_ms", "native_ms", "operator_ms", "waiting_ms"];

// Runs of lines, shown and folded by turns: [first, last, is shown].
function foldsOf(count: number, lines: Lines, chosen: number, isAll: boolean): [number, number, boolean][] {
  const isNear = new Uint8Array(count + 2);
  for (const line of [...lines.keys(), chosen])
    for (let at = Math.max(1, line - NEAR); line > 0 && at <= Math.min(count, line + NEAR); at++) isNear[at] = 1;
  const folds: [number, number, boolean][] = [];
  for (let at = 1; at <= count; at++) {
    const isShown = isAll || isNear[at] === 1,
      last = folds[folds.length - 1];
    if (last?.[2] === isShown) last[1] = at;
    else folds.push([at, at, isShown]);
  }
  return folds;
}

function Line({
  at,
  line,
  code,
  most,
  isChosen,
}: {
  at: number;
  line: CodeLine | undefined;
  code: string;
  most: number;
  isChosen: boolean;
}) {
  const row = line?.row ?? null,
    pct = number(row?.time_pct) ?? 0,
    finding = line?.findings[0];
  const kinds = [pct >= HOT_PCT ? "is-hot" : "", isChosen ? "is-marked" : ""].filter((kind) => kind !== "");
  return (
    <tr data-line={at} class={kinds.join(" ")} aria-current={isChosen ? "true" : undefined}>
      <th scope="row">
        {line === undefined ? (
          at
        ) : (
          <button
            type="button"
            class="link"
            aria-label={`Line ${at}`}
            onClick={() => setDetail("lines.line", String(at))}
          >
            {at}
          </button>
        )}
      </th>
      {TIMES.map((key) => {
        const value = number(row?.[key]) ?? 0,
          share = key === "time_ms" && most > 0 ? value / most : 0;
        return (
          <td
            key={key}
            class={key === "time_ms" ? "has-bar" : "code-part"}
            title={row === null ? undefined : `${value} ms`}
            style={share > 0 ? { backgroundSize: `${100 * share}% 100%` } : undefined}
          >
            {value > 0 ? digits(value, 3) : ""}
          </td>
        );
      })}
      <td class="code-text">
        {code}
        {finding !== undefined && (
          <button type="button" class="code-finding" title={titleOf(finding)} onClick={() => openFinding(finding)}>
            {text(finding.id)}
          </button>
        )}
      </td>
    </tr>
  );
}

// The chosen line: its figures, and the way to its contexts and spans.
function Chosen({ name, at, line }: { name: string; at: number; line: CodeLine }) {
  const { row, findings } = line,
    data = spans.value,
    facts = run.value,
    source = { file: name, line: at },
    span = data === null ? -1 : longestSpanOf(data, source);
  const waits = (number(row?.waiting_ms) ?? 0) > (number(row?.time_ms) ?? 0) / 2,
    hasSamples = row !== null && facts !== undefined && facts.cpu_samples.context.length > 0;
  return (
    <div class="code-chosen" role="region" aria-label="Selected line">
      <p>
        <SourceLink source={source} isHere />{" "}
        {row !== null && (
          <>
            <strong>{cell("time_ms", row.time_ms)}</strong>, {cell("time_pct", row.time_pct)} of the program
            {number(row.error_ms) !== null && <span class="quiet"> (± {cell("error_ms", row.error_ms)})</span>}
            {text(row.hottest) !== "" && <>, most in {text(row.hottest)}</>}
          </>
        )}
      </p>
      {findings.map((finding) => (
        <p key={text(finding.id)}>
          <strong>{text(finding.id)}</strong> {titleOf(finding)}
        </p>
      ))}
      <p class="tools">
        {hasSamples && (
          <button type="button" onClick={() => openLineInFlame(source, waits ? "wait" : "cpu")}>
            Its samples in the flame graph
          </button>
        )}
        {span >= 0 && (
          <>
            <button type="button" onClick={() => openLineInFlame(source, "both")}>
              Its spans in the flame graph
            </button>
            <button type="button" onClick={() => showOnTimeline({ facts: facts!, data: data! }, span)}>
              Its longest span
            </button>
          </>
        )}
      </p>
    </div>
  );
}

function About({ name }: { name: string }) {
  const file = codeFiles.value.get(name);
  if (file?.text === undefined)
    return (
      <p class="note" role="note">
        The source is not on this page{file?.left_out ? `: ${file.left_out}` : ""}.
      </p>
    );
  return file.is_changed === true ? (
    <p class="note warn" role="note">
      The file has changed since the trace was recorded: lines may have moved.
    </p>
  ) : null;
}

export function CodeView({ name, lines }: { name: string; lines: Lines }) {
  const box = useRef<HTMLDivElement>(null),
    [opened, setOpened] = useState<number[]>([]), // first lines of folds that are open
    file = codeFiles.value.get(name),
    texts = file?.text?.split("\n") ?? [],
    chosen = Number(details.value["lines.line"] ?? 0),
    line = lines.get(chosen),
    most = Math.max(0, ...[...lines.values()].map(({ row }) => number(row?.time_ms) ?? 0));
  if (texts[texts.length - 1] === "") texts.pop();
  useEffect(() => {
    const wanted =
      chosen > 0
        ? chosen
        : [...lines].sort(([, a], [, b]) => Number(b.row?.time_ms ?? 0) - Number(a.row?.time_ms ?? 0))[0]?.[0];
    const row = box.current?.querySelector<HTMLElement>(`tr[data-line="${wanted}"]`);
    if (row) box.current!.scrollTop = row.offsetTop - box.current!.clientHeight / 3;
  }, [chosen, file]);
  return (
    <section class="panel code-panel" aria-label={`Source of ${name}`}>
      <h3>
        <code title={name}>{name}</code>
        {file?.crc32 !== undefined && <span class="quiet small"> CRC-32 {file.crc32}</span>}
      </h3>
      <About name={name} />
      {line !== undefined && <Chosen name={name} at={chosen} line={line} />}
      {texts.length > 0 && (
        <div class="code-box" ref={box} tabIndex={0} role="region" aria-label={`${name}, scrollable`}>
          <table>
            <thead>
              <tr>
                <th scope="col">line</th>
                {TIMES.map((key) => (
                  <th key={key} scope="col" class={key === "time_ms" ? "" : "code-part"}>
                    {labelOf("A22", key)} <span class="unit">ms</span>
                  </th>
                ))}
                <td />
              </tr>
            </thead>
            <tbody>
              {foldsOf(texts.length, lines, chosen, false).map(([first, last, isShown]) =>
                isShown || opened.includes(first) ? (
                  texts
                    .slice(first - 1, last)
                    .map((code, i) => (
                      <Line
                        key={first + i}
                        at={first + i}
                        line={lines.get(first + i)}
                        code={code}
                        most={most}
                        isChosen={first + i === chosen}
                      />
                    ))
                ) : (
                  <tr key={`fold-${first}`} class="code-fold">
                    <td colSpan={TIMES.length + 2}>
                      <button type="button" class="link" onClick={() => setOpened([...opened, first])}>
                        {plural(last - first + 1, "line")} without time
                      </button>
                    </td>
                  </tr>
                ),
              )}
            </tbody>
          </table>
        </div>
      )}
    </section>
  );
}
