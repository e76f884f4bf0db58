#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Makes a model of PyTorch, as torch.export.save writes it, with a free batch size.

    pytorch_model.py NETWORK [--seed N] --output FILE.pt2

NETWORK is one of pytorch_networks.py, whose weights are random from a fixed seed, or one of pytorch_trained.py, which is
trained here or has the weights of a Python package. Needs torch 2.6 or later.
"""
import argparse
import pathlib
import sys

try:
    import torch
    import pytorch_networks
    import pytorch_trained
except ImportError as error:
    raise SystemExit(f"pytorch_model.py: {error}; try: pip install torch") from error


def main():
    made = {**pytorch_networks.NETWORKS, **pytorch_trained.NETWORKS}
    parser = argparse.ArgumentParser(description="make a model of PyTorch")
    parser.add_argument("network", choices=sorted(made))
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--output", type=pathlib.Path, required=True)
    arguments = parser.parse_args()
    torch.manual_seed(arguments.seed)
    torch.set_num_threads(1)  # the same sums everywhere, and operators so small are faster
    try:
        network, inputs = made[arguments.network]()
        inputs = tuple(one.clone() for one in inputs)  # without the rest of what they are a part of
        batch = torch.export.Dim("batch")
        shapes = tuple({0: batch} for _ in inputs)
        with torch.no_grad():
            program = torch.export.export(network.eval(), inputs, dynamic_shapes=shapes)
        torch.export.save(program, arguments.output)
    except (ImportError, OSError, RuntimeError, ValueError) as error:
        sys.exit(f"pytorch_model.py: {arguments.network}: {' '.join(str(error).split())[:300]}")


if __name__ == "__main__":
    main()
