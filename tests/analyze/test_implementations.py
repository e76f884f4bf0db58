# SPDX-License-Identifier: Apache-2.0
"""A23: the algorithms of each layer by batch size and system, against what a script chose."""
import pathlib
import unittest

from scripted import UNIX_START, Script, temporary_folder, xsp, xsp_json

# By batch size: layer, its kernels with their durations. The first layer has another algorithm from 4 on; its time is that of two.
CHOSEN = {
    1: [("conv_1", [("implicit_gemm", 300), ("bias", 50)]), ("conv_2", [("gemm", 200)])],
    2: [("conv_1", [("bias", 60), ("implicit_gemm", 500)]), ("conv_2", [("gemm", 300)])],
    4: [("conv_1", [("winograd", 400), ("winograd", 100), ("bias", 70)]), ("conv_2", [("gemm", 500)])],
}


def trace(batches, device="A"):
    script = Script()
    script.system(gpu=device)
    script.experiment(workload="/models/net.onnx")
    for run_id, batch in enumerate(batches, 1):
        script.run(run_id, "M/L/K", batch=batch)
        script.track(run_id=run_id)
        for repetition in range(3):
            zero = UNIX_START + 10**7 * run_id + 10_000 * repetition
            script.span("net", zero, 5000, run_id=run_id, tags={"batch_size": batch})
            for index, (layer, kernels) in enumerate(CHOSEN[batch]):
                begin = zero + 2000 * index
                script.span(layer, begin, 1500, level="layer", run_id=run_id, tags={"layer_index": index, "layer_type": "Conv"})
                for name, duration in kernels:
                    script.span(name, begin, duration, level="kernel", category="kernel", run_id=run_id)
                    begin += duration
    return script


class Implementations(unittest.TestCase):
    def setUp(self):
        folder = temporary_folder()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)

    def rows(self, *arguments):
        answer = xsp_json("analyze", "A23", *arguments, "--json")
        keys = ("batch_size", "layer_name", "algorithm", "count", "latency_ms", "changes")
        return answer, [tuple(row[key] for key in keys) for row in answer["rows"]]

    def test_batch_sizes(self):
        path = trace([1, 2, 4]).write(self.folder / "net.xsp")
        answer, rows = self.rows(path)
        self.assertEqual(rows, [
            (1, "conv_1", "implicit_gemm", 1, 0.0003, None), (1, "conv_1", "bias", 1, 0.00005, None),
            (1, "conv_2", "gemm", 1, 0.0002, None),
            (2, "conv_1", "bias", 1, 0.00006, None), (2, "conv_1", "implicit_gemm", 1, 0.0005, None),
            (2, "conv_2", "gemm", 1, 0.0003, None),
            (4, "conv_1", "winograd", 2, 0.0005, True), (4, "conv_1", "bias", 1, 0.00007, True),
            (4, "conv_2", "gemm", 1, 0.0005, None)])
        self.assertEqual((answer["summary"]["layers"], answer["summary"]["layers_that_change"]), (2, 1))
        self.assertEqual({row[0] for row in self.rows(path, "--batch", "2")[1]}, {2})
        self.assertEqual(xsp_json("analyze", "implementations", path, "--json"), answer)

    def test_systems(self):
        """Another system's choices are compared with the file before."""
        first = trace([2], "A").write(self.folder / "a.xsp")
        second = trace([4], "B").write(self.folder / "b.xsp")
        answer, rows = self.rows(first, second)
        self.assertEqual([(row["system"] is not None, row["changes"]) for row in answer["rows"] if row["layer_name"] == "conv_1"],
                         [(True, None), (True, None), (True, True), (True, True)])
        self.assertEqual(len({row["system"] for row in answer["rows"]}), 2)
        self.assertEqual(len(rows), 6)

    def test_iterations(self):
        """Each turn of a loop has algorithms of its own: they do not change from batch size to batch size."""
        script = Script()
        script.experiment()
        for run_id in (1, 2):
            script.run(run_id, "M/L/K", batch=run_id)
            script.track(run_id=run_id)
            zero = UNIX_START + 10**7 * run_id
            script.span("net", zero, 5000, run_id=run_id, tags={"batch_size": run_id})
            for turn, kernel in enumerate(("gemm", "gemv")):
                begin = zero + 2000 * turn
                script.span("cell", begin, 1500, level="layer", run_id=run_id, tags={"layer_index": 0, "layer_type": "MatMul"})
                script.span(kernel, begin, 100, level="kernel", category="kernel", run_id=run_id)
        answer, rows = self.rows(script.write(self.folder / "loop.xsp"))
        self.assertEqual([row[:3] + row[5:] for row in rows], [(batch, "cell", kernel, None) for batch in (1, 2) for kernel in ("gemm", "gemv")])
        self.assertEqual((answer["summary"]["layers"], answer["summary"]["layers_that_change"]), (2, 0))

    def test_without_kernels(self):
        script = Script()
        script.experiment()
        script.run(1, "M")
        script.track()
        script.span("net", UNIX_START, 5)
        xsp("analyze", "A23", script.write(self.folder / "none.xsp"), check=1)


if __name__ == "__main__":
    unittest.main()
