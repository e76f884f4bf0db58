# SPDX-License-Identifier: Apache-2.0
"""A19: batches that data loaders make, in workers or in the program. A scripted trace with known figures."""
import pathlib
import unittest

from scripted import Script, UNIX_START, temporary_folder, xsp, xsp_json

MS = 1_000_000


class InputPipelineTest(unittest.TestCase):
    def setUp(self):
        folder = temporary_folder()
        self.addCleanup(folder.cleanup)
        self.file = pathlib.Path(folder.name) / "trace.xsp"
        self.trace = Script()
        self.trace.experiment()
        self.trace.run(1, "A/M")
        self.trace.track(1)

    def at(self, name, start, duration, level="application", **options):
        self.trace.span(name, UNIX_START + start * MS, duration * MS, level, **options)

    def batch(self, name, line, start, duration, track):
        self.at(name, start, duration, category="input", track=track, tags={"file": "data.py", "line": line})

    def steps(self, waited):
        for step in range(4):
            self.at("enumerate(DataLoader)#…", 100 * step, waited, category="data")
            self.at("training step", 100 * step, 100, "model", tags={"batch_size": 8})

    def ask(self):
        self.trace.write(self.file)
        answer = xsp_json("analyze", "A19", self.file, "--json")
        return [tuple(row.values()) for row in answer["rows"]], answer["summary"]

    def test_workers(self):
        """Two processes; three of the four batches are of the first data set. They are busy for 240 of 200 + 200 ms."""
        self.steps(5)
        for worker in (2, 3):
            self.trace.track(worker, f"worker {worker}", process=200 + worker, thread=200 + worker)
            self.batch("Pictures.__getitem__", 12, 0, 60, worker)
        self.batch("Pictures.__getitem__", 12, 110, 90, 2)
        self.batch("Texts.__iter__", 40, 170, 30, 3)
        rows, summary = self.ask()
        self.assertEqual(rows, [("Pictures.__getitem__", "data.py", 12, 3, 70, 87.5), ("Texts.__iter__", "data.py", 40, 1, 30, 12.5)])
        self.assertEqual(summary, {"batches": 4, "workers": 2, "worker_busy_pct": 60, "waited_ms": 5, "first_batch_ms": 5,
                                   "bound": "compute"})

    def test_workers_of_each_epoch(self):
        """Loaders without persistent_workers start new processes: each is busy for 60 of 80 ms, whenever it was."""
        self.steps(5)
        for epoch in range(4):
            self.trace.track(2 + epoch, "worker", process=300 + epoch, thread=300 + epoch)
            for start in (0, 50):
                self.batch("Pictures.__getitem__", 12, 100 * epoch + start, 30, 2 + epoch)
        self.batch("Texts.__iter__", 40, 0, 390, 1)  # in the program
        _, summary = self.ask()
        self.assertEqual((summary["workers"], summary["worker_busy_pct"]), (4, 75))

    def test_in_the_program(self):
        self.steps(40)
        for step in range(4):
            self.batch("Pictures.__getitem__", 12, 100 * step, 38, 1)
        rows, summary = self.ask()
        self.assertEqual(rows, [("Pictures.__getitem__", "data.py", 12, 4, 38, 100)])
        self.assertEqual(summary, {"batches": 4, "workers": 0, "worker_busy_pct": None, "waited_ms": 40, "first_batch_ms": 40,
                                   "bound": "input"})

    def test_a_trace_without_loaders(self):
        self.steps(5)
        self.trace.write(self.file)
        self.assertIn(b"loader", xsp("analyze", "A19", self.file, check=1).stderr)


if __name__ == "__main__":
    unittest.main()
