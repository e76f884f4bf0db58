// SPDX-License-Identifier: Apache-2.0
// Chrome's trace event format, as `xsp export --to chrome` writes it, without tags. Perfetto, chrome://tracing and
// others open it. Times are microseconds with nanoseconds as decimals.
import { BASES, basisOf, KINDS, kindOf, levelOf, LEVELS } from "../data";
import { laneName, lanesOf, Pieces, type Source } from "./source";

const LAUNCH = 1;
const EXECUTION = 2;
const AMBIGUOUS = BASES.indexOf("ambiguous");

const microseconds = (ns: number) => {
  const whole = Math.round(ns);
  return `${Math.floor(whole / 1000)}.${String(whole % 1000).padStart(3, "0")}`;
};

export function chromeTrace(source: Source): string[] {
  const { data, names, title } = source,
    out = new Pieces(),
    texts = names.map((name) => JSON.stringify(name));
  const processes = [...new Set(data.facts.lanes.map((lane) => lane.process))];
  const pid = (lane: number) => processes.indexOf(data.facts.lanes[lane].process) + 1;
  let isFirst = true;
  const put = (event: string) => {
    out.add(isFirst ? `\n${event}` : `,\n${event}`);
    isFirst = false;
  };
  const metadata = (name: string, pid: number, tid: number, key: string, value: string | number) =>
    put(`{"ph":"M","name":"${name}","pid":${pid},"tid":${tid},"args":{"${key}":${JSON.stringify(value)}}}`);
  const flow = (phase: "s" | "f", id: number, at: number, lane: number) =>
    put(
      `{"ph":"${phase}","name":"launch","cat":"launch","id":"0x${id.toString(16)}"${phase === "f" ? ',"bp":"e"' : ""},` +
        `"ts":${microseconds(at)},"pid":${pid(lane)},"tid":${lane + 1}}`,
    );
  out.add(`{"displayTimeUnit":"ns","otherData":${JSON.stringify({ tool: "xsp", title })},"traceEvents":[`);
  processes.forEach((name, i) => metadata("process_name", i + 1, 0, "name", name));
  const laneOf = (span: number) => data.facts.rows[data.row[span]][0];
  for (const { lane, places } of lanesOf(source)) {
    metadata("thread_name", pid(lane), lane + 1, "name", laneName(data, lane));
    metadata("thread_sort_index", pid(lane), lane + 1, "sort_index", lane);
    for (const i of places) {
      const kind = kindOf(data, i);
      const facts: Record<string, string | number> = {};
      if (kind !== 0) facts.kind = KINDS[kind];
      if (basisOf(data, i) === AMBIGUOUS) facts.basis = "ambiguous";
      if (data.merged !== null && data.merged[i] > 1) facts.merged_spans = data.merged[i];
      put(
        `{"ph":"X","name":${texts[data.name[i]]},"cat":"${LEVELS[levelOf(data, i)]}","ts":${microseconds(data.start[i])},` +
          `"dur":${microseconds(data.duration[i])},"pid":${pid(lane)},"tid":${lane + 1},"args":${JSON.stringify(facts)}}`,
      );
      const launch = kind === EXECUTION ? data.launch[i] : -1;
      if (launch >= 0 && kindOf(data, launch) === LAUNCH) {
        // from the launch, which may come later in the file
        flow("s", i + 1, data.start[launch], laneOf(launch));
        flow("f", i + 1, data.start[i], lane);
      }
    }
  }
  out.add("\n]}\n");
  return out.end();
}
