# SPDX-License-Identifier: Apache-2.0
"""gpu-check on the simulated GPU: it passes there, and finds what goes wrong."""
import json
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile
import unittest

import cuda_simulator as gpu

WHY_NOT = gpu.WHY_NOT or ("the sanitizer's runtime must be preloaded before libxsp.so" if os.environ.get("XSP_SANITIZE") else None)
SHELL_AND_COREUTILS = ("sh", "cat", "cut", "dirname", "head", "mkdir", "mktemp", "paste", "readlink", "rm", "sort", "tail", "tr",
                       "uname")
# In place of gpu-check's program: the same, but it says something else.
LIAR = """#!/bin/sh
[ "$1" != check ] && exec '{workload}' "$@"
'{workload}' check | sed '{edit}'
exit {status}
"""
# Edits of what the program says, and which checks they make fail.
LIES = (("/block_sum/d", {"kernels", "grids", "layers", "order"}),
        (r"s/\[33,1,1\]/[34,1,1]/", {"grids", "order"}),
        ('s/"bytes": 4,/"bytes": 5,/', {"copies", "order"}),
        ('/HtoD/s/HtoD/DtoH/', {"copies", "order"}),
        ('/DtoD/s/"stream": 2/"stream": 1/', {"order"}),
        ('/"sum"/s/"layer": "sum"/"layer": "input"/', {"layers"}),
        ('/"event_ns": [1-9]/s/"event_ns": /&1/', {"durations"}))
# "Python": says yes to "is there a GPU"; the "model" is gpu-check's own program, which makes 19 saxpy and a block_sum of
# 20 us; under torch.profiler a trace of them.
PYTHON = """#!/bin/sh
[ "$1" != -c ] || exit 0
[ $# = 3 ] && {{ cat '{trace}' >"$3"; exit; }}
'{workload}' check >&2 && {{ [ -z "${{CUDA_INJECTION64_PATH:-}}" ] && echo 1000000 || echo {traced_ns}; }}
"""


def kineto(kernels):
    """torch.profiler's file of (name, duration in us)."""
    events = [{"ph": "X", "cat": "kernel", "name": name, "pid": 0, "tid": 7, "ts": 1000 + 50 * number, "dur": us,
               "args": {"device": 0, "context": 1, "stream": 7, "correlation": number + 1, "grid": [1, 1, 1], "block": [1, 1, 1]}}
              for number, (name, us) in enumerate(kernels)]
    return json.dumps({"schemaVersion": 1, "deviceProperties": [{"id": 0, "name": "Simulated GPU 0"}], "traceEvents": events})


# xsp, whose `profile` takes over a trace of one prediction at each of two batch sizes.
PROFILE = """#!/bin/sh
[ "$1" = profile ] || exec '{xsp}' "$@"
for out; do :; done
exec '{xsp}' import --batch 1 '{one}' --batch 256 '{many}' --force -o "$out"
"""


def prediction(us):
    """torch.profiler's file of a prediction of two layers with a kernel each, of `us` and twice that."""
    def event(category, name, start, duration, tid=1, **arguments):
        return {"ph": "X", "cat": category, "name": name, "pid": 0, "tid": tid, "ts": start, "dur": duration, "args": arguments}
    events = [event("user_annotation", "ProfilerStep#1", 1000, 8 * us)]
    for number, name in enumerate(("conv2d", "relu")):
        start = 1000 + 3 * us * number
        events += [event("cpu_op", f"aten::{name}", start, 3 * us),
                   event("cuda_runtime", "cudaLaunchKernel", start + 1, 2, correlation=number + 1),
                   event("kernel", f"{name}_kernel", start + 4, (number + 1) * us, 7, device=0, stream=7, correlation=number + 1)]
    return json.dumps({"schemaVersion": 1, "deviceProperties": [{"id": 0, "name": "Simulated GPU 0"}], "traceEvents": events})


@unittest.skipIf(WHY_NOT, WHY_NOT)
class GpuCheckTest(unittest.TestCase):
    def setUp(self):
        temporary = tempfile.TemporaryDirectory(prefix="xsp-gpu-check-")
        self.addCleanup(temporary.cleanup)
        self.folder = pathlib.Path(temporary.name)
        self.out = self.folder / "out"

    def check(self, *arguments, faults="", command=gpu.BUILD / "gpu-check", **environment):
        """Exit status; self.checks are the checks of the JSON by name."""
        version, library = "13.1", gpu.VERSIONS["13.1"][1]
        plain = {key: value for key, value in os.environ.items() if not key.startswith(("XSP_SESSION", "CUDA_INJECTION"))}
        done = subprocess.run([command, "-o", self.out, "--rounds", "1", *arguments], capture_output=True, timeout=600, text=True,
                              cwd=self.folder, env={**plain, **gpu.environment(version, faults), "LD_LIBRARY_PATH": str(gpu.PLACE),
                                                    "XSP_LIBRARY_CUPTI": str(library), **environment})
        self.said = done.stdout + done.stderr
        report = self.out / "gpu-check.json"
        self.report = json.loads(report.read_text()) if report.exists() else None
        self.checks = {check["name"]: check for check in self.report["checks"]} if self.report else {}
        return done.returncode

    def failed(self):
        return {name for name, check in self.checks.items() if check["status"] == "failed"}

    def test_installed_with_coreutils_alone(self):
        subprocess.run(["cmake", "--install", gpu.BUILD, "--prefix", self.folder / "was"], check=True, stdout=subprocess.DEVNULL)
        (self.folder / "was").rename(self.folder / "here")
        tools = self.folder / "tools"
        tools.mkdir()
        for name in SHELL_AND_COREUTILS:
            (tools / name).symlink_to(f"/usr/bin/{name}")
        status = self.check("--rounds", "3", command=self.folder / "here/share/xsp/gpu-check", PATH=str(tools))
        self.assertEqual((status, self.failed()), (0, set()), self.said)
        self.assertEqual(self.report["device"]["name"], "Simulated GPU 0")
        self.assertEqual({name for name, check in self.checks.items() if check["status"] == "not checked"}, {"torch.profiler", "nsys"})
        passed = {name for name, check in self.checks.items() if check["status"] == "passed"}
        self.assertLessEqual({"kernels", "grids", "copies", "layers", "order", "durations", "dropped", "metrics, collect=kernel",
                              "metrics, collect=application", "metrics, collect=sampling"}, passed)
        # Of 65,536 elements, and of arrays a hundred times as large as the simulator's cache of 64 KiB: 1,638,400 elements.
        self.assertIn("flops_single 65536", self.checks["metrics, collect=kernel"]["text"])
        for figure in ("flops_single 1638400", "dram_read_bytes 13107200", "dram_write_bytes 6553600"):
            self.assertIn(figure, self.checks["metrics, collect=application"]["text"])
            if "dram" in figure:  # 20 µs have at least one sample of 10
                self.assertIn(figure, self.checks["metrics, collect=sampling"]["text"])
        # saxpy: 1 in "sum", 3 streams * 4, 3 replays * 2; block_sum: 1; spin: 5, and 5 for each time that they came too late
        count = int(self.checks["kernels"]["text"].split()[0])
        self.assertEqual((count - 20) % 5, 0)
        self.assertGreaterEqual(count, 25)
        measured = [check["figures"] for check in self.checks.values() if check["status"] == "measured"]
        self.assertEqual(len(measured), 3)
        for figures in measured:
            self.assertLessEqual(figures["lowest"], figures["ratio"])
            self.assertLessEqual(figures["ratio"], figures["highest"])
        self.assertEqual((self.out / "report.html").read_text().count("<tr"), len(self.checks))
        self.assertIn("</html>", (self.out / "trace.html").read_text())

    def test_lost_records(self):
        for fault in ("drops", "zero-times"):
            with self.subTest(fault=fault):
                self.assertEqual(self.check(faults=fault), 1, self.said)
                self.assertLessEqual({"kernels", "grids", "order", "dropped"}, self.failed())
                self.assertEqual(self.report["failed"], len(self.failed()))

    def lie(self, edit, status=0):
        place = self.folder / "liar"
        place.mkdir(exist_ok=True)
        command, workload, xsp = (place / name for name in ("gpu-check", "gpu-check-workload", "xsp"))
        shutil.copy(gpu.BUILD / command.name, command)
        workload.write_text(LIAR.format(workload=gpu.BUILD / workload.name, edit=edit, status=status))
        workload.chmod(0o755)
        if not xsp.exists():
            xsp.symlink_to(gpu.BUILD / xsp.name)
        return self.check(command=command)

    def test_each_check_fails(self):
        for edit, checks in LIES:
            with self.subTest(edit=edit):
                self.assertEqual((self.lie(edit), self.failed()), (1, checks), self.said)
        self.assertEqual((self.lie("", status=1), self.failed()), (1, {"program", "program under xsp"}))

    def test_wrong_durations(self):
        """Of memsets, too: then these run beside the counted kernel, and no sample is of it alone."""
        self.assertEqual((self.check(faults="long-times"), self.failed()), (1, {"durations", "metrics, collect=sampling"}), self.said)

    def test_metrics(self):
        each = {f"metrics, collect={how}" for how in ("kernel", "application", "sampling")}
        self.assertEqual((self.check(faults="wrong-counts"), self.failed()), (1, each), self.said)
        self.assertEqual((self.check(faults="enable-refused"), self.failed()), (0, set()), self.said)
        for name in each:
            self.assertEqual(self.checks[name]["status"], "not checked")
            self.assertIn("NVreg_RestrictProfilingToAdminUsers=0", self.checks[name]["text"])

    def test_no_tracer(self):
        self.assertEqual(self.check(XSP_LIBRARY_CUPTI="/nowhere/libcupti.so"), 1)
        self.assertLessEqual({"xsp check cuda", "kernels", "copies", "durations"}, self.failed())

    def test_finds_cupti_of_python(self):
        library = gpu.VERSIONS["13.1"][1]
        place = self.folder / "packages" / "nvidia" / "cu13" / "lib"
        place.mkdir(parents=True)
        (place / library.name).symlink_to(library)
        self.assertEqual(self.check("--python", sys.executable, PYTHONPATH=str(self.folder / "packages"), XSP_LIBRARY_CUPTI=""), 0,
                         self.said)
        self.assertIn(str(place), self.checks["xsp check cuda"]["text"])

    def test_no_gpu(self):
        self.assertEqual(self.check(faults="no-device"), 3)
        self.assertRegex(self.said, "no GPU: cuInit")
        self.assertFalse(self.out.exists())

    def test_wrong_use(self):
        for arguments in (("--rounds", "0"), ("--rounds", "x"), ("--nothing", "1"), ("-o",)):
            self.assertEqual(self.check(*arguments), 2, arguments)
        self.assertFalse(self.out.exists())

    def check_torch(self, kernels, traced_ns=1_000_000):
        python, trace = self.folder / "python", self.folder / "trace.json"
        trace.write_text(kineto(kernels))
        python.write_text(PYTHON.format(trace=trace, workload=gpu.BUILD / "gpu-check-workload", traced_ns=traced_ns))
        python.chmod(0o755)
        return self.check("--python", str(python)), self.failed()

    def test_torch(self):
        same = [("saxpy", 20)] * 19 + [("block_sum", 20)]
        ratios = "overhead, ResNet-50 at batch 256: "
        self.assertEqual(self.check_torch(same), (0, set()), self.said)
        self.assertEqual(self.checks["ResNet-50: layers"]["status"], "passed")
        self.assertEqual([self.checks[ratios + name]["status"] for name in ("M to plain", "M/L to M", "M/L/K to M")],
                         ["measured", "passed", "passed"])
        self.assertEqual(self.check_torch(same[1:]), (1, {"torch.profiler: names and counts"}))
        self.assertEqual(self.check_torch([("saxpy", 20)] * 19 + [("block_sum", 22)]), (1, {"torch.profiler: durations"}))
        self.assertEqual(self.check_torch(same, traced_ns=1_101_000), (1, {ratios + "M/L/K to M"}))

    def test_tables(self):
        """In form: the figures are those of two predictions that we wrote, of 8 times 100 and 1000 us."""
        place = self.folder / "place"
        place.mkdir()
        shutil.copy(gpu.BUILD / "gpu-check", place)
        (place / "gpu-check-workload").symlink_to(gpu.BUILD / "gpu-check-workload")
        for name, us in (("one", 100), ("many", 1000)):
            (place / name).write_text(prediction(us))
        xsp = place / "xsp"
        xsp.write_text(PROFILE.format(xsp=gpu.BUILD / "xsp", one=place / "one", many=place / "many"))
        xsp.chmod(0o755)
        python, trace = self.folder / "python", self.folder / "trace.json"
        trace.write_text(kineto([("saxpy", 20)] * 19 + [("block_sum", 20)]))
        python.write_text(PYTHON.format(trace=trace, workload=place / "gpu-check-workload", traced_ns=1_000_000))
        python.chmod(0o755)
        self.assertEqual(self.check("--python", str(python), command=place / "gpu-check"), 0, self.said)
        self.assertEqual(self.checks["tables"]["status"], "measured")
        tables = {table["table"]: table["answer"] for table in self.report["tables"]}
        self.assertEqual({name: answer["analysis"] for name, answer in tables.items()},
                         {"Latency by batch size": "A1", "Table II": "A2", "Table III": "A8", "Table IV": "A10", "Table V": "A11",
                          "Table VI": "A15"})
        self.assertEqual([(row["batch_size"], row["latency_ms"]) for row in tables["Latency by batch size"]["rows"]],
                         [(1, 0.8), (256, 8)])
        self.assertEqual([(row["kernel_name"], row["latency_ms"]) for row in tables["Table IV"]["rows"]],
                         [("relu_kernel", 2), ("conv2d_kernel", 1)])
        self.assertEqual([row["kernel_latency_ms"] for row in tables["Table VI"]["rows"]], [0.3, 3])
        page = (self.out / "report.html").read_text()
        self.assertEqual(page.count("<h2>"), 6)
        self.assertIn("relu_kernel", page)


if __name__ == "__main__":
    unittest.main()
