# SPDX-License-Identifier: Apache-2.0
"""A job of 1,000 ranks, each a run of 1,000 spans: A21, A24 and findings about ranks keep one run's columns and collectives in memory, not
those of all. Other findings look at some ranks."""
import os
import pathlib
import subprocess
import tempfile
import unittest

from many_ranks import COLLECTIVES, MS, SPANS, make_many_ranks
from scripted import XSP, xsp_json

RANKS, STEPS = 1000, 20
SPANS_MOST = 1 << 19  # answers/analyze/sets.c


def peak_kib(*arguments):
    with subprocess.Popen([XSP, *arguments], stdout=subprocess.DEVNULL) as xsp:
        _, status, usage = os.wait4(xsp.pid, 0)
        xsp.returncode = os.waitstatus_to_exitcode(status)
    assert xsp.returncode == 0, arguments
    return usage.ru_maxrss


class ManyRanks(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.file = pathlib.Path(folder.name) / "job.xsp"

    def test_memory_is_that_of_a_rank(self):
        make_many_ranks(self.file, RANKS, STEPS)
        rows = xsp_json("analyze", "A21", self.file, "--json")["rows"]
        self.assertEqual((len(rows), rows[-1]["steps"]), (RANKS + 1, RANKS * STEPS))
        self.assertAlmostEqual(rows[-1]["waiting_ms"], 0.2 * COLLECTIVES)  # 0.4, 0.3 … 0 ms in each of the collectives
        [row] = xsp_json("analyze", "A24", self.file, "--json")["rows"]
        self.assertEqual(row["count"], RANKS * STEPS * COLLECTIVES)
        for analysis in ("A21", "A24"):  # with the file, which is mapped; the columns of all 980,000 spans alone are 64 MiB
            self.assertLess(peak_kib("analyze", analysis, self.file), 46 * 1024)
        self.assertLess(peak_kib("analyze", "findings", self.file), 164 * 1024)

    def test_a_slow_rank_is_found_that_other_findings_do_not_look_at(self):
        make_many_ranks(self.file, RANKS, STEPS, last_late_ns=4 * MS)
        answer = xsp_json("analyze", "findings", self.file, "--json")
        looked_at = SPANS_MOST // (STEPS * SPANS)
        self.assertTrue(any(note.startswith(f"figures are of {looked_at} of {RANKS} ranks") for note in answer["notes"]), answer["notes"])
        self.assertLess((looked_at - 1) * RANKS // looked_at, RANKS - 1)  # the last that is looked at
        [straggler] = [row for row in answer["rows"] if row["id"] == "F31"]
        self.assertIn(f"rank {RANKS - 1}", straggler["title"])


if __name__ == "__main__":
    unittest.main()
