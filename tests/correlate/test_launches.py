# SPDX-License-Identifier: Apache-2.0
"""Several launches with one correlation id: an execution takes the only one that agrees with it in all that is recorded."""
import json
import pathlib
import unittest

from otlp import lines, request, span
from scripted import temporary_folder, xsp_json

PARENTS = ("select e.name as kernel, p.name as parent, e.basis from span e left join span p on p.run_id = e.run_id and "
           "p.span_id = e.parent_id where e.kind = 'execution' order by e.span_id")


class Launches(unittest.TestCase):
    def setUp(self):
        folder = temporary_folder()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)

    def parents(self, content):
        path, out = self.folder / "t.json", self.folder / "t.xsp"
        path.write_text(content)
        self.report = xsp_json("import", path, "-o", out, "--force", "--json")
        return {row["kernel"]: (row["parent"], row["basis"]) for row in xsp_json("sql", out, PARENTS, "--json")}

    def operators(self, calls, kernels, late=1000):
        """Operators op0, op1 … one after the other, each with a call of id 7; kernels that start after all of them. `calls`
        and `kernels`: further attributes."""
        spans = []
        for i, facts in enumerate(calls):
            spans.append(span(10 + i, f"op{i}", 100 * i, 100 * i + 90, level="layer"))
            spans.append(span(20 + i, "launch", 100 * i + 10, 100 * i + 20, level="kernel", xsp__category="api",
                              xsp__correlation_id=7, more=facts))
        for i, facts in enumerate(kernels):
            spans.append(span(30 + i, facts.pop("name", f"k{i}"), late + 100 * i, late + 100 * i + 50, level="kernel",
                              thread=None, xsp__kind="execution", xsp__correlation_id=7,
                              more={"xsp.track": 100 + i, "xsp.device_id": 0, "xsp.stream_id": i, **facts}))
        return self.parents(lines(request(spans)))

    def test_nothing_else_is_recorded(self):
        self.assertEqual(self.operators([{}, {}, {}], [{}, {}, {}]), {f"k{i}": (None, "ambiguous") for i in range(3)})
        self.assertEqual(self.report["unattributed"]["reasons"], {"ambiguous": 3})

    def test_external_ids(self):
        self.assertEqual(self.operators([{"external_id": i} for i in (5, 6, 4)], [{"external_id": i} for i in (4, 5, 6)]),
                         {"k0": ("op2", "correlation"), "k1": ("op0", "correlation"), "k2": ("op1", "correlation")})

    def test_an_external_id_of_no_call(self):
        self.assertEqual(self.operators([{"external_id": 5}, {"external_id": 6}], [{"external_id": 4}]),
                         {"k0": (None, "ambiguous")})

    def test_a_call_that_records_nothing_may_be_the_one(self):
        self.assertEqual(self.operators([{"external_id": 5}, {}], [{"external_id": 5}, {"external_id": 6}]),
                         {"k0": (None, "ambiguous"), "k1": ("op1", "correlation")})

    def test_a_launch_has_no_kernel_of_another_name(self):
        self.assertEqual(self.operators([{"kernel": "gemm"}], [{"name": "relu"}, {"name": "gemm"}, {"name": "gemm"}]),
                         {"relu": (None, "ambiguous"), "gemm": ("op0", "correlation")})
        self.assertEqual(self.report["unattributed"]["reasons"], {"ambiguous": 1})
        # nothing contradicts: a graph's launch names no kernel, and names may be written in two ways
        for facts in ({}, {"kernel": "_Z4gemmv"}):
            self.assertEqual(self.operators([facts], [{"name": "relu"}, {"name": "gemm"}]),
                             {"relu": ("op0", "correlation"), "gemm": ("op0", "correlation")})
        self.assertEqual(self.operators([{"kernel": "gemm"}], [{"name": "relu"}]), {"relu": ("op0", "correlation")})

    def test_names_of_kernels(self):
        self.assertEqual(self.operators([{"kernel": "gemm"}, {"kernel": "relu"}],
                                        [{"name": "relu"}, {"name": "gemm"}, {"name": "copy"}]),
                         {"relu": ("op1", "correlation"), "gemm": ("op0", "correlation"), "copy": (None, "ambiguous")})

    def test_devices(self):
        self.assertEqual(self.operators([{"device": 0}, {"device": 1}], [{"xsp.device_id": 1}, {"xsp.device_id": 0}]),
                         {"k0": ("op1", "correlation"), "k1": ("op0", "correlation")})

    def test_facts_and_times(self):
        """At 150 the first two of three calls have started, and only the second has the kernel's external id."""
        found = self.operators([{"external_id": 1}, {"external_id": 2}, {"external_id": 2}], [{"external_id": 2}], late=150)
        self.assertEqual(found, {"k0": ("op1", "correlation")})

    def test_one_launch_needs_no_agreement(self):
        self.assertEqual(self.operators([{"external_id": 1}], [{"external_id": 2}]), {"k0": ("op0", "correlation")})

    def test_kineto(self):
        """Calls of AMD's runtime record the kernel, those of all makers the operator's external id."""
        events = []
        for i, (kernel, external) in enumerate((("gemm", 1), ("relu", 2), ("relu", 3))):
            events.append({"ph": "X", "cat": "cpu_op", "name": f"op{i}", "pid": 1, "tid": 1, "ts": 100 * i, "dur": 90})
            events.append({"ph": "X", "cat": "cuda_runtime", "name": "hipLaunchKernel", "pid": 1, "tid": 1,
                           "ts": 100 * i + 10, "dur": 10, "args": {"correlation": 7, "kernel": kernel, "External id": external}})
        for i, (kernel, external) in enumerate((("relu", 3), ("gemm", 1), ("gemm", 2))):
            events.append({"ph": "X", "cat": "kernel", "name": kernel, "pid": 0, "tid": i, "ts": 1000 + i, "dur": 1, "args": {
                "correlation": 7, "device": 0, "stream": i, "External id": external}})
        events[-1]["name"] = "none"
        events[-1]["args"]["External id"] = 2
        self.assertEqual(self.parents(json.dumps({"schemaVersion": 1, "traceEvents": events})),
                         {"relu": ("op2", "correlation"), "gemm": ("op0", "correlation"), "none": (None, "ambiguous")})


if __name__ == "__main__":
    unittest.main()
