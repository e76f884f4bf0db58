# SPDX-License-Identifier: Apache-2.0
"""How correlate uses the flags that importers set: kinds, parents, observations."""
import os
import unittest

from scripted import Script, temporary_folder, xsp_json

SPANS = ("select s.name, s.kind, s.basis, p.name as parent, s.parent_id, o.observation from span s "
         "left join span p on p.run_id = s.run_id and p.span_id = s.parent_id "
         "left join observation o on o.run_id = s.run_id and o.observation = s.observation order by s.span_id")


def imported():
    """Calls without a kind of their own, steps, spans that an importer placed, links that came with their basis."""
    script = Script()
    script.experiment("imported")
    script.run(1, "M/L/K", epoch="trace")
    script.track(1, "main")
    script.track(2, "stream 7", thread=None, device=0, stream=7)
    script.span("annotation", 0, 1000)
    script.span("step", 100, 400, flags="step")
    script.span("conv", 110, 100, "layer")
    script.span("launch", 120, 50, "kernel", correlation=1, category="api", flags="call")
    script.span("nested", 130, 30, "kernel", correlation=1, category="api", flags="call")
    script.span("synchronize", 180, 10, "kernel", correlation=2, category="api", flags="call")
    script.span("old launch", 190, 5, "kernel", "launch", correlation=3, category="api")
    script.span("kernel", 5000, 100, "kernel", "execution", track=2, correlation=1, category="kernel")
    script.span("placed", 115, 10, "layer", flags="placed")
    script.span("recorded", 116, 1, "layer", parent=2, flags="basis=containment")
    script.span("recorded none", 116, 1, "layer", flags="basis=ambiguous")
    script.span("absent", 117, 1, "layer", parent=77, flags="basis=correlation")
    return script


def two_processes():
    """The same numbers in two processes, each with a device; and a simulator with an unrelated clock."""
    script = Script()
    script.experiment("processes")
    script.run(1, "M/L/K", epoch="trace")
    for process in (1, 2):
        script.track(process, f"process {process}", process=process, thread=process)
        script.track(2 + process, f"device {process}", process=process, thread=None, device=process, stream=7)
    script.track(5, "simulator", clock="cycles", thread=None)
    for process in (1, 2):
        start = 40 * process  # their times overlap
        correlation = (process << 32) + 17
        script.span(f"model {process}", start, 100, track=process)
        script.span(f"layer {process}", start + 5, 80, "layer", track=process)
        script.span(f"launch {process}", start + 10, 20, "kernel", correlation=correlation, track=process, category="api",
                    flags="call")
        script.span(f"nested {process}", start + 12, 5, "kernel", correlation=correlation, track=process, category="api",
                    flags="call")
        for number in range(2):  # a graph: one launch, two executions
            script.span(f"kernel {process}.{number}", start + 500 * (number + 1), 10, "kernel", "execution",
                        track=2 + process, correlation=correlation, category="kernel")
    script.span("cycle", 50, 10, "layer", track=5)
    return script


class Processes(unittest.TestCase):
    def test_each_process_keeps_to_itself(self):
        with temporary_folder() as folder:
            path = two_processes().write(os.path.join(folder, "processes.xsp"))
            rows = {row["name"]: row for row in xsp_json("sql", path, SPANS, "--json")}
        for process in (1, 2):
            self.assertEqual(rows[f"layer {process}"]["parent"], f"model {process}")
            self.assertEqual((rows[f"launch {process}"]["kind"], rows[f"nested {process}"]["kind"]), ("launch", "sync"))
            for number in range(2):
                kernel = rows[f"kernel {process}.{number}"]
                self.assertEqual((kernel["parent"], kernel["observation"]), (f"layer {process}", process - 1))
        self.assertEqual((rows["cycle"]["basis"], rows["cycle"]["observation"]), ("none", None))


class Flags(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = temporary_folder()
        cls.path = imported().write(os.path.join(cls.folder.name, "flags.xsp"))
        cls.rows = {row.pop("name"): row for row in xsp_json("sql", cls.path, SPANS, "--json")}

    @classmethod
    def tearDownClass(cls):
        cls.folder.cleanup()

    def get(self, key):
        return {name: row[key] for name, row in self.rows.items()}

    def test_the_outermost_call_that_an_execution_carries_is_the_launch(self):
        kinds = self.get("kind")
        self.assertEqual(kinds["launch"], "launch")
        self.assertEqual(kinds["nested"], "sync")
        self.assertEqual(kinds["synchronize"], "sync")
        self.assertEqual(kinds["old launch"], "launch")  # stored as one: its execution may have been lost
        self.assertEqual(self.rows["kernel"]["parent"], "conv")
        self.assertEqual(self.rows["kernel"]["basis"], "correlation")
        launches = "select count(*) as n from span where kind = 'launch'"
        self.assertEqual(xsp_json("sql", self.path, launches, "--json"), [{"n": 2}])

    def test_steps_alone_are_observations(self):
        observations = self.get("observation")
        self.assertIsNone(observations["annotation"])
        self.assertEqual(observations["step"], 0)
        self.assertEqual(observations["kernel"], 0)
        self.assertEqual(xsp_json("info", self.path, "--json")["experiments"][0]["runs"][0]["observations"], 1)

    def test_placed_and_recorded_spans_are_not_resolved(self):
        self.assertEqual(self.rows["placed"]["basis"], "none")
        self.assertEqual((self.rows["recorded"]["basis"], self.rows["recorded"]["parent"]), ("containment", "step"))
        self.assertEqual((self.rows["recorded none"]["basis"], self.rows["recorded none"]["parent_id"]), ("ambiguous", None))
        self.assertEqual((self.rows["absent"]["basis"], self.rows["absent"]["parent_id"]), ("correlation", 77))
        parents = xsp_json("info", self.path, "--json")["experiments"][0]["runs"][0]["parents"]
        self.assertEqual(parents, {"explicit": 0, "correlation": 2, "containment": 7, "ambiguous": 1, "none": 2})


if __name__ == "__main__":
    unittest.main()
