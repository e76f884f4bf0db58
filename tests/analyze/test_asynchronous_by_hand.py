# SPDX-License-Identifier: Apache-2.0
"""The rules of asynchronous layers in docs/analyses.md, on experiments that are small enough to compute by hand."""
import pathlib
import unittest

from scripted import UNIX_START, Script, temporary_folder
from tiny_experiment import HandCase, Tiny, ask, kernel, layer


def queue(run, ms=100, scale=1, **more):
    """conv is on the host for 10 ms and executes 5–45, relu is on the host 10–14 and executes 45–65."""
    return run.predict(ms, layer("conv", 10, kernel("gemm", 40 * scale, at=5), layer_index=0, layer_type="Conv2D"),
                       layer("relu", 4, kernel("relu", 20, at=35 * scale), layer_index=1, layer_type="Relu"), **more)


def host(run, ms=80):
    """The same layers without kernels."""
    return run.predict(ms, layer("conv", 3, layer_index=0, layer_type="Conv2D"),
                       layer("relu", 1, layer_index=1, layer_type="Relu"))


class DeviceBasisTest(HandCase):
    def experiment(self):
        tiny = Tiny()
        tiny.run("M").predict(70)
        host(tiny.run("M/L"))
        queue(tiny.run("M/L/K"))
        return tiny

    def test_layers(self):
        # 91.7 % of execution is after the layers' returns: (45 - 10) + (65 - 45) of 60. B is 5–65.
        # conv: 40 and 0–5 on the host. relu: 20; 10–14 is within B.
        answer = ask(self.write(self.experiment()), "A2")
        self.agree(answer["rows"][0], latency_ms=45, host_ms=10, n=1, min_ms=45, latency_from="M/L/K", latency_basis="device")
        self.agree(answer["rows"][1], latency_ms=20, host_ms=4)
        # 0–65 is covered; the model is that of M/L/K: 100.
        self.agree(answer["summary"], sum_ms=65, model_latency_ms=100, covered_ms=65, outside_layers_ms=35)
        self.agree(answer["summary"], asynchronous_pct=100 * 55 / 60)

    def test_everything_that_shows_layer_latencies(self):
        path = self.write(self.experiment())
        self.assertEqual(self.column(ask(path, "A3"), "latency_ms"), [45, 20])
        answer = ask(path, "A6")
        self.agree(answer["summary"], convolution_pct_of_layers=100 * 45 / 65, convolution_pct_of_model=45)
        self.assertEqual(self.column(ask(path, "A11"), "layer_latency_ms"), [45, 20])
        answer = ask(path, "A13")
        self.agree(answer["rows"][0], layer_latency_ms=45, gpu_latency_ms=40, non_gpu_latency_ms=5, gpu_pct=100 * 40 / 45,
                   kernel_latency_ms=40, n=1, min_ms=45, max_ms=45)
        self.agree(answer["rows"][1], layer_latency_ms=20, gpu_latency_ms=20, non_gpu_latency_ms=0, gpu_pct=100)
        self.agree(answer["summary"], layer_sum_ms=65, gpu_sum_ms=60, non_gpu_sum_ms=5)
        row, = ask(path, "T8")["rows"]
        self.agree(row, convolution_pct_of_model=45, online_latency_ms=70)  # the model's own latency stays that of M

    def test_host_basis_on_request(self):
        path = self.write(self.experiment())
        answer = ask(path, "A2", "--latency-basis", "host")
        self.assertEqual(self.column(answer, "latency_ms"), [3, 1])
        self.agree(answer["summary"], sum_ms=4, model_latency_ms=70, outside_layers_ms=66)
        answer = ask(path, "A13", "--latency-basis", "host")
        self.agree(answer["rows"][0], layer_latency_ms=3, gpu_latency_ms=40, non_gpu_latency_ms=None)

    def test_threshold(self):
        # 5 of 100 ms are late: 5 % is not above 5.
        tiny = Tiny()
        tiny.run("M/L").predict(200, layer("a", 7, layer_index=0))
        tiny.run("M/L/K").predict(200, layer("a", 95, kernel("k", 100), layer_index=0))
        path = self.write(tiny)
        self.agree(ask(path, "A2")["rows"][0], latency_ms=7)
        self.agree(ask(path, "A2", "--asynchronous-threshold", "4.9")["rows"][0], latency_ms=100)
        self.agree(ask(path, "A2", "--latency-basis", "device")["rows"][0], latency_ms=100)

    def test_what_counts_as_late(self):
        # Warm-ups, kernels of no layer and categories that are neither kernel nor copy do not count.
        tiny = Tiny()
        tiny.run("M/L").predict(200, layer("a", 7, layer_index=0))
        run = tiny.run("M/L/K")
        queue(run, warmup=True)
        run.predict(100, layer("a", 10, kernel("k", 5), kernel("graph", 50, category="graph"), layer_index=0),
                    kernels=(kernel("stray", 60),))
        path = self.write(tiny)
        self.agree(ask(path, "A2")["rows"][0], latency_ms=7)
        # A copy counts: 20 - 10 late of 5 + 10.
        tiny.experiment.runs[1].spans[-2].category = "memcpy"
        tiny.experiment.runs[1].spans[-2].end = tiny.experiment.runs[1].spans[-2].start + 20_000_000
        answer = ask(self.write(tiny), "A2")
        self.agree(answer["summary"], asynchronous_pct=100 * 15 / 25)
        self.agree(answer["rows"][0], latency_ms=25)  # k 0–5, the copy 5–25

    def test_executions_of_other_predictions(self):
        # a is on the host 0–2 and 11–15 and executes 1–20 and 20–30: B is 1–30. 19 + 1, then 10 + 0.
        # Covered: 0–10 of the first, 11–30 of the second prediction (11–40).
        tiny = Tiny()
        tiny.run("M/L/K").predict(10, layer("a", 2, kernel("k", 19, at=1), layer_index=0)) \
            .predict(29, layer("a", 4, kernel("k", 10, at=9), layer_index=0), at=11)
        answer = ask(self.write(tiny), "A2")
        self.agree(answer["rows"][0], latency_ms=15, min_ms=10, max_ms=20, host_ms=3)
        self.agree(answer["summary"], covered_ms=(10 + 19) / 2, model_latency_ms=19.5, outside_layers_ms=5, sum_ms=15)

    def test_processes(self):
        # b's host time, 2–6, is that of another process than the execution 1–21: it waits for nothing.
        tiny = Tiny()
        tiny.run("M/L/K").predict(60, layer("a", 2, kernel("k", 20, at=1), layer_index=0), at=0) \
            .predict(60, layer("b", 4, kernel("j", 10, at=3), layer_index=1), at=2, process=2)
        rows = {row["layer_name"]: row for row in ask(self.write(tiny), "A2", "--stat", "max")["rows"]}
        self.agree(rows["a"], latency_ms=21)  # 20 and 0–1
        self.agree(rows["b"], latency_ms=13)  # 10 (5–15) and 2–5

    def test_streams(self):
        # 0–50 twice, on two streams: the sum, 100, exceeds what is covered, 50; a note has both.
        tiny = Tiny()
        tiny.run("M/L/K").predict(90, layer("a", 1, kernel("k", 50), layer_index=0),
                                  layer("b", 1, kernel("j", 50, at=-1, stream=8), layer_index=1))
        answer = ask(self.write(tiny), "A2")
        self.assertEqual(self.column(answer, "latency_ms"), [50, 50])
        self.agree(answer["summary"], sum_ms=100, covered_ms=50, outside_layers_ms=40)
        self.assertRegex(" ".join(answer["notes"]), r"cover")

    def test_nested_layers(self):
        # outer 0–10 executes 30–40, inner 2–6 executes 4–30. B is 4–40. inner: 26 and 2–4. outer: 10 and 0–2 (6–10 is in
        # B). Outermost: outer has both, 36 and 0–4.
        tiny = Tiny()
        inner = layer("inner", 4, kernel("j", 26, at=2), at=2, layer_index=1)
        tiny.run("M/L/K").predict(90, layer("outer", 10, kernel("k", 10, at=30), nested=(inner,), layer_index=0))
        path = self.write(tiny)
        self.assertEqual(self.column(ask(path, "A2", "--layer", "innermost"), "latency_ms"), [12, 28])
        self.assertEqual(self.column(ask(path, "A2", "--layer", "outermost"), "latency_ms"), [40])


class SerialisedTest(HandCase):
    def test_it_answers_where_the_others_are_asynchronous(self):
        # Serialised, conv takes 50 ms of which 41 execute, relu 30 and 21.
        def serial(run, ms=120):
            run.predict(ms, layer("conv", 50, kernel("gemm", 41, at=5), layer_index=0, layer_type="Conv2D"),
                        layer("relu", 30, kernel("relu", 21, at=5), layer_index=1, layer_type="Relu"))
        for others in (("M/L/K",), ()):  # asynchronous, missing
            tiny = Tiny()
            tiny.run("M").predict(70)
            host(tiny.run("M/L"))
            for levels in others:
                queue(tiny.run(levels))
            serial(tiny.run("M/L/K@serial"))
            path = self.write(tiny)
            answer = ask(path, "A2")
            self.assertEqual(self.column(answer, "latency_ms"), [50, 30])
            self.agree(answer["rows"][0], latency_from="M/L/K@serial", latency_basis="host")
            answer = ask(path, "A13")
            self.agree(answer["rows"][0], layer_latency_ms=50, gpu_latency_ms=41, kernel_latency_ms=41, non_gpu_latency_ms=9)
            self.agree(answer["rows"][1], layer_latency_ms=30, gpu_latency_ms=21, non_gpu_latency_ms=9)
            self.agree(answer["summary"], layer_sum_ms=80, gpu_sum_ms=62, non_gpu_sum_ms=18)
            self.agree(ask(path, "A1")["rows"][0], latency_ms=70)
        # Kernels are those of M/L/K.
        tiny = Tiny()
        queue(tiny.run("M/L/K"))
        serial(tiny.run("M/L/K@serial"))
        self.assertEqual(self.column(ask(self.write(tiny), "A8"), "latency_ms"), [40, 20])

    def test_not_where_layers_wait_anyway(self):
        tiny = Tiny()
        host(tiny.run("M/L"))
        tiny.run("M/L/K").predict(90, layer("conv", 50, kernel("gemm", 41, at=5), layer_index=0),
                                  layer("relu", 30, kernel("relu", 21, at=5), layer_index=1))
        tiny.run("M/L/K@serial").predict(190, layer("conv", 70, kernel("gemm", 41, at=5), layer_index=0))
        path = self.write(tiny)
        self.assertEqual(self.column(ask(path, "A2"), "latency_ms"), [3, 1])
        self.assertEqual(self.column(ask(path, "A13"), "gpu_latency_ms"), [41, 21])

    def test_it_may_be_asynchronous_itself(self):
        # The set could not be serialised: the device basis, of its own executions. conv 30 and 0–5.
        tiny = Tiny()
        queue(tiny.run("M/L/K"))
        tiny.run("M/L/K@serial").predict(90, layer("conv", 10, kernel("gemm", 30, at=5), layer_index=0))
        answer = ask(self.write(tiny), "A2")
        self.assertEqual(self.column(answer, "latency_ms"), [35])
        self.agree(answer["rows"][0], latency_from="M/L/K@serial", latency_basis="device")

    def test_not_of_the_default_batch(self):
        tiny = Tiny()
        queue(tiny.run("M/L/K", 1))
        queue(tiny.run("M/L/K@serial", 2), ms=1000, at=500)
        self.assertEqual(ask(self.write(tiny), "A1")["rows"][0]["batch_size"], 1)
        self.assertEqual(len(ask(self.write(tiny), "A1")["rows"]), 1)


class CapturedTest(HandCase):
    def test_a_layer_with_a_kernel_of_its_own_and_a_node(self):
        """It captures a node and runs a kernel, which starts first; then another layer launches the graph."""
        script = Script()
        script.experiment()
        script.run(1, "M/L/K")
        script.track(1)
        script.track(2, thread=None, device=0, stream=7)
        at = UNIX_START
        script.span("net", at, 1000)
        for name, start, duration in (("conv", 0, 300), ("replay", 400, 300)):
            script.span(name, at + start, duration, "layer")
            script.span("launch", at + start + 100, 10, "kernel", "launch", correlation=start + 1, category="api")
        script.span("node", at + 50, 0, "library", category="graph", tags={"graph_node": 5})
        script.span("own", at + 150, 50, "kernel", "execution", track=2, correlation=1, category="kernel")
        script.span("node's", at + 600, 50, "kernel", "execution", track=2, correlation=401, category="kernel", tags={"graph_node": 5})
        with temporary_folder() as folder:
            rows = ask(script.write(pathlib.Path(folder) / "captured.xsp"), "A11")["rows"]
        self.assertEqual([(row["layer_name"], row["count"], row.get("launched_by")) for row in rows], [("conv", 2, "replay"), ("replay", 0, None)])


if __name__ == "__main__":
    unittest.main()
