# SPDX-License-Identifier: Apache-2.0
"""A24 of four profiles of NCCL against TraceLens's report on collectives, of the same files. They are one real profile: each rank begins its
all-reduces later than the one before, and ends them earlier. TraceLens takes the shortest duration among the ranks for the transfer, A24 the
mean time after the last arrival: half of the difference of the ends more."""
import collections
import gzip
import json
import os
import pathlib
import subprocess
import tempfile
import unittest

from framework_environment import framework_python
from scripted import xsp, xsp_json

SOURCE = pathlib.Path(os.environ["XSP_SOURCE"])
DATA = pathlib.Path(os.environ.get("XSP_TEST_DATA", SOURCE.parent / "shared" / "data"))
PROFILE = DATA / "kineto" / "hta__nccl_parser_config__nccl_data.json.gz"
COMMIT = "171dd74721ca1ec45709e5805b68ae1f65e27811"
TRACELENS = f"TraceLens @ git+https://github.com/AMD-AGI/TraceLens@{COMMIT}"
RANKS, LATER_US, EARLIER_US = 4, 20, 2
ASK = """
import json, sys
from TraceLens import NcclAnalyser
analyser = NcclAnalyser(sys.argv[1:], len(sys.argv) - 1)
print("ANSWER", json.dumps({"all": len(analyser.build_df_long()), "rows": json.loads(analyser.build_df_nccl_implicit_sync_cat().to_json(orient="records"))}))
"""
MIB, GIB = 1 << 20, 1 << 30


@unittest.skipUnless(PROFILE.exists(), f"without {PROFILE}")
class Collectives(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        temporary = tempfile.TemporaryDirectory()
        cls.addClassCleanup(temporary.cleanup)
        cls.files = [pathlib.Path(temporary.name) / f"rank{rank}.json" for rank in range(RANKS)]
        for rank, file in enumerate(cls.files):
            cls.write(rank, file)
        cls.out = pathlib.Path(temporary.name) / "job.xsp"
        xsp("import", *cls.files, "-o", cls.out)

    @staticmethod
    def write(rank, file):
        profile = json.load(gzip.open(PROFILE))
        profile["distributedInfo"].update(rank=rank, world_size=RANKS)
        for event in profile["traceEvents"]:
            if event.get("cat") != "kernel" or not event["name"].startswith("nccl"):
                continue
            event["args"].update({"Group size": RANKS, "Process Group Ranks": str([*range(RANKS)])})
            if "AllReduce" in event["name"]:
                event["ts"] = round(event["ts"] + rank * LATER_US, 3)
                event["dur"] = round(event["dur"] - rank * (LATER_US + EARLIER_US), 3)
        file.write_text(json.dumps(profile))

    def theirs(self):
        """By size class, sums over collectives."""
        printed = subprocess.run([framework_python(f"tracelens-{COMMIT[:8]}", TRACELENS), "-c", ASK, *self.files], check=True, timeout=900,
                                 stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True).stdout
        answer = json.loads(next(line for line in printed.splitlines() if line.startswith("ANSWER"))[7:])
        sums = collections.defaultdict(collections.Counter)
        for row in answer["rows"]:
            size = round(row["In msg size (MB)"] * MIB)
            sums[size.bit_length()].update(
                count=RANKS, bytes=RANKS * size, waiting_ms=RANKS * row["avg_wait_time"] / 1e3,
                transfer_ms=RANKS * (row["comm_latency"] + row["skew in end time"] / 2) / 1e3,
                bus_bytes=RANKS * row["bus bw (GB/s)"] * GIB * row["comm_latency"] / 1e6)
            self.assertEqual(row["Collective name"], "allreduce")
        return answer["all"], sums

    def test_equal_to_tracelens(self):
        count, theirs = self.theirs()
        rows = xsp_json("analyze", "A24", self.out, "--stat", "mean", "--json")["rows"]
        self.assertEqual(sum(row["count"] for row in rows), count)
        ours = {round(row["bytes"]).bit_length(): row for row in rows if row["collective"] == "AllReduce"}
        self.assertEqual(ours.keys(), theirs.keys())
        for size, row in ours.items():
            sums = theirs[size]
            self.assertEqual((row["count"], round(row["bytes"] * row["count"])), (sums["count"], sums["bytes"]))
            for key in ("waiting_ms", "transfer_ms"):
                self.assertAlmostEqual(row[key], sums[key] / sums["count"], delta=2e-6, msg=key)  # times are whole nanoseconds here
            self.assertAlmostEqual(row["bus_bandwidth_bytes_per_s"] / (sums["bus_bytes"] / sums["transfer_ms"] * 1e3), 1, delta=1e-5)
            print(f"{row['count']} of {row['bytes']:.0f} bytes: waiting {row['waiting_ms']:.3f} ms, transfer {row['transfer_ms']:.3f} ms")


if __name__ == "__main__":
    unittest.main()
