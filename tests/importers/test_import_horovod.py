# SPDX-License-Identifier: Apache-2.0
"""Horovod's timeline, made here after its timeline.rst and timeline.cc: collectives of all ranks, from their ticks on."""
import json
import unittest

from imported import Imported
from scripted import xsp_json

STEPS, RANKS, LATE = 10, 3, 1
TENSORS = (("fc.weight", "[10, 3]", 120), ("fc.bias", "[10]", 40))


def timeline(ticked=range(STEPS)):
    """Each step of 10 ms, in us: two tensors are announced 100 us apart. Ranks are ready 10 us apart, the late one after 4000 us. 100 us later the
    negotiation ends, and 1000 us after that the exchange."""
    def event(phase, ts, pid, name=None, **more):
        return {"ph": phase, **({"name": name} if name else {}), "ts": ts, "pid": pid, **({"dur": 0} if phase == "X" else {}), **more}
    events = [{"name": "process_name", "ph": "M", "pid": 0, "args": {"start_time_since_epoch_in_micros": 1_700_000_000_000_000}}]
    events += [{"name": "process_name", "ph": "M", "pid": pid, "args": {"name": name}} for pid, (name, _, _) in enumerate(TENSORS, 1)]
    for step in range(STEPS):
        for pid, (_, shape, _) in enumerate(TENSORS, 1):
            at = 10_000 * step + 100 * pid
            events += [event("B", at, pid, "NEGOTIATE_ALLREDUCE"),
                       *(event("X", at + (4000 if rank == LATE else 10 * rank), pid, str(rank)) for rank in range(RANKS) if step in ticked),
                       event("E", at + 4100, pid), event("B", at + 4110, pid, "ALLREDUCE"), event("B", at + 4120, pid, "MPI_ALLREDUCE"),
                       event("E", at + 5000, pid), event("E", at + 5100, pid, args={"dtype": "float32", "shape": shape})]
    events.append({"ph": "i", "name": "CYCLE_START", "ts": 10, "s": "g"})
    return "[\n" + ",\n".join(map(json.dumps, events)) + "]"


class Horovod(Imported):
    def test_collectives_of_all_ranks(self):
        report, spans = self.load(timeline())
        self.assertEqual((report["files"][0]["format"], report["files"][0]["skipped"]), ("horovod", {"instant": 1}))
        found = [span for span in spans if span["category"] == "collective"]
        self.assertEqual(len(found), STEPS * len(TENSORS) * RANKS)
        self.assertEqual({(s["name"], s["tags"]["collective"], s["tags"]["module"], s["tags"]["bytes"]) for s in found},
                         {("ALLREDUCE", "all_reduce", name, size) for name, _, size in TENSORS})
        self.assertEqual(sorted(s["duration_ns"] for s in found),
                         sorted([1_100_000, 5_080_000, 5_100_000] * STEPS * len(TENSORS)))
        parts = [(s["name"], s["duration_ns"]) for s in spans if s["category"] == "collective_part"]
        self.assertEqual(sorted(set(parts)), [("MPI_ALLREDUCE", 880_000), ("NEGOTIATE_ALLREDUCE", 4_100_000)])

    def test_who_is_waited_for(self):
        self.load(timeline())
        ranks = xsp_json("analyze", "A21", self.out, "--json")
        self.assertEqual([(row["rank"], row["steps"], round(row["waiting_ms"], 9)) for row in ranks["rows"][:RANKS]], [("0", 9, 4.1), ("1", 9, 0), ("2", 9, 4.08)])
        self.assertEqual((ranks["summary"]["slowest_rank"], ranks["summary"]["verdict"]), (LATE, "slower"))
        rows = xsp_json("analyze", "A24", self.out, "--json")["rows"]
        self.assertEqual(sorted((row["module"], row["bytes"], row["count"], round(row["waiting_ms"], 9), row["transfer_ms"]) for row in rows),
                         [("fc.bias", 40, 30, 2.66, 1.1), ("fc.weight", 120, 30, 2.66, 1.1)])
        self.assertEqual([row["id"] for row in xsp_json("analyze", "findings", self.out, "--json")["rows"]], ["F31"])

    def test_without_ticks(self):
        """What is in Horovod's cache is known of rank 0 alone."""
        report, spans = self.load(timeline(ticked=()))
        found = [span for span in spans if span["category"] == "collective"]
        self.assertEqual([s["duration_ns"] for s in found], [5_100_000] * STEPS * len(TENSORS))
        self.assertEqual(report["files"][0]["skipped"], {"instant": 1})

    def test_ticks_of_some_collectives(self):
        """What Horovod has in its cache is no more of rank 0 than of the others, whichever comes first."""
        for ticked in (range(4), range(6, STEPS)):
            report, spans = self.load(timeline(ticked))
            found = [span["category"] for span in spans if span["name"] == "ALLREDUCE"]
            self.assertEqual((found.count("collective"), found.count("collective_part")), (4 * RANKS * len(TENSORS), 6 * len(TENSORS)))
            self.assertIn("12 of 20 collectives have no ticks", " ".join(report["files"][0]["notes"]))
            rows = xsp_json("analyze", "A21", self.out, "--json")["rows"]
            self.assertEqual([(row["rank"], row["steps"], row.get("state")) for row in rows[:RANKS]], [("0", 3, None), ("1", 3, None), ("2", 3, None)])

    def test_a_timeline_that_ends_early(self):
        """Horovod closes the list after each event."""
        events = json.loads(timeline())[:11]
        report, _ = self.load(json.dumps(events))
        self.assertEqual(report["files"][0]["skipped"], {"did not end": 4})


if __name__ == "__main__":
    unittest.main()
