#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# MLPerf LoadGen 6.0.17: one expects mlperf_log_trace.json, which names itself JSON, to be read by any reader of JSON.
# Texts that LoadGen logs about itself stand in two pairs of quotes, as in "key":""loadgen_version"", so that readers fail.
set -eu
trap 'exit 1' HUP INT TERM
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/python3" -m pip install -q --disable-pip-version-check mlcommons-loadgen==6.0.17
cd "$folder"
"$folder/venv/bin/python3" - 2>"$folder/log" <<'EOF' || { cat "$folder/log"; exit 1; }
import json, re, sys
from importlib.metadata import version
import mlperf_loadgen as loadgen


def issue(samples):
    loadgen.QuerySamplesComplete([loadgen.QuerySampleResponse(sample.id, 0, 0) for sample in samples])


sut, qsl = loadgen.ConstructSUT(issue, lambda: None), loadgen.ConstructQSL(4, 4, lambda _: None, lambda _: None)
settings, logs, output = loadgen.TestSettings(), loadgen.LogSettings(), loadgen.LogOutputSettings()
settings.scenario, settings.mode = loadgen.TestScenario.SingleStream, loadgen.TestMode.PerformanceOnly
settings.min_query_count = settings.max_query_count = 5
settings.min_duration_ms = 0
output.outdir, logs.log_output, logs.enable_trace = ".", output, True
loadgen.StartTestWithLogSettings(sut, qsl, settings, logs)
loadgen.DestroyQSL(qsl)
loadgen.DestroySUT(sut)
with open("mlperf_log_trace.json", encoding="utf-8") as file:
    text = file.read()
try:
    json.loads(text)
    problem = None
except ValueError as error:
    problem = str(error).split(":")[0]
doubled = len(re.findall(r':""\w', text))
print("mlcommons-loadgen", version("mlcommons-loadgen"))
print("expected: mlperf_log_trace.json is JSON")
print(f"seen:     {problem}; {doubled} texts in two pairs of quotes")
sys.exit(not (problem and doubled > 0))
EOF
