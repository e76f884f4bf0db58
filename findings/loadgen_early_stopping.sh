#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# MLPerf LoadGen 6.0.17, server scenario: with min_query_count = 100, 100 queries that all keep the latency bound are
# expected to be a valid run. The result is INVALID, because LoadGen also demands confidence in the 99th percentile:
# without a single late query that takes 459 queries. The 99th percentile that the same summary prints for 100 queries
# is their maximum.
set -eu
trap 'exit 1' HUP INT TERM
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/python3" -m pip install -q --disable-pip-version-check mlcommons-loadgen==6.0.17 numpy==2.4.6
"$folder/venv/bin/python3" - "$folder" <<'EOF'
import importlib.metadata, re, sys
import mlperf_loadgen as loadgen


def summary(queries):
    """Returns the summary of a run of that many queries, none of which can miss its bound of an hour."""
    def answer(samples):
        loadgen.QuerySamplesComplete([loadgen.QuerySampleResponse(sample.id, 0, 0) for sample in samples])

    settings = loadgen.TestSettings()
    settings.scenario, settings.mode = loadgen.TestScenario.Server, loadgen.TestMode.PerformanceOnly
    settings.min_query_count = settings.max_query_count = queries
    settings.min_duration_ms = 0
    settings.server_target_qps, settings.server_target_latency_ns = 1000, 3_600_000_000_000
    logs = loadgen.LogSettings()
    logs.log_output.outdir, logs.log_output.copy_summary_to_stdout = sys.argv[1], False
    system = loadgen.ConstructSUT(answer, lambda: None)
    samples = loadgen.ConstructQSL(100, 100, lambda _: None, lambda _: None)
    loadgen.StartTestWithLogSettings(system, samples, settings, logs, "")
    loadgen.DestroyQSL(samples)
    loadgen.DestroySUT(system)
    with open(f"{sys.argv[1]}/mlperf_log_summary.txt", encoding="utf-8") as file:
        pairs = [line.partition(":")[::2] for line in file]
    return {key.strip(): value.strip() for key, value in pairs if value.strip()}


few, almost, enough = summary(100), summary(458), summary(459)
print("mlcommons-loadgen", importlib.metadata.version("mlcommons-loadgen"))
print("expected: VALID for 100 queries, since 100 suffice and all keep the bound; a 99th percentile below the maximum")
kept = few["Performance constraints satisfied"] == few["Min queries satisfied"] == "Yes"
percentile, maximum = few["99.00 percentile latency (ns)"], few["Max latency (ns)"]
for name, result in ("100", few), ("458", almost), ("459", enough):
    print(f"seen:     {name} queries: {result['Result is']}; "
          f"bound kept: {result['Performance constraints satisfied']}, "
          f"queries enough: {result['Min queries satisfied']}, early stopping: {result['Early stopping satisfied']}")
print(f"          of 100 queries: 99th percentile {percentile} ns, maximum {maximum} ns")
sys.exit(not (few["Result is"] == almost["Result is"] == "INVALID" and enough["Result is"] == "VALID"
              and kept and percentile == maximum))
EOF
