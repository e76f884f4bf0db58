#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# PyTorch 2.15.0, torch.utils.flop_counter: one expects that a module has the same flops in inference as in training, and a
# recurrent layer some. A transformer layer in evaluation without gradients takes a fused operator that the counter does not know:
# 0 flops. An LSTM on the CPU has 0, too, in both modes, while a GRU of the same shape is counted. None of this is warned of.
# Needs 6 GB in TMPDIR: the package for Linux brings CUDA's libraries. The script runs on the CPU.
set -eu
trap 'exit 1' HUP INT TERM
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/python3" -m pip install -q --disable-pip-version-check torch==2.15.0 numpy==2.4.6
cd "$folder"
"$folder/venv/bin/python3" - 2>"$folder/log" <<'EOF' || { cat "$folder/log"; exit 1; }
import sys
import torch
from torch.utils.flop_counter import FlopCounterMode


def flops(module, *inputs, gradients):
    with torch.set_grad_enabled(gradients), FlopCounterMode(display=False) as counter:
        module(*inputs)
    return counter.get_total_flops()


LENGTH, SIZE, HIDDEN = 16, 64, 128
encoder = torch.nn.TransformerEncoderLayer(SIZE, 4, HIDDEN, batch_first=True)
tokens = torch.ones(1, LENGTH, SIZE)
trained = flops(encoder.train(), tokens, gradients=True)
inferred = flops(encoder.eval(), tokens, gradients=False)
torch.backends.mha.set_fastpath_enabled(False)
unfused = flops(encoder.eval(), tokens, gradients=False)
lstm, gru = (kind(SIZE, SIZE, batch_first=True) for kind in (torch.nn.LSTM, torch.nn.GRU))
of_lstm = {flops(lstm, tokens, gradients=gradients) for gradients in (True, False)}
of_gru = flops(gru, tokens, gradients=False)
print("torch", torch.__version__.partition("+")[0])
print(f"expected: as many flops in inference as in training; of the LSTM {2 * LENGTH * 4 * SIZE * 2 * SIZE}, 4/3 of the GRU's")
print(f"seen:     transformer layer: training {trained}, inference {inferred}, without its fast path {unfused}")
print(f"          LSTM {sorted(of_lstm)}, GRU {of_gru}")
sys.exit(not (trained == unfused > 0 == inferred and of_lstm == {0} and of_gru == 2 * LENGTH * 3 * SIZE * 2 * SIZE))
EOF
