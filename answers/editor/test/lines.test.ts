// SPDX-License-Identifier: Apache-2.0
import assert from "node:assert/strict";
import test from "node:test";
import { findingsIn, messageOf } from "../src/findings";
import { lineTimes, percentText, timeText, type MetricRow, type PathRow } from "../src/lines";
import { bestMatches, escapeGlob, isLocal, recordedAs } from "../src/paths";

const path = (context_id: number, parent_id: number | null, name: string, line: number | null = null): PathRow => ({
  context_id,
  parent_id,
  kind: line === null ? "framework" : "python",
  name,
  file: line === null ? null : "/p/a.py",
  line,
});
const time = (context_id: number, exclusive_sum: number, run: Partial<MetricRow> = {}): MetricRow => ({
  run_id: 1,
  levels: "A/L",
  context_id,
  metric: "host_ns",
  exclusive_sum,
  ...run,
});
// main (line 9) calls f (line 3), which calls itself there once, and an operator from each.
const PATHS = [path(1, null, "main", 9), path(2, 1, "f", 3), path(3, 2, "f", 3), path(4, 2, "add"), path(5, 3, "add")];

test("a line has the time of all that it calls, recursion once", () => {
  const times = lineTimes(PATHS, [time(1, 10), time(4, 30), time(5, 60)]);
  const lines = times.files.get("/p/a.py")!;
  assert.equal(times.hostNs, 100);
  assert.deepEqual(
    [...lines].map(([line, { hostNs, callees }]) => [line, hostNs, ...callees]),
    [
      [9, 100, ["add", 90]],
      [3, 90, ["add", 90]],
    ],
  );
});

test("times are means over the runs of the deepest levels", () => {
  const runs = [time(1, 10), time(1, 30, { run_id: 2 }), time(1, 500, { run_id: 3, levels: "A" })],
    slow = time(1, 9000, { run_id: 4, levels: "A/L/K+metrics" });
  const times = lineTimes(PATHS, [...runs, slow]);
  assert.deepEqual([times.hostNs, times.runs, times.levels], [20, 2, "A/L"]);
});

test("device time is separate, a file without call paths has no lines, and circles end", () => {
  const times = lineTimes(PATHS, [time(1, 10), time(1, 7, { metric: "device_ns" })]);
  assert.deepEqual([times.hostNs, times.deviceNs], [10, 7]);
  assert.equal(lineTimes([], []).files.size, 0);
  assert.equal(lineTimes([path(1, 2, "a", 1), path(2, 1, "b", 2)], [time(1, 5)]).files.get("/p/a.py")!.size, 1);
});

test("times and shares as text", () => {
  const texts = [0, 7, 999.7, 12_345, 1_500_000, 99_960_000, 2.5e9].map(timeText);
  assert.deepEqual(texts, ["0 ns", "7.00 ns", "1.00 µs", "12.3 µs", "1.50 ms", "100 ms", "2.50 s"]);
  assert.deepEqual([percentText(1, 8), percentText(1, 0)], ["12.5 %", "– %"]);
});

test("the file with the longest equal end is meant", () => {
  const paths = ["/w/x/net/a.py", "/w/y/a.py", "/w/y/b.py"];
  assert.deepEqual(bestMatches("/home/u/net/a.py", paths), ["/w/x/net/a.py"]);
  assert.deepEqual(bestMatches("a.py", paths), ["/w/x/net/a.py", "/w/y/a.py"]);
  assert.deepEqual(bestMatches("/home/u/c.py", paths), []);
  assert.equal(escapeGlob("a[1]*.py"), "a[[]1[]][*].py");
  assert.deepEqual(["/a", "//host/a", "a"].map(isLocal), [true, false, false]);
});

test("an opened file is the recorded one only if no other file of the workspace fits better", () => {
  const recorded = ["/container/app/model/utils.py", "/container/utils.py"],
    workspace = ["/ws/model/utils.py", "/ws/tests/utils.py"];
  assert.equal(recordedAs("/ws/model/utils.py", recorded, workspace), recorded[0]);
  assert.equal(recordedAs("/ws/tests/utils.py", recorded.slice(0, 1), workspace), undefined);
  assert.equal(recordedAs("/ws/tests/utils.py", recorded, workspace), recorded[1]); // which fits both equally
  assert.equal(recordedAs("/usr/lib/model/utils.py", recorded, workspace), undefined);
});

test("findings are read from all experiments; rows of other forms are left out", () => {
  const row = {
    id: "F1",
    severity: "high",
    title: "slow",
    file: "/p/a.py",
    line: 3,
    saving_pct: 12.34,
    saving_basis: "b",
  };
  const [finding, ...others] = findingsIn([{ rows: [row, { id: "F9" }] }, { rows: null }, {}]);
  assert.equal(others.length, 0);
  assert.equal(messageOf({ ...finding!, advice: "fuse" }), "slow\nat most 12.3 % to gain: b\ntry: fuse");
  assert.deepEqual(findingsIn({ rows: [{ title: "t" }] })[0]?.line, null);
});
