# SPDX-License-Identifier: Apache-2.0
"""examples/simulator: a predictor in simulated time. Its outputs are NumPy's, its cycles those of a formula, and its time is on a clock
of its own in the file."""
import json
import os
import pathlib
import socket
import subprocess
import tempfile
import unittest

import numpy

from predictor_programs import CONFORMANCE

XSP = pathlib.Path(os.environ["XSP_BUILD"]) / "xsp"
SOURCE = pathlib.Path(os.environ["XSP_SOURCE"])
PROGRAM, MODEL = SOURCE / "examples/simulator/systolic.py", SOURCE / "examples/simulator/mlp.json"


def by_numpy(model, values):
    for layer in model["layers"]:
        sums = values.astype(numpy.int32) @ numpy.array(layer["weights"], numpy.int32) + numpy.array(layer["bias"], numpy.int32)
        values = numpy.clip(sums >> layer["shift"], 0 if layer["relu"] else -128, 127)
    return values


def ceil(a, b):
    return -(-a // b)


def layer_cycles(model, layer, batch):
    """Activations in, the first tile's weights, tiles one after the other, each as long as the slower of transfer and array; results out."""
    device = model["device"]
    depth, width = len(layer["weights"]), len(layer["weights"][0])
    tiles = ceil(depth, device["rows"]) * ceil(width, device["columns"])
    weights = ceil(device["rows"] * device["columns"], device["bytes_per_cycle"])
    tile = batch + device["rows"] + device["columns"] - 2
    return (ceil(batch * depth, device["bytes_per_cycle"]) + weights + (tiles - 1) * max(weights, tile) + tile +
            ceil(batch * width, device["bytes_per_cycle"]))


class Simulator:
    """The program, asked as xsp asks it."""

    def __init__(self, model, layers):
        ours, theirs = socket.socketpair()
        self.inputs, self.outputs = os.memfd_create("inputs"), os.memfd_create("outputs")
        self.process = subprocess.Popen([PROGRAM], pass_fds=[theirs.fileno(), self.inputs, self.outputs], env={
            **os.environ, "XSP_PREDICTOR_FD": str(theirs.fileno()), "XSP_PREDICTOR_INPUTS_FD": str(self.inputs),
            "XSP_PREDICTOR_OUTPUTS_FD": str(self.outputs)})
        theirs.close()
        self.lines = ours.makefile("rw")
        ours.close()
        self.facts = self.ask("open", version=3, model=str(model), layers=layers, threads=0)

    def ask(self, request, **fields):
        print(json.dumps({"request": request, **fields}), file=self.lines, flush=True)
        return json.loads(self.lines.readline())

    def predict(self, values):
        os.ftruncate(self.inputs, values.nbytes)
        os.pwrite(self.inputs, values.tobytes(), 0)
        self.ask("prepare", batch=len(values), bytes=values.nbytes,
                 inputs=[{"name": "x", "type": "int8", "shape": list(values.shape), "offset": 0, "bytes": values.nbytes}])
        answer = self.ask("predict", outputs=True)
        output, = answer["outputs"]
        return answer, numpy.frombuffer(os.pread(self.outputs, 1 << 20, 0), numpy.int8).reshape(output["shape"])

    def close(self):
        self.lines.close()
        self.process.wait(600)
        os.close(self.inputs)
        os.close(self.outputs)


class SimulatorTest(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory(prefix="xsp-simulator-")
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)
        self.model = json.loads(MODEL.read_text())

    def other_model(self, **device):
        path = self.folder / "other.json"
        self.model["device"].update(device)
        path.write_text(json.dumps(self.model))
        return path

    def test_outputs_and_cycles(self):
        random = numpy.random.default_rng(11)
        for device in ({}, {"rows": 3, "columns": 5}, {"rows": 1, "columns": 1}, {"bytes_per_cycle": 1}, {"rows": 16, "columns": 12}):
            simulator = Simulator(self.other_model(**device), layers=True)
            self.addCleanup(simulator.close)
            for batch in (1, 2, 7):
                with self.subTest(device=device, batch=batch):
                    values = random.integers(-128, 128, (batch, 16), numpy.int8)
                    answer, outputs = simulator.predict(values)
                    numpy.testing.assert_array_equal(outputs, by_numpy(self.model, values))
                    self.assertGreater(len(numpy.unique(outputs)), 1)
                    layers = [entry for entry in answer["layers"] if "unit" not in entry]
                    cycle_ns = self.model["device"]["cycle_ns"]
                    self.assertEqual([entry["end"] - entry["start"] for entry in layers],
                                     [layer_cycles(self.model, layer, batch) * cycle_ns for layer in self.model["layers"]])
                    self.assertEqual(answer["end"] - answer["start"], sum(entry["end"] - entry["start"] for entry in layers))

    def test_units_do_one_thing_at_a_time(self):
        simulator = Simulator(MODEL, layers=True)
        self.addCleanup(simulator.close)
        answer, _ = simulator.predict(numpy.ones((3, 16), numpy.int8))
        for unit in ("dma in", "array", "dma out"):
            work = sorted((entry["start"], entry["end"]) for entry in answer["layers"] if entry.get("unit") == unit)
            self.assertTrue(work and all(a[1] <= b[0] for a, b in zip(work, work[1:])), unit)
        overlaps = [(a, b) for a in answer["layers"] for b in answer["layers"] if a.get("unit") == "array" and b.get("unit") == "dma in" and
                    a["start"] < b["end"] and b["start"] < a["end"]]
        self.assertTrue(overlaps) # the next tile's weights come while a tile is computed

    def xsp(self, *arguments):
        done = subprocess.run([XSP, *map(str, arguments)], capture_output=True, text=True, timeout=600, check=False)
        self.assertEqual(done.returncode, 0, done.stderr)
        return done.stdout

    def test_the_file(self):
        file = self.folder / "out.xsp"
        self.xsp("profile", MODEL, "--framework", "program", "--library", f"program={PROGRAM}", "--levels", "M,M/L,M/L/K", "--batch", "1,4",
                 "--runs", 3, "--warmup", 1, "-q", "-o", file)

        def sql(query):
            return json.loads(self.xsp("sql", file, query, "--json"))

        cycles = {batch: [layer_cycles(self.model, layer, batch) for layer in self.model["layers"]] for batch in (1, 4)}
        cycle_ns = self.model["device"]["cycle_ns"]
        latencies = {row["batch_size"]: row["latency_ms"] for row in json.loads(self.xsp("analyze", "A1", file, "--json"))["rows"]}
        for batch, counts in cycles.items():
            self.assertAlmostEqual(latencies[batch], sum(counts) * cycle_ns / 1e6, places=12)
        layers = json.loads(self.xsp("analyze", "A2", file, "--batch", 4, "--json"))["rows"]
        self.assertEqual([(row["layer_name"], round(row["latency_ms"] * 1e6)) for row in layers],
                         [(layer["name"], count * cycle_ns) for layer, count in zip(self.model["layers"], cycles[4])])
        kernels = json.loads(self.xsp("analyze", "A8", file, "--batch", 4, "--json"))["rows"]
        tiles = sum(ceil(len(layer["weights"]), 4) * ceil(len(layer["weights"][0]), 4) for layer in self.model["layers"])
        self.assertEqual(sum(row["kernel_name"] == "tile" for row in kernels), tiles)
        # Each span is within its parent, on the same clock; only the runner's own are of wall time.
        rows = sql("select s.name, s.level, s.start_ns, s.start_ns + s.duration_ns as end_ns, t.clock, p.level as parent, p.start_ns as from_ns, "
                   "p.start_ns + p.duration_ns as to_ns, u.clock as parent_clock from span s join track t on t.run_id = s.run_id and "
                   "t.track_id = s.track_id left join span p on p.run_id = s.run_id and p.span_id = s.parent_id "
                   "left join track u on u.run_id = p.run_id and u.track_id = p.track_id")
        parents = {"application": None, "model": None, "layer": "model", "kernel": "layer"}
        self.assertEqual({row["level"] for row in rows}, set(parents))
        for row in rows:
            self.assertEqual((row["parent"], row["clock"]), (parents[row["level"]], None if row["level"] == "application" else "simulated"), row)
            if row["parent"]:
                self.assertEqual(row["parent_clock"], "simulated")
                self.assertTrue(row["from_ns"] <= row["start_ns"] <= row["end_ns"] <= row["to_ns"], row)
        self.assertIn("times are simulated", sql("select value from note where key = 'framework'")[0]["value"])
        self.assertEqual(sql("select count(*) as n from tag where key = 'transport_ns'"), [{"n": 0}])
        walls = [row["value"] for row in sql("select value from tag where key = 'wall_ns'")]
        self.assertTrue(walls and min(map(int, walls)) > sum(cycles[4]) * cycle_ns) # simulating takes longer than a microsecond

    def test_it_keeps_the_rules(self):
        done = subprocess.run([*CONFORMANCE, PROGRAM, "--model", MODEL], capture_output=True, text=True, check=False)
        self.assertEqual(done.returncode, 0, done.stdout)

    def test_a_program_that_breaks_them(self):
        text = PROGRAM.read_text()
        for change, reason in ((('"version": 3', '"version": 2'), 'open: "clock" is "simulated", which version 2 does not have'),
                               (('"untold": ["thread"]', '"untold": ["thread", "start"]'), 'open: "clock" is "simulated", and "untold" has start'),
                               (('"start": start * self.device.cycle_ns', '"start": 0'), 'predict: "start" is .* ns before the end of the last prediction'),
                               (('"clock": "simulated"', '"clock": "monotonic"'), '"start" is .* ns before the request was sent')):
            with self.subTest(reason):
                program = self.folder / "program.py"
                self.assertEqual(text.count(change[0]), 1)
                program.write_text(text.replace(*change))
                done = subprocess.run([XSP, "profile", MODEL, "--framework", "program", "--library", f"program={program}", "-q", "-f", "-o",
                                       self.folder / "out.xsp"], capture_output=True, text=True, timeout=600, check=False)
                self.assertEqual(done.returncode, 2, done.stderr)
                self.assertRegex(done.stderr, reason)


if __name__ == "__main__":
    unittest.main()
