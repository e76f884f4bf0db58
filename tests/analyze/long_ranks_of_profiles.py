# SPDX-License-Identifier: Apache-2.0
"""A21 and A24 of a real profile with NCCL's kernels, as two ranks: against unions computed slowly from the file, and against
HolisticTraceAnalysis (HTA) 0.5.0 on the same files. HTA leaves out what begins after its last profiler step did, and rounds starts up and
ends down to whole microseconds; with both, its figures are these spans' to the microsecond."""
import gzip
import json
import math
import os
import pathlib
import re
import subprocess
import tempfile
import unittest

from framework_environment import framework_python
from scripted import xsp, xsp_json

SOURCE = pathlib.Path(os.environ["XSP_SOURCE"])
DATA = pathlib.Path(os.environ.get("XSP_TEST_DATA", SOURCE.parent / "shared" / "data"))
PROFILE = DATA / "kineto" / "hta__nccl_parser_config__nccl_data.json.gz"
HTA = "HolisticTraceAnalysis==0.5.0"
ASK_HTA = """
import json, sys, warnings
warnings.filterwarnings("ignore")
from hta.trace_analysis import TraceAnalysis
analysis = TraceAnalysis(trace_files={0: sys.argv[1], 1: sys.argv[2]}, trace_dir=sys.argv[3])
times = analysis.get_temporal_breakdown(visualize=False)
overlap = analysis.get_comm_comp_overlap(visualize=False)
print("ANSWER", json.dumps({"compute": list(times["compute_time(us)"]), "non_compute": list(times["non_compute_time(us)"]),
                            "idle": list(times["idle_time(us)"]), "overlap": list(overlap["comp_comm_overlap_pctg"])}))
"""


def union(intervals):
    total, end = 0, None
    for first, last in sorted(intervals):
        if end is None or first > end:
            total, end = total + last - first, last
        elif last > end:
            total, end = total + last - end, last
    return total


def clipped(intervals, first, last):
    return [(max(a, first), min(b, last)) for a, b in intervals if a < last and b > first]


@unittest.skipUnless(PROFILE.exists(), f"without {PROFILE}")
class Profiles(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        temporary = tempfile.TemporaryDirectory()
        cls.addClassCleanup(temporary.cleanup)
        cls.folder = pathlib.Path(temporary.name)
        text = gzip.open(PROFILE, "rt").read()
        at = text.index('"distributedInfo"')
        other = text[:at] + re.sub(r'"rank": 0', '"rank": 1', text[at:], count=1)
        cls.files = [cls.folder / f"rank{i}.json" for i in range(2)]
        for file, content in zip(cls.files, (text, other)):
            file.write_text(content)
        cls.out = cls.folder / "job.xsp"
        xsp("import", *cls.files, "-o", cls.out)
        cls.events = json.loads(text)["traceEvents"]
        cls.steps = sorted((e["ts"], e["ts"] + e["dur"]) for e in cls.events
                           if e.get("cat") == "user_annotation" and e["name"].startswith("ProfilerStep#"))
        of_device = [e for e in cls.events if e.get("cat") in ("kernel", "gpu_memcpy", "gpu_memset")]
        cls.work = [(("communication" if "nccl" in e["name"].lower() else "compute") if e["cat"] == "kernel" else "copies",
                     e["ts"], e["ts"] + e["dur"]) for e in of_device]

    def of(self, *kinds):
        return [(first, last) for kind, first, last in self.work if kind in kinds]

    def test_figures_of_steps(self):
        means = {"step_ms": 0, "compute_ms": 0, "communication_ms": 0, "exposed_ms": 0}
        for first, last in self.steps:
            compute, communication, both = (union(clipped(self.of(*kinds), first, last)) for kinds in (
                ("compute",), ("communication",), ("compute", "communication")))
            for key, value in zip(means, (last - first, compute, communication, both - compute)):
                means[key] += value / 1e3 / len(self.steps)
        answer = xsp_json("analyze", "A21", self.out, "--stat", "mean", "--json")
        self.assertEqual([row["rank"] for row in answer["rows"]], ["0", "1", "all"])
        for row in answer["rows"]:
            for key in ("step_ms", "compute_ms"):
                self.assertAlmostEqual(row[key], means[key], delta=1e-3)
        # Operators on the host that start collectives count as communication, too.
        self.assertGreaterEqual(answer["rows"][0]["communication_ms"], means["communication_ms"] - 1e-3)

    def test_collectives(self):
        rows = xsp_json("analyze", "A24", self.out, "--json")["rows"]
        kernels = [e for e in self.events if e.get("cat") == "kernel" and "nccl" in e["name"].lower()]
        self.assertEqual(sum(row["count"] for row in rows), 2 * len(kernels))
        self.assertEqual({row["collective"] for row in rows}, {"AllReduce", "Broadcast"})
        sizes = [4 * e["args"]["In msg nelems"] for e in kernels if "AllReduce" in e["name"] and e["args"]["dtype"] == "Float"]
        self.assertAlmostEqual(sum(row["bytes"] * row["count"] for row in rows if row["collective"] == "AllReduce"), 2 * sum(sizes),
                               delta=1)

    def test_equal_to_hta(self):
        printed = subprocess.run([framework_python("hta-0.5.0", HTA), "-c", ASK_HTA, *self.files, self.folder], check=True, timeout=900,
                                 stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True).stdout
        theirs = json.loads(next(line for line in printed.splitlines() if line.startswith("ANSWER"))[7:])
        stored = xsp_json("sql", self.out, "select name, category, start_ns, end_ns from span where run_id = 1 and kind = 'execution'"
                          " and category in ('kernel', 'memcpy', 'memset')", "--json")
        times = sorted((row["start_ns"], row["end_ns"]) for row in stored)
        zero = times[0][0] - round(1e3 * min(first for _, first, _ in self.work))
        for (start, end), (first, last) in zip(times, sorted((first, last) for _, first, last in self.work), strict=True):
            self.assertAlmostEqual(start - zero, 1e3 * first, delta=2)
            self.assertAlmostEqual(end - zero, 1e3 * last, delta=2)
        limit = math.floor(self.steps[-1][0])
        ours = {"compute": [], "communication": [], "copies": []}
        for kind, first, last in self.work:  # in doubles, as HTA rounds
            if first < limit:
                ours[kind].append((math.ceil(first), max(math.ceil(first), math.floor(last))))
        compute, communication = union(ours["compute"]), union(ours["communication"])
        both, busy = union(ours["compute"] + ours["communication"]), union(sum(ours.values(), []))
        self.assertEqual(theirs["compute"], 2 * [compute])
        self.assertEqual(theirs["non_compute"], 2 * [busy - compute])
        everything = sum(ours.values(), [])
        self.assertEqual(theirs["idle"], 2 * [max(b for _, b in everything) - min(a for a, _ in everything) - busy])
        self.assertEqual(theirs["overlap"], 2 * [round(100 * (compute + communication - both) / communication, 2)])


if __name__ == "__main__":
    unittest.main()
