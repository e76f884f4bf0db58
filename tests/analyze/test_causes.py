# SPDX-License-Identifier: Apache-2.0
"""The cause above every summary: each rule on an experiment of a few spans, computed by hand, and seven real traces, with
figures that are computed here from the profilers' files and from the programs' spans."""
import collections
import gzip
import json
import os
import pathlib
import statistics
import unittest

import report_files
import runner_session
import scripted
import test_report
import workloads
from analysis_data import Track
from tiny_experiment import HandCase, Tiny, kernel, layer

DATA = pathlib.Path(os.environ["XSP_TEST_DATA"])
RESNET = "kineto/kineto__tb_plugin__samples__resnet50_num_workers_0__worker0.1623143089861.pt.trace.json.gz"
CONTROL = "kineto/hta__trace_diff__control__control.json.gz"
CPU_ONLY = "kineto/hta__cpu_only__rank-34.Jul_15_10_52_41.1074.pt.trace.json.gz"
AMD = "kineto/hta__amd_trace__mi250_minitoy_train_ROCm6_2_kineto.json.gz"
PIPIT = "nsys/pipit__saxpy-mpi-cuda_nsys_perlmutter0.sqlite"
LOADER = "enumerate(DataLoader)#_SingleProcessDataLoaderIter.__next__"


def causes(path, *options):
    return [(cause["rule"], cause["text"]) for cause in scripted.xsp_json("analyze", path, "--json", *options)["causes"]]


class RulesTest(HandCase):
    def cause(self, tiny, *options):
        return causes(self.write(tiny), *options)

    def call(self, run, name, at, ms, kind="sync"):
        """A call of the device's interface on the thread of the first prediction."""
        run.span("kernel", name, at, ms, Track(11, 1, 11), kind=kind, category="api")

    def test_data_loader(self):
        """50 of 100 ms in the loader, 10 of them with the device at work; the device works 10 + 30."""
        tiny = Tiny()
        tiny.run("M/L/K").predict(100, layer(LOADER, 50), layer("conv", 20, kernel("gemm", 30, at=10)),
                                  kernels=[kernel("late", 10, at=0)])
        self.assertEqual(self.cause(tiny), [("data_loader", "50 % of the time is spent in the data loader; the device is "
                                             "idle 60 % of the time")])

    def test_data_loader_without_a_device(self):
        tiny = Tiny()
        tiny.run("M/L").predict(100, layer("Data loading", 60), layer("conv", 30))
        self.assertEqual(self.cause(tiny), [("data_loader", "60 % of the time is spent in the data loader")])

    def test_a_loader_on_its_own_thread_is_no_wait(self):
        tiny = Tiny()
        run = tiny.run("M/L").predict(100, layer("conv", 90))
        run.span("layer", LOADER, 0, 80, Track(99, 1, 99))
        self.assertEqual(self.cause(tiny)[0][0], "layers")

    def test_an_iterator_on_a_thread_of_the_pipeline_is_a_wait(self):
        tiny = Tiny()
        run = tiny.run("M/L").predict(100, layer("conv", 10))
        run.span("layer", "IteratorGetNext", 10, 85, Track(99, 1, 99))
        self.assertEqual(self.cause(tiny)[0][0], "data_loader")

    def test_operators(self):
        """Two layers of 40 ms with a kernel of 10 each: 60 of 100 in layers without the device, 20 in neither."""
        tiny = Tiny()
        tiny.run("M/L/K").predict(100, layer("a", 40, kernel("k", 10)), layer("b", 40, kernel("k", 10)))
        self.assertEqual(self.cause(tiny), [
            ("operators", "the device is idle 80 % of the time, mostly while the host runs layers and launches work (60 % of "
             "the time); a kernel takes 10 ms on average")])

    def test_one_launch(self):
        """Of 80 ms of the layer without the device, one of three launches takes 50: the kernels' size is not the cause. With 30
        in it, it is one of several."""
        for ms, end in ((50, ", above all in one call of hipLaunchKernel, which takes 50 ms"),
                        (30, "; a kernel takes 5 ms on average")):
            tiny = Tiny()
            run = tiny.run("M/L/K").predict(100, layer("a", 90, kernel("k", 5, at=80), kernel("k", 5, at=85)))
            for at, length in ((0, ms), (60, 1), (70, 1)):
                self.call(run, "hipLaunchKernel", at, length, "launch")
            self.assertEqual(self.cause(tiny), [
                ("operators", "the device is idle 90 % of the time, mostly while the host runs layers and launches work (80 % of "
                 "the time)" + end)])

    def test_calls(self):
        """70 ms in cudaMalloc and 5 in cudaFree, both within the layer, which has 5 more; the device works for 10."""
        tiny = Tiny()
        run = tiny.run("M/L/K").predict(100, layer("a", 90, kernel("k", 10, at=80)))
        self.call(run, "cudaMalloc", 0, 70)
        self.call(run, "cudaFree", 70, 5)
        self.assertEqual(self.cause(tiny), [
            ("device_calls", "the device is idle 90 % of the time, mostly while the host calls the device's interface (75 % of "
             "the time), above all cudaMalloc")])

    def test_calls_of_which_none_is_the_main_one(self):
        tiny = Tiny()
        run = tiny.run("M/L/K").predict(100, layer("a", 90, kernel("k", 10, at=80)))
        for at, name in ((0, "cudaMalloc"), (25, "cudaFree"), (50, "cudaHostAlloc")):
            self.call(run, name, at, 25)
        self.assertEqual(self.cause(tiny)[0][1].split(", ")[-1],
                         "mostly while the host calls the device's interface (75 % of the time)")

    def test_waiting_for_a_busy_device_is_no_cause(self):
        tiny = Tiny()
        run = tiny.run("M/L/K").predict(100, layer("a", 100, kernel("k", 90)))
        self.call(run, "cudaDeviceSynchronize", 5, 90)
        self.assertEqual(self.cause(tiny)[0][0], "kernels")

    def test_program(self):
        tiny = Tiny()
        tiny.run("M/L/K").predict(100, layer("a", 20, kernel("k", 10)))
        self.assertEqual(self.cause(tiny), [("program", "the device is idle 90 % of the time, mostly while the program runs "
                                             "outside of layers (80 % of the time)")])

    def test_host_that_was_not_recorded(self):
        tiny = Tiny()
        tiny.run("M/K").predict(100, kernels=[kernel("k", 30)])
        self.assertEqual(self.cause(tiny), [("program", "the device is idle 70 % of the time; what the host does meanwhile was "
                                             "not recorded")])

    def test_host_is_in_a_range(self):
        """Without layers: 50 of 100 ms in `setup`, twice and nested, and 10 more in `send`; the device works for 30, 10 of them
        during `setup`. So the host is in it for 40 of the 70 ms without the device; nothing was recorded for 20."""
        tiny = Tiny()
        run = tiny.run("A/M/K").predict(100, kernels=[kernel("k", 30, at=40)])
        for name, at, ms in (("setup", 0, 50), ("setup", 10, 20), ("send", 70, 10)):
            run.span("application", name, at, ms, Track(11, 1, 11))
        self.assertEqual(self.cause(tiny), [("program", "the device is idle 70 % of the time, 40 % of the time while the host is "
                                             "in setup")])

    def test_copies(self):
        """A copy of 60 ms, 10 of which a kernel runs; the kernel runs 40."""
        tiny = Tiny()
        tiny.run("M/L/K").predict(100, layer("a", 100, kernel("copy", 60, at=0, stream=8, category="memcpy"),
                                             kernel("k", 40, at=50)))
        self.assertEqual(self.cause(tiny), [("copies", "the device only copies 50 % of the time, and runs kernels 40 %")])

    def test_kernels_by_type_of_layer(self):
        """Conv has 45 of 81 ms of device time. Relu has 36, and 19 more on the host alone: most of the layers' time (A6)."""
        tiny = Tiny()
        tiny.run("M/L/K").predict(100, layer("a", 1, kernel("k", 45, at=0), layer_type="Conv"),
                                  layer("b", 99, kernel("k", 36, at=44), layer_type="Relu"))
        path = self.write(tiny)
        self.assertEqual(causes(path), [("kernels", "the device is busy 81 % of the time; Conv takes 55.6 % of the layers' device "
                                         "time")])
        self.assertEqual(scripted.xsp_json("analyze", "A6", path, "--json")["rows"][0]["layer_type"], "Relu")

    def test_kernels_in_no_layer(self):
        """Nine tenths of the kernels' time belong to no layer: the kernel is named, in its short form."""
        tiny = Tiny()
        tiny.run("M/L/K").predict(100, layer("a", 10, kernel("k", 10)),
                                  kernels=[kernel("void gemm<float, 4>(float*, int)", 90, at=10)])
        self.assertEqual(self.cause(tiny), [("kernels", "the device is busy 100 % of the time; gemm<…> takes 90 % of the "
                                             "kernels' time, of which 90 % belongs to no layer")])

    def test_layers(self):
        tiny = Tiny()
        tiny.run("M/L").predict(100, layer("a", 60, layer_type="Conv"), layer("b", 20, layer_type="Relu"))
        self.assertEqual(self.cause(tiny), [("layers", "layers take 80 % of the time; Conv takes 75 % of the layers' time")])

    def test_layers_without_types(self):
        tiny = Tiny()
        tiny.run("M/L").predict(100, layer("a", 20), layer("b", 60))
        self.assertEqual(self.cause(tiny), [("layers", "layers take 80 % of the time; b takes 75 % of the layers' time")])

    def test_outside_layers(self):
        tiny = Tiny()
        tiny.run("M/L").predict(100, layer("a", 40))
        self.assertEqual(self.cause(tiny), [("outside_layers", "60 % of the time is spent outside of layers")])

    def test_layers_in_no_observation_show_nothing(self):
        """A layer after the only step: that the step's time is outside of layers says nothing about the step."""
        tiny = Tiny()
        tiny.run("M/L").predict(100).span("layer", "late", 150, 10, Track(11, 1, 11))
        self.assertEqual(self.cause(tiny), [])

    def test_layers_of_other_threads_count(self):
        """20 ms of the observation's own thread and 70 of another one's, 10 of them at the same time."""
        tiny = Tiny()
        tiny.run("M/L").predict(100, layer("a", 20)).span("layer", "b", 10, 70, Track(99, 1, 99))
        self.assertEqual(self.cause(tiny)[0][1][:33], "layers take 80 % of the time; b t")

    def test_recording(self):
        """The shares of a run that takes 2.5 times as long as without layers would be those of the recording."""
        tiny = Tiny()
        tiny.run("M").predict(40)
        tiny.run("M/L").predict(100, layer("a", 90))
        self.assertEqual(self.cause(tiny), [("recording", "60 % of the time is the cost of recording M/L, which takes 2.5 "
                                             "times as long as the model alone")])

    def test_nothing_to_say(self):
        tiny = Tiny()
        tiny.run("M").predict(40)
        self.assertEqual(self.cause(tiny), [])
        self.assertNotIn(b"cause", scripted.xsp("analyze", self.write(tiny), check=0).stdout)

    def test_a_program_that_announces_little(self):
        """Of 100 ms a range takes 43, and one within it, which adds nothing, 20."""
        script = scripted.Script()
        script.experiment("python3 script.py")
        script.run(1, "A/M")
        script.track(1)
        program = script.span("script.py", 0, 100_000_000, "application", category="program")
        around = script.span("load", 10_000_000, 43_000_000, "application", parent=program)
        script.span("parse", 20_000_000, 20_000_000, "application", parent=around)
        folder = scripted.temporary_folder()
        self.addCleanup(folder.cleanup)
        path = pathlib.Path(folder.name) / "program.xsp"
        script.write(path)
        self.assertEqual(causes(path), [("unrecorded", "57 % of the time is in no recorded range, layer or kernel")])

    def test_batch_sizes(self):
        tiny = Tiny()
        tiny.run("M/L", 1).predict(100, layer("a", 90))
        tiny.run("M/L", 2).predict(100, layer("a", 60))
        path = self.write(tiny)
        self.assertEqual(causes(path, "--batch", "1")[0][1][:37], "at batch size 1, layers take 90 % of ")
        self.assertEqual(causes(path)[0][1][:37], "at batch size 2, layers take 60 % of ")

    def test_work_after_the_end_counts(self):
        """30 ms of the step's work are executed after its end: of 100 ms the device is idle 20, not 50."""
        tiny = Tiny()
        tiny.run("M/L/K").predict(100, layer("a", 100, kernel("k", 80, at=50)))
        self.assertEqual(self.cause(tiny)[0][1], "the device is idle 20 % of the time, mostly while the host runs layers and "
                         "launches work (50 % of the time); a kernel takes 80 ms on average")

    def test_first_line_and_page(self):
        tiny = Tiny()
        tiny.run("M/L").predict(100, layer("a", 40))
        path = self.write(tiny)
        text = "60 % of the time is spent outside of layers"
        self.assertEqual(scripted.xsp("analyze", path, check=0).stdout.decode().splitlines()[0], "cause    " + text)
        page = report_files.report(path, "cause")
        self.assertEqual([one["cause"] for one in test_report.Page(page).document["experiments"]], [text])


def kept(durations):
    """Places of the observations that count: without the fifth of them at each end."""
    order = sorted(range(len(durations)), key=lambda place: durations[place])
    cut = len(order) // 5
    return order[cut:len(order) - cut]


def union(intervals):
    total, reach = 0, float("-inf")
    for start, end in sorted(intervals):
        total += max(0, end - max(start, reach))
        reach = max(reach, end)
    return total


def device_share(path, layer_type):
    """What the page's list of device time by operator has for a type."""
    sums = collections.Counter()
    for row in scripted.xsp_json("analyze", "A13", path, "--json")["rows"]:
        sums[row["layer_type"] or row["layer_name"]] += row["gpu_latency_ms"] or 0
    return 100 * sums[layer_type] / sum(sums.values())


class RealTraces(unittest.TestCase):
    def setUp(self):
        folder = scripted.temporary_folder()
        self.addCleanup(folder.cleanup)
        self.path = pathlib.Path(folder.name) / "trace.xsp"

    @unittest.skipUnless((DATA / RESNET).exists(), "the folder of real traces is absent (XSP_TEST_DATA)")
    def test_resnet50_waits_for_its_data_loader(self):
        """From the file alone: the loader's time in each step, and what the device did for the calls of each step."""
        events = [event for event in json.loads(gzip.open(DATA / RESNET).read())["traceEvents"] if event.get("ph") == "X"]
        steps = sorted((event["ts"], event["ts"] + event["dur"]) for event in events
                       if event["name"].startswith("ProfilerStep#") and event["cat"] != "Trace")
        place = lambda ts: next(i for i, (start, end) in enumerate(steps) if start <= ts < end)
        loader, work = collections.Counter(), collections.defaultdict(list)
        call = {event["args"]["correlation"]: event["ts"] for event in events if event["cat"] == "Runtime"}
        for event in events:
            if event["name"].startswith("enumerate(DataLoader)"):
                loader[place(event["ts"])] += event["dur"]
            elif event["cat"] in ("Kernel", "Memcpy", "Memset"):
                work[place(call[event["args"]["correlation"]])].append((event["ts"], event["ts"] + event["dur"]))
        counted = kept([end - start for start, end in steps])
        step = statistics.mean(steps[i][1] - steps[i][0] for i in counted)
        waits = 100 * statistics.mean(loader[i] for i in counted) / step
        idle = 100 - 100 * statistics.mean(union(work[i]) for i in counted) / step
        self.assertEqual((round(waits, 1), round(idle, 1)), (40.0, 42.8))
        scripted.xsp("import", DATA / RESNET, "-o", self.path, check=0)
        self.assertEqual(causes(self.path), [("data_loader", f"{waits:.3g} % of the time is spent in the data loader; the device "
                                              f"is idle {idle:.3g} % of the time")])

    @unittest.skipUnless((DATA / PIPIT).exists(), "the folder of real traces is absent (XSP_TEST_DATA)")
    def test_saxpy_starts_mpi(self):
        """No step is marked: the observation is the whole trace. No device works during MPI_Init."""
        scripted.xsp("import", DATA / PIPIT, "-o", self.path, check=0)
        sql = lambda text: scripted.xsp_json("sql", self.path, text, "--json")
        whole = sql("select duration_ns from observation")[0]["duration_ns"]
        executions = union((row["start_ns"], row["end_ns"]) for row in sql("select * from span where kind = 'execution'"))
        init = sql("select * from span where name = 'MPI_Init'")[0]["duration_ns"]
        self.assertEqual(causes(self.path), [("program", f"the device is idle {100 - 100 * executions / whole:.3g} % of the time, "
                                              f"{100 * init / whole:.3g} % of the time while the host is in MPI_Init")])

    @unittest.skipUnless((DATA / CPU_ONLY).exists(), "the folder of real traces is absent (XSP_TEST_DATA)")
    def test_a_step_whose_layers_were_not_recorded(self):
        """Its four operators begin after the step; another thread exchanges gradients for most of it."""
        scripted.xsp("import", DATA / CPU_ONLY, "-o", self.path, check=0)
        layers = scripted.xsp_json("sql", self.path, "select observation from span where level = 'layer'", "--json")
        self.assertEqual(layers, [{"observation": None}] * 4)
        self.assertEqual(causes(self.path), [])

    @unittest.skipUnless((DATA / AMD).exists(), "the folder of real traces is absent (XSP_TEST_DATA)")
    def test_a_first_launch_is_not_a_cost_of_small_kernels(self):
        """The first launch of twelve takes 6.5 of the step's 9.3 ms, while no device works."""
        scripted.xsp("import", DATA / AMD, "-o", self.path, check=0)
        launches = scripted.xsp_json("sql", self.path, "select duration_ns from span where name = 'hipLaunchKernel'", "--json")
        longest = max(row["duration_ns"] for row in launches)
        self.assertEqual(causes(self.path)[0][1].split("of the time), ")[1],
                         f"above all in one call of hipLaunchKernel, which takes {longest / 1e6:.3g} ms")

    @unittest.skipUnless((DATA / CONTROL).exists(), "the folder of real traces is absent (XSP_TEST_DATA)")
    def test_a_step_of_several_devices_waits_for_its_exchange(self):
        """On the host a backward operator takes longest, on the device the exchange between devices: NCCL's kernels."""
        scripted.xsp("import", DATA / CONTROL, "-o", self.path, check=0)
        share = device_share(self.path, "All2All_Pooled_Req")
        self.assertEqual(causes(self.path)[0][1].split("; ")[1],
                         f"All2All_Pooled_Req takes {share:.3g} % of the layers' device time")

    def shares(self, path):
        """What layers, and devices, take of the counted inferences. Devices: within them, or of the inferences' own work."""
        sql = lambda text: scripted.xsp_json("sql", path, text, "--json")
        deepest = max(sql("select levels, run_id from run"), key=lambda run: len(run["levels"]))["levels"]
        of_run = "join run using (run_id) where levels = '{}' and ".format(deepest)
        spans = sql(f"select run_id, observation, level, kind, start_ns, end_ns from span {of_run} level in ('layer', 'kernel')")
        observations = sql(f"select o.* from observation o {of_run} warmup = 0")
        counted = kept([row["duration_ns"] for row in observations])
        total = sum(observations[i]["duration_ns"] for i in counted)
        layers, within, own = [], [], []
        for row in (observations[i] for i in counted):
            end_ns = row["start_ns"] + row["duration_ns"]
            of = [span for span in spans if span["run_id"] == row["run_id"]]
            clipped = lambda chosen: [(max(span["start_ns"], row["start_ns"]), min(span["end_ns"], end_ns)) for span in chosen
                                      if span["start_ns"] < end_ns and span["end_ns"] > row["start_ns"]]
            layers.append(union(clipped(span for span in of if span["level"] == "layer")))
            executions = [span for span in of if span["kind"] == "execution"]
            within.append(union(clipped(executions)))
            own.append(union((span["start_ns"], span["end_ns"]) for span in executions
                             if span["observation"] == row["observation"]))
        return {"layers": 100 * sum(layers) / total, "device": 100 * max(sum(within), sum(own)) / total}

    def test_squeezenet_in_onnxruntime(self):
        model = runner_session.test_models() / "squeezenet.onnx"
        profile = scripted.xsp("profile", model, "--levels", "M,M/L", "--runs", "10", "-o", self.path, check=0)
        (rule, text), = causes(self.path)
        self.assertIn(f"\ncause    {text}\n", profile.stdout.decode())
        type_row = scripted.xsp_json("analyze", "A6", self.path, "--json")["rows"][0]
        if rule != "recording":  # on a busy machine
            self.assertEqual(type_row["layer_type"], "Conv")
            self.assertEqual((rule, text), ("layers", f"layers take {self.shares(self.path)['layers']:.3g} % of the time; Conv takes "
                                            f"{type_row['latency_pct']:.3g} % of the layers' time"))

    @unittest.skipIf(workloads.missing(), workloads.missing())
    def test_opencv_on_opencl(self):
        model = runner_session.test_models() / "squeezenet.onnx"
        command = [runner_session.sys.executable, workloads.OPENCV, model, "--runs", 5]
        workloads.run(command)  # builds the kernels, once
        run = workloads.run([scripted.XSP, "run", "-t", "nvtx,itt,opencl", "--levels", "M/L/K", "--model-range", "inference", "-o", self.path, "--",
                       *command])
        self.assertIn(f"\ncause    {causes(self.path)[0][1]}\n", run.stderr)
        share = device_share(self.path, "Convolution")
        self.assertEqual(causes(self.path), [("kernels", f"the device is busy {self.shares(self.path)['device']:.3g} % of the time; "
                                              f"Convolution takes {share:.3g} % of the layers' device time")])
        self.assertGreater(share, 90)


if __name__ == "__main__":
    unittest.main()
