// SPDX-License-Identifier: Apache-2.0
// What the timeline leaves out, and the command that shows it: merged rectangles, spans left out, other clocks.
import { useEffect, useMemo, useState } from "preact/hooks";
import { countOf, type RunFacts, type Spans } from "../data";
import { count, plural, time } from "../format";
import { documentData, view, type Range } from "../state";
import { arrowCount, areAllArrows } from "./stage";

const quoted = (text: string) => (/^[\w./+-]+$/.test(text) ? text : `'${text.replaceAll("'", "'\\''")}'`);
export const fileOf = (facts: RunFacts) => quoted(documentData.value!.files[facts.file].name);
const seconds = (ns: number) => `${(ns / 1e9).toFixed(6).replace(/\.?0+$/, "")}s`;

// The range in view once it stops moving: the command below need not follow each frame.
function useSettledView(): Range | null {
  const [settled, setSettled] = useState(view.peek());
  useEffect(() => {
    let timer = 0;
    const stop = view.subscribe((range) => {
      clearTimeout(timer);
      timer = window.setTimeout(() => setSettled(range), 200);
    });
    return () => {
      clearTimeout(timer);
      stop();
    };
  }, []);
  return settled;
}

function Merged({ data }: { data: Spans }) {
  const { facts } = data,
    shown = useSettledView() ?? { from: 0, to: data.end },
    from = Math.max(0, Math.floor(shown.from / 1e3) * 1e3),
    to = Math.ceil(Math.min(shown.to, data.end) / 1e3) * 1e3;
  const alone = useMemo(() => {
    let some = 0;
    for (let i = 0; i < data.count; i++) if (countOf(data, i) === 1) some++;
    return some;
  }, [data]);
  return (
    <p class="note" role="note">
      {count(facts.recorded)} spans were recorded, more than this page holds separately
      {facts.merged_below_ns === null
        ? ""
        : `: shorter ones that start within ${time(facts.merged_below_ns)} of each other are one rectangle`}
      . {plural(data.count - alone, "hatched rectangle")} show their number of spans; {plural(alone, "span")}{" "}
      {alone === 1 ? "is" : "are"} drawn separately.{" "}
      {facts.has_windows ? (
        "Zoom in to see each."
      ) : (
        <>
          To get all spans in view:{" "}
          <code>
            xsp report {fileOf(facts)} --run {facts.run_id} --range {seconds(from)}-{seconds(to)} -o part.html
          </code>
        </>
      )}
    </p>
  );
}

export function NoSpans({ facts }: { facts: RunFacts }) {
  return (
    <p class="note" role="note">
      {documentData.value!.range_ns === null
        ? `This run has ${plural(facts.recorded, "span")}, which this report does not hold`
        : `None of this run's ${plural(facts.recorded, "span")} is in the range of this report`}
      ; its tables are complete. To see them:{" "}
      <code>
        xsp report {fileOf(facts)} --run {facts.run_id} --max-spans {Math.max(facts.recorded, 1)} -o part.html
      </code>
      , or <code>xsp export {fileOf(facts)} --to perfetto</code>.
    </p>
  );
}

export function Notes({ data }: { data: Spans }) {
  const { facts } = data,
    arrows = arrowCount.value;
  const lines: string[] = [],
    held = documentData.value!.range_ns;
  if (held !== null)
    lines.push(
      `Only spans that overlap ${time(held[0], 6)} to ${time(held[1], 6)} are here, and the spans around them: the report was written with --range.`,
    );
  if (facts.open > 0) lines.push(`${plural(facts.open, "span")} never ended: no end was recorded.`);
  if (facts.dropped > 0)
    lines.push(`${plural(facts.dropped, "record")} dropped while recording: they are missing here.`);
  if (facts.spans_of_other_clocks > 0)
    lines.push(
      `${plural(facts.spans_of_other_clocks, "span")} of tracks with another clock are not drawn: their times cannot be compared.`,
    );
  if (arrows.wanted > arrows.drawn)
    lines.push(
      `${count(arrows.drawn)} of ${arrows.isAtLeast ? "more than " : ""}${plural(arrows.wanted, "arrow")} ${areAllArrows() ? "in view " : ""}are drawn: zoom in, or show the tracks of their executions.`,
    );
  return (
    <>
      {facts.detail === "merged" && <Merged data={data} />}
      {lines.length > 0 && (
        <div role="status">
          <ul class="notes">
            {lines.map((line) => (
              <li key={line}>{line}</li>
            ))}
          </ul>
        </div>
      )}
    </>
  );
}
