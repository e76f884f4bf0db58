# SPDX-License-Identifier: Apache-2.0
"""A job of 1,000 ranks, each a run of 1,000 spans: A21 and A24 keep one run's columns in memory, not those of all."""
import os
import pathlib
import subprocess
import tempfile
import unittest

from scripted import MAKE_TRACE, UNIX_START, XSP, xsp_json

RANKS, STEPS, OPERATORS, COLLECTIVES = 1000, 20, 40, 4
MS = 1_000_000


def write_rank(out, rank):
    """Each step lasts 100 ms; rank r starts its collectives 0.1 · (r mod 5) ms late, and each takes 5 ms after its start."""
    run, span = rank + 1, 0

    def put(*fields):
        out.write("\t".join(map(str, fields)) + "\n")

    put("run", run, 1, "M/L/Lib", "-", 0, "unix")
    for track in (1, 2):
        put("track", run, track, "thread", "box", "-", 100, 99 + track, "-", "-", rank, RANKS)
    for step in range(STEPS):
        start = UNIX_START + 100 * step * MS
        span += 1
        put("span", run, span, "-", start, 100 * MS, "-", 1, "model", "sync", "-", "pytorch", "training step")
        for i in range(OPERATORS):
            span += 1
            put("span", run, span, "-", start + i * MS, MS, "-", 1, "layer", "sync", "-", "pytorch", f"aten::op{i % 7}")
        for i in range(COLLECTIVES):
            at = start + (42 + 10 * i) * MS + rank % 5 * MS // 10
            put("span", run, span + 1, "-", at, MS // 10, "-", 1, "layer", "sync", "-", "pytorch", "c10d::allreduce_")
            put("span", run, span + 2, span + 1, at + MS // 10, 5 * MS, "-", 2, "library", "sync", "collective", "pytorch", "gloo:all_reduce")
            put("tag", run, span + 2, "bytes", "int", 1 << 20)
            put("tag", run, span + 2, "sequence", "int", COLLECTIVES * step + i + 1)
            span += 2


class ManyRanks(unittest.TestCase):
    def test_memory_is_that_of_a_rank(self):
        with tempfile.TemporaryDirectory() as folder:
            file = pathlib.Path(folder) / "job.xsp"
            with subprocess.Popen([MAKE_TRACE, file], stdin=subprocess.PIPE, text=True) as maker:
                maker.stdin.write("experiment\t1\tjob\t-\tpytorch\t2.15\n")
                for rank in range(RANKS):
                    write_rank(maker.stdin, rank)
            self.assertEqual(maker.returncode, 0)
            rows = xsp_json("analyze", "A21", file, "--json")["rows"]
            self.assertEqual((len(rows), rows[-1]["steps"]), (RANKS + 1, RANKS * STEPS))
            self.assertAlmostEqual(rows[-1]["waiting_ms"], 0.2 * COLLECTIVES)  # 0.4, 0.3 … 0 ms in each of the collectives
            [row] = xsp_json("analyze", "A24", file, "--json")["rows"]
            self.assertEqual(row["count"], RANKS * STEPS * COLLECTIVES)
            with subprocess.Popen([XSP, "analyze", "A21", file], stdout=subprocess.DEVNULL) as xsp:
                _, status, usage = os.wait4(xsp.pid, 0)
                xsp.returncode = os.waitstatus_to_exitcode(status)
            self.assertEqual(xsp.returncode, 0)
            self.assertLess(usage.ru_maxrss, 64 * 1024)  # KiB; the columns of all 980,000 spans alone are as much


if __name__ == "__main__":
    unittest.main()
