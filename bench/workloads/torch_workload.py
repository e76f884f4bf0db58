# SPDX-License-Identifier: Apache-2.0
"""What the PyTorch workloads share: training, inference, PyTorch's profilers.

A workload is a function that returns a torch.nn.Module and its inputs, and a loss of the module's output."""
import contextlib

import torch

import workload as shared


def profiler(name):
    if name == "none":
        return contextlib.nullcontext()
    return torch.profiler.profile(activities=[torch.profiler.ProfilerActivity.CPU], with_stack=name == "torch-stack")


def training(module, inputs, loss, optimizer):
    module.train()

    def step():
        optimizer.zero_grad()
        loss(module(*inputs)).backward()
        optimizer.step()
    return step


def inference(module, inputs):
    module.eval()

    def predict():
        with torch.inference_mode():
            module(*inputs)
    return predict


def run(workload, loss, optimizer=torch.optim.AdamW):
    parser = shared.parser(f"{workload.__name__} in PyTorch, with random weights", ("torch", "torch-stack"))
    options = parser.parse_args()
    if options.threads:
        torch.set_num_threads(options.threads)
    torch.manual_seed(0)
    module, inputs = workload()
    iteration = inference(module, inputs) if options.mode == "infer" \
        else training(module, inputs, loss, optimizer(module.parameters(), lr=1e-4))
    shared.run(workload.__name__, iteration, options, profiler(options.profiler))
