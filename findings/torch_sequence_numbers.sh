#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# PyTorch 2.15.0: a backward operator in a trace of torch.profiler has its forward operator's "Sequence number". One
# expects that the number identifies the forward operator. Autograd counts in each thread from 0. For a layer that ran
# in another thread, the number finds an unrelated operator of the main thread. "Fwd thread id" does not help alone:
# it is 0 in all forward operators, and is not a "tid" of the trace.
# Needs 6 GB in TMPDIR: the package for Linux brings CUDA's libraries. The script runs on the CPU.
set -eu
trap 'exit 1' HUP INT TERM
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/python3" -m pip install -q --disable-pip-version-check torch==2.15.0 numpy==2.4.6
cd "$folder"
"$folder/venv/bin/python3" - 2>"$folder/log" <<'EOF' || { cat "$folder/log"; exit 1; }
import json, sys, threading
import torch

layer = torch.nn.Linear(4, 4)
outputs = []


def forward():
    outputs.append(layer(torch.ones(2, 4)).sum())


with torch.profiler.profile(activities=[torch.profiler.ProfilerActivity.CPU]) as recording:
    thread = threading.Thread(target=forward)
    thread.start()
    thread.join()
    weight = torch.ones(1, requires_grad=True)
    loss = (outputs[0] + weight) * weight  # numbers 0 and 1 of the main thread
    loss.backward()
recording.export_chrome_trace("trace.json")
with open("trace.json", encoding="utf-8") as file:
    events = [event for event in json.load(file)["traceEvents"] if event.get("cat") == "cpu_op"]
numbered = [event for event in events if "Sequence number" in event["args"]]
(backward,) = [event for event in numbered if event["name"] == "AddmmBackward0"]
number = backward["args"]["Sequence number"]
operators = [event for event in numbered if event["name"].startswith("aten::")]
found = [event["name"] for event in operators if event["args"]["Sequence number"] == number]
forward_thread = backward["args"]["Fwd thread id"]
threads = sorted({event["args"]["Fwd thread id"] for event in operators})
print("torch", torch.__version__)
print(f"expected: AddmmBackward0, number {number}, has the number of aten::addmm only")
print(f"seen:     number {number} is of {found}; Fwd thread id is {forward_thread} in AddmmBackward0, "
      f"{threads} in forward operators; tid {sorted({event['tid'] for event in events})}")
sys.exit(not (found and "aten::addmm" not in found and threads == [0] and forward_thread > 0
              and forward_thread not in {event["tid"] for event in events}))
EOF
