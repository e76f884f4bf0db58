# SPDX-License-Identifier: Apache-2.0
"""Library calls on threads of pools: their parent is the only call of their name around them, or the only operator."""
import pathlib
import random
import unittest

from scripted import UNIX_START, Script, temporary_folder, xsp_json

PARENTS = """select s.name, p.name as parent, s.basis, l.name as layer from span s
    left join span p on p.run_id = s.run_id and p.span_id = s.parent_id
    left join span l on l.run_id = s.run_id and l.span_id = s.layer_id
    where s.level = 'library' order by s.span_id"""


class Pools(unittest.TestCase):
    def setUp(self):
        folder = temporary_folder()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)
        self.script = Script()
        self.script.experiment()
        self.script.run(1, "M/L/Lib")
        for thread in (1, 2, 3, 4):
            self.script.track(thread, f"thread {thread}", process=100, thread=100 + thread)
        self.script.track(5, "other", process=200, thread=201)

    def span(self, name, start, duration, level, track, tracer="itt"):
        return self.script.span(name, UNIX_START + start, duration, level, track=track, tracer=tracer)

    def parents(self):
        path = self.script.write(self.folder / "pools.xsp")
        return {row["name"]: (row["parent"], row["basis"]) for row in xsp_json("sql", path, PARENTS, "--json")}

    def test_the_operator_around(self):
        self.span("step", 0, 1000, "model", 1)
        self.span("outer", 100, 500, "layer", 1)
        self.span("inner", 200, 200, "layer", 1)
        self.span("in inner", 210, 180, "library", 2)
        self.span("nested", 220, 10, "library", 2)
        self.span("beyond inner", 250, 200, "library", 3)
        self.span("in no operator", 700, 10, "library", 2)
        self.span("longer than all", 90, 20, "library", 3)
        self.span("of another process", 220, 10, "library", 5)
        self.span("of another tracer", 230, 10, "library", 4, tracer="nvtx")
        self.assertEqual(self.parents(), {
            "in inner": ("inner", "containment"), "nested": ("in inner", "containment"),
            "beyond inner": ("outer", "containment"), "in no operator": (None, "none"), "longer than all": (None, "none"),
            "of another process": (None, "none"), "of another tracer": (None, "none")})

    def test_two_operators_are_ambiguous(self):
        self.span("a", 100, 300, "layer", 1)
        self.span("b", 200, 300, "layer", 2)
        self.span("in a", 110, 20, "library", 3)
        self.span("in both", 210, 20, "library", 3)
        self.span("in b", 410, 20, "library", 3)
        self.assertEqual(self.parents(), {"in a": ("a", "containment"), "in both": (None, "ambiguous"),
                                          "in b": ("b", "containment")})

    def test_a_call_that_several_threads_compute(self):
        """oneDNN announces a primitive on the caller's thread and again on each thread that works for it."""
        self.span("a", 100, 300, "layer", 1)
        self.span("b", 100, 300, "layer", 2)
        whole = self.span("convolution", 110, 100, "library", 1)
        self.span("reorder", 120, 80, "library", 2)
        for track in (3, 4):
            self.span("convolution", 120, 50 + track, "library", track)
        self.span("convolution", 205, 10, "library", 3)  # ends after it
        path = self.script.write(self.folder / "pools.xsp")
        found = xsp_json("sql", path, "select parent_id, basis from span where name = 'convolution' and track_id > 2"
                         " order by span_id", "--json")
        self.assertEqual([(row["parent_id"], row["basis"]) for row in found],
                         [(whole, "containment"), (whole, "containment"), (None, "ambiguous")])

    def test_a_call_that_several_threads_compute_without_operators(self):
        self.span("step", 0, 1000, "model", 1)
        whole = self.span("convolution", 110, 100, "library", 1)
        self.span("convolution", 120, 50, "library", 3)
        path = self.script.write(self.folder / "pools.xsp")
        found = xsp_json("sql", path, "select parent_id from span where track_id = 3", "--json")
        self.assertEqual(found, [{"parent_id": whole}])

    def test_a_thread_with_work_of_its_own(self):
        """What it calls outside of its own operators is its own, too."""
        self.span("a", 100, 300, "layer", 1)
        self.span("own", 100, 10, "layer", 2)
        self.span("call", 200, 20, "library", 2)
        self.assertEqual(self.parents(), {"call": (None, "none")})

    def test_random_cases(self):
        """Against every layer and every call."""
        for seed in range(40):
            generator = random.Random(seed)
            self.setUp()
            layers, calls = [], []
            for track in (1, 2):
                spaces = [(0, 1000)]
                for number in range(generator.randrange(8)):
                    low, high = generator.choice(spaces)
                    if high - low < 4:
                        continue
                    start = generator.randrange(low + 1, high - 1)
                    end = generator.randrange(start + 1, high)
                    if any(s < e2 and s2 < e and not (s <= s2 and e2 <= e) and not (s2 <= s and e <= e2)
                           for t, s, e, _ in layers if t == track for s2, e2 in [(start, end)]):
                        continue  # crosses
                    layers.append((track, start, end, f"layer {track} {number}"))
                    spaces.append((start, end))
            for track in (3, 4):
                at = 0
                for number in range(generator.randrange(8)):
                    start = at + generator.randrange(1, 200)
                    at = start + generator.randrange(1, 100)
                    calls.append((track, start, at, f"call {track} {number}"))
            for track, start, end, name in sorted(layers, key=lambda one: (one[1], -one[2])):
                self.span(name, start, end - start, "layer", track)
            for track, start, end, name in calls:
                self.span(name, start, end - start, "library", track)
            expected = {}
            for _, start, end, name in calls:
                inside = [[layer for layer in layers if layer[0] == track and layer[1] <= start and layer[2] >= end]
                          for track in (1, 2)]
                found = [max(one, key=lambda layer: (layer[1], -layer[2]))[3] for one in inside if one]
                expected[name] = (found[0], "containment") if len(found) == 1 else (
                    None, "ambiguous" if found else "none")
            self.assertEqual(self.parents(), expected, seed)


if __name__ == "__main__":
    unittest.main()
