#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# PaddlePaddle 3.3.1: one expects that each call of an operator has the operator's name in an exported Chrome trace,
# for grouping. The profiler appends the event's own duration to the name, as in "matmul dygraph[12.503 us]". Calls of
# one operator therefore have different names, and a search for the exact name finds nothing.
set -eu
trap 'exit 1' HUP INT TERM
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/python3" -m pip install -q --disable-pip-version-check paddlepaddle==3.3.1 setuptools==80.9.0
cd "$folder"
"$folder/venv/bin/python3" - 2>"$folder/log" <<'EOF' || { cat "$folder/log"; exit 1; }
import json, re, sys
import paddle
from paddle import profiler

CALLS = 3
UNITS = {"ns": 0.001, "us": 1, "ms": 1_000, "s": 1_000_000}
values = paddle.ones([64, 64])
with profiler.Profiler(targets=[profiler.ProfilerTarget.CPU]) as recording:
    for _ in range(CALLS):
        paddle.matmul(values, values)
        recording.step()
recording.export("trace.json", "json")
with open("trace.json", encoding="utf-8") as file:
    events = [event for event in json.load(file)["traceEvents"] if event.get("ph") == "X"]


def ends_in_its_duration(event):
    found = re.search(r"\[([0-9.]+) (ns|us|ms|s)\]$", event["name"])
    if not found:
        return False
    unit = UNITS[found[2]]
    return abs(float(found[1]) * unit - event["dur"]) <= 0.0011 * unit  # three decimals of that unit


operators = [event["name"] for event in events if event["name"].startswith("matmul dygraph")]
print("paddlepaddle", paddle.__version__)
print(f'expected: {CALLS} events "matmul dygraph"')
print(f"seen:     {operators};")
print(f"          {sum(map(ends_in_its_duration, events))} of {len(events)} events have their duration in the name")
sys.exit(not (len(operators) == CALLS and events and all(map(ends_in_its_duration, events))))
EOF
