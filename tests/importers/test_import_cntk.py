# SPDX-License-Identifier: Apache-2.0
"""Detail files of CNTK's profiler in their published form; figures by hand."""
import os
import pathlib
import unittest

from imported import Imported

STEPS = (pathlib.Path(os.environ["XSP_SOURCE"]) / "fuzz" / "corpus" / "import_cntk" / "steps").read_text(encoding="utf-8")
HEADER = STEPS.splitlines()[0]


class Cntk(Imported):
    def test_a_step_of_training(self):
        report, spans = self.load(STEPS)
        self.assertEqual((report["files"][0]["format"], report["files"][0]["kept"], report["files"][0]["skipped"]), ("cntk", 6, {}))
        names = {span["span_id"]: span["name"] for span in spans}
        epoch_ns = 1_500_000_000_000_000_000
        self.assertEqual([(s["name"], s["level"], s["start_ns"] - epoch_ns, s["duration_ns"], s["thread_id"], names.get(s["parent_id"])) for s in spans], [
            ("Get Minibatch", "model", 125_000, 2_375_000, 4711, "Minibatch Iteration"),
            ("Forward + Backward", "model", 2_500_000, 6_500_000, 4711, "Minibatch Iteration"),
            ("Prefetch Minibatch", "application", 1_000_000, 3_000_000, 4712, None),
            ("Weight Update", "model", 9_000_000, 1_250_000, 4711, "Minibatch Iteration"),
            ("Minibatch Iteration", "model", 125_000, 10_375_000, 4711, "Epoch"), ("Epoch", "application", 0, 11_000_000, 4711, None)])
        self.assertEqual(self.rows("select epoch from run"), [{"epoch": "unix"}])

    def test_a_clock_of_windows(self):
        self.load(HEADER + '\r\n"Epoch",7,5.5,6.25\r\n')
        self.assertEqual(self.rows("select epoch, duration_ns from run join span using (run_id)"), [{"epoch": "trace", "duration_ns": 750_000}])

    def test_what_is_left_out(self):
        report, _ = self.load(HEADER + '\n"a",1,3,2\n"b",1,x,2\n"c",1,2\n"d",1,2,3\n')
        self.assertEqual(report["files"][0]["skipped"], {"negative duration": 1, "no times": 1, "not an event": 1})

    def test_what_cannot_be_read(self):
        self.refuse(HEADER + "\n", mentions=["no span"])
        self.refuse(HEADER + '\n"a",1,1e15,2e15\n', mentions=["64 bits"])


if __name__ == "__main__":
    unittest.main()
