#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# PyTorch 2.15.0: torch.profiler with with_stack=True names a Python frame "file.py(line): function", with the function's
# first line. One expects one name for each function. A generator or coroutine that goes on has the line of the yield or
# await at which it stood instead: one function has as many names as it has such lines, and looks like several.
# Needs 6 GB in TMPDIR: the package for Linux brings CUDA's libraries. The script runs on the CPU.
set -eu
trap 'exit 1' HUP INT TERM
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/python3" -m pip install -q --disable-pip-version-check torch==2.15.0 numpy==2.4.6
cd "$folder"
cat >program.py <<'EOF'
import json, sys
import torch


def batches():
    yield torch.ones(2)
    yield torch.zeros(2)


def plain():
    return torch.ones(2) + torch.zeros(2)


with torch.profiler.profile(activities=[torch.profiler.ProfilerActivity.CPU], with_stack=True) as recording:
    for batch in batches():
        plain()
recording.export_chrome_trace("trace.json")
with open("trace.json", encoding="utf-8") as file:
    events = json.load(file)["traceEvents"]
names = {event["name"] for event in events if event.get("cat") == "python_function"}
seen = {function: sorted(name for name in names if name.endswith(": " + function)) for function in ("batches", "plain")}
print("torch", torch.__version__)
print("expected: ['program.py(5): batches'] and ['program.py(10): plain']")
print(f"seen:     {seen['batches']} and {seen['plain']}")
sys.exit(not (seen["plain"] == ["program.py(10): plain"]
              and seen["batches"] == [f"program.py({line}): batches" for line in (5, 6, 7)]))
EOF
"$folder/venv/bin/python3" program.py 2>"$folder/log" || { cat "$folder/log"; exit 1; }
