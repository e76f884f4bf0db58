#!/usr/bin/env python3
"""A cycle-level simulator of an accelerator, as a predictor program in simulated time (docs/simulators.md):

    xsp profile examples/simulator/mlp.json --library program=examples/simulator/systolic.py --framework program --levels M/L/K

The accelerator has a systolic array of ROWS x COLUMNS cells that keep a weight each, two buffers for weights, and a DMA engine for each
direction. A layer is y = relu((x W + b) >> shift) in int8, with sums of 32 bits. W is cut into tiles of the array's size, padded with
zeros. While a tile is computed, the next one is loaded."""
import json
import mmap
import os
import socket
import struct


class Array:
    """Every cycle, each cell multiplies what came from its left by its weight, adds what came from above, and hands both on."""

    def __init__(self, weights):
        self.weights, self.rows, self.columns = weights, len(weights), len(weights[0])
        self.values = [[0] * self.columns for _ in weights]  # registers to the right
        self.sums = [[0] * self.columns for _ in weights]    # registers downwards

    def step(self, left):
        """One cycle. `left`: what enters each row; the result is what leaves each column."""
        values = [[left[r], *self.values[r][:-1]] for r in range(self.rows)]
        above = [[0] * self.columns, *self.sums[:-1]]
        self.sums = [[above[r][c] + values[r][c] * self.weights[r][c] for c in range(self.columns)] for r in range(self.rows)]
        self.values = values
        return self.sums[-1]

    def multiply(self, inputs):
        """inputs x weights, and how many cycles that took. Row r's values enter r cycles late, so that sums meet them."""
        results, cycle = [[0] * self.columns for _ in inputs], 0
        while cycle < len(inputs) + self.rows + self.columns - 2:
            leaving = self.step([inputs[cycle - r][r] if 0 <= cycle - r < len(inputs) else 0 for r in range(self.rows)])
            for c in range(self.columns):
                if 0 <= cycle - c - self.rows + 1 < len(inputs):
                    results[cycle - c - self.rows + 1][c] = leaving[c]
            cycle += 1
        return results, cycle


class Device:
    """Its time is a number of cycles. `layers` gets entries of the protocol: layers, and the work of its units."""

    def __init__(self, rows, columns, bytes_per_cycle, cycle_ns):
        self.rows, self.columns, self.bytes_per_cycle, self.cycle_ns = rows, columns, bytes_per_cycle, cycle_ns
        self.cycle, self.layers = 1, []

    def work(self, parent, unit, kind, name, start, cycles, **tags):
        self.layers.append({"name": name, "type": kind, "unit": unit, "parent": parent, "start": start * self.cycle_ns,
                            "end": (start + cycles) * self.cycle_ns, "tags": {"cycles": cycles, **tags}})
        return start + cycles

    def transfer(self, parent, unit, name, start, size):
        return self.work(parent, unit, "memcpy", name, start, -(-size // self.bytes_per_cycle), bytes=size)

    def run(self, layer, inputs):
        """A layer; moves the device's time on."""
        weights, depth, width = layer["weights"], len(layer["weights"]), len(layer["weights"][0])
        start, parent = self.cycle, len(self.layers)
        self.layers.append({"name": layer["name"], "type": "Dense", "shape": [len(inputs), width]})
        loaded = self.transfer(parent, "dma in", "activations", start, len(inputs) * depth)
        sums, computed, ends = [list(layer["bias"]) for _ in inputs], loaded, []
        for top in range(0, depth, self.rows):
            for left in range(0, width, self.columns):
                tile = [[weights[r][c] if r < depth and c < width else 0 for c in range(left, left + self.columns)]
                        for r in range(top, top + self.rows)]
                is_free = ends[-2] if len(ends) > 1 else loaded  # the buffer that the tile before the last one was in
                loaded = self.transfer(parent, "dma in", "weights", max(loaded, is_free), self.rows * self.columns)
                products, cycles = Array(tile).multiply([[row[r] if r < depth else 0 for r in range(top, top + self.rows)] for row in inputs])
                computed = self.work(parent, "array", "kernel", "tile", max(loaded, computed), cycles, top=top, left=left)
                ends.append(computed)
                for row, product in zip(sums, products):
                    for c in range(left, min(left + self.columns, width)):
                        row[c] += product[c - left]
        self.cycle = self.transfer(parent, "dma out", "results", computed, len(inputs) * width)
        self.layers[parent].update(start=start * self.cycle_ns, end=self.cycle * self.cycle_ns)
        low = 0 if layer["relu"] else -128
        return [[max(low, min(127, value >> layer["shift"])) for value in row] for row in sums]


class Predictor:
    def __init__(self):
        self.lines = socket.socket(fileno=int(os.environ["XSP_PREDICTOR_FD"])).makefile("rw")
        self.outputs = int(os.environ["XSP_PREDICTOR_OUTPUTS_FD"])

    def open(self, request):
        with open(request["model"]) as file:
            model = json.load(file)
        self.model, self.device, self.wants_layers = model["layers"], Device(**model["device"]), request["layers"]
        return {"version": 3, "framework": "systolic", "framework_version": "1", "clock": "simulated", "untold": ["thread"],
                "note": "array of {rows} x {columns} cells, {cycle_ns} ns a cycle".format(**model["device"]),
                "inputs": [{"name": "x", "type": "int8", "shape": ["N", len(self.model[0]["weights"])]}]}

    def prepare(self, request):
        count, depth = request["inputs"][0]["shape"]
        with mmap.mmap(int(os.environ["XSP_PREDICTOR_INPUTS_FD"]), request["bytes"]) as memory:
            self.inputs = [struct.unpack_from(f"{depth}b", memory, row * depth) for row in range(count)]
        return {}

    def predict(self, request):
        start, self.device.layers, values = self.device.cycle, [], self.inputs
        for layer in self.model:
            values = self.device.run(layer, values)
        answer = {"start": start * self.device.cycle_ns, "end": self.device.cycle * self.device.cycle_ns}
        if self.wants_layers:
            answer["layers"] = self.device.layers
        if request.get("outputs"):
            os.ftruncate(self.outputs, len(values) * len(values[0]))
            os.pwrite(self.outputs, b"".join(struct.pack(f"{len(row)}b", *row) for row in values), 0)
            answer["outputs"] = [{"name": self.model[-1]["name"], "type": "int8", "shape": [len(values), len(values[0])], "offset": 0}]
        return answer

    def serve(self):
        for line in self.lines:
            request = json.loads(line)
            if request["request"] == "close":
                break
            print(json.dumps(getattr(self, request["request"])(request)), file=self.lines, flush=True)


if __name__ == "__main__":
    Predictor().serve()
