# SPDX-License-Identifier: Apache-2.0
"""A job of two ranks in two network namespaces with names of their own, as on two hosts, over a link that tc makes slow. Each host records its
rank; the second starts once the first waits for it. What xsp finds is compared with the program's own clock, which both share here."""
import json
import os
import pathlib
import re
import shutil
import subprocess
import tempfile
import unittest

import torch_environment
from scripted import XSP, xsp, xsp_json

PROGRAM = pathlib.Path(__file__).resolve().parent / "network_program.py"
STEPS, SLEEP_S, FLOATS = 40, 0.03, 25000
BITS_PER_S, BURST_BYTES = 80_000_000, 4096
DELAY_MS = 5
# The last to arrive gets half of the sums over the link, once the other has its half.
TRANSFER_LEAST_MS = (4 * FLOATS / 2 - BURST_BYTES) * 8 / BITS_PER_S * 1e3


def ip(*arguments):
    return subprocess.run(["ip", *arguments], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


@unittest.skipIf(os.environ.get("XSP_SANITIZE"), "an ordinary Python")
class Network(unittest.TestCase):
    is_slow, bits_per_s = True, BITS_PER_S

    @classmethod
    def setUpClass(cls):
        cls.namespaces = [f"xsp{os.getpid()}-{rank}" for rank in (0, 1)]
        if os.geteuid() != 0 or not all(map(shutil.which, ("ip", "tc", "unshare"))):
            raise unittest.SkipTest("network namespaces and tc need root, ip, tc and unshare")
        cls.python = torch_environment.torch_python()
        folder = tempfile.TemporaryDirectory()
        cls.addClassCleanup(folder.cleanup)
        cls.folder = pathlib.Path(folder.name)
        cls.connect()

    @classmethod
    def connect(cls):
        for name in cls.namespaces:
            made = ip("netns", "add", name)
            if made.returncode != 0:
                raise unittest.SkipTest(f"no network namespaces here: {made.stderr.strip()}")
            cls.addClassCleanup(ip, "netns", "delete", name)  # and the link with it
        made = ip("link", "add", "veth0", "netns", cls.namespaces[0], "type", "veth", "peer", "name", "veth0", "netns", cls.namespaces[1])
        assert made.returncode == 0, made.stderr
        for rank, name in enumerate(cls.namespaces):
            for command in (["addr", "add", f"10.77.39.{rank + 1}/24", "dev", "veth0"], ["link", "set", "veth0", "up"], ["link", "set", "lo", "up"]):
                assert ip("-n", name, *command).returncode == 0, command
            shaped = not cls.is_slow or cls.shape(name, "root", "handle", "1:", "tbf", "rate", str(cls.bits_per_s), "burst", str(BURST_BYTES), "latency", "400ms")
            if not shaped:
                raise unittest.SkipTest("this kernel has no tbf for tc")
        cls.has_delay = cls.is_slow and cls.shape(cls.namespaces[0], "parent", "1:1", "netem", "delay", f"{DELAY_MS}ms")  # one way; not in every kernel

    @staticmethod
    def shape(namespace, *how):
        return subprocess.run(["tc", "-n", namespace, "qdisc", "add", "dev", "veth0", *how], stderr=subprocess.DEVNULL).returncode == 0


class TwoHosts(Network):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        processes = []
        for rank in (0, 1):
            processes.append(cls.start(rank, cls.python))
            processes[rank].stdout.readline()  # "ready": the other starts later
        for process in processes:
            process.communicate(timeout=600)
        assert [process.returncode for process in processes] == [0, 0]
        cls.job = cls.folder / "job.xsp"
        xsp("merge", cls.folder / "0.xsp", cls.folder / "1.xsp", "-o", cls.job)
        cls.truth = [json.loads((cls.folder / f"{rank}.json").read_text()) for rank in (0, 1)]

    @classmethod
    def start(cls, rank, python):
        named = f'echo host{rank} >/proc/sys/kernel/hostname && exec "$@"'
        program = [python, PROGRAM, rank, "10.77.39.1", STEPS, SLEEP_S, FLOATS, cls.folder]
        return subprocess.Popen(["ip", "netns", "exec", cls.namespaces[rank], "unshare", "--uts", "sh", "-c", named, "sh", XSP, "run", "-q", "-o",
                                 cls.folder / f"{rank}.xsp", "--", *map(str, program)], stdout=subprocess.PIPE, text=True)

    def test_both_hosts_are_one_job(self):
        rows = xsp_json("analyze", "A21", self.job, "--json")["rows"]
        self.assertEqual([(row["rank"], row["host"], row["steps"]) for row in rows],
                         [("0", "host0", STEPS), ("1", "host1", STEPS), ("all", None, 2 * STEPS)])

    def test_the_rank_that_sleeps_is_the_slow_one(self):
        summary = xsp_json("analyze", "A21", self.job, "--json")["summary"]
        self.assertEqual((summary["slowest_rank"], summary["verdict"]), (1, "slower"))

    def test_waiting_is_right_within_what_is_said_of_the_clocks(self):
        notes = "\n".join(xsp_json("analyze", "A21", self.job, "--json")["notes"])
        error_ms = float(re.search(r"clocks of 1 ranks .* within ± ([0-9.e+-]+) ms", notes)[1])
        row = next(row for row in xsp_json("analyze", "A24", self.job, "--stat", "mean", "--json")["rows"] if row["collective"] == "all_reduce")
        waiting_ms = [abs(first[0] - second[0]) / 1e6 for first, second in zip(*self.truth)]
        mean_ms = sum(waiting_ms) / STEPS / 2  # of each pair one waits
        print(f"waiting: {row['waiting_ms']:.3f} ms, by the program {mean_ms:.3f} ms; clocks within {error_ms} ms")
        self.assertLessEqual(abs(row["waiting_ms"] - mean_ms), error_ms + mean_ms / 10)

    def test_a_transfer_takes_what_the_link_allows(self):
        latencies = xsp_json("sql", self.job, "select p.start_ns as start_ns, s.start_ns + s.duration_ns as end_ns from span s join span p on"
                             " p.run_id = s.run_id and p.span_id = s.parent_id where s.name = 'gloo:all_reduce'", "--json")
        shortest_ms = min(row["end_ns"] - row["start_ns"] for row in latencies) / 1e6
        print(f"shortest: {shortest_ms:.3f} ms; the link needs {TRANSFER_LEAST_MS:.3f} ms, and {DELAY_MS * self.has_delay} ms of delay")
        self.assertEqual(len(latencies), 2 * STEPS)
        self.assertGreaterEqual(shortest_ms, TRANSFER_LEAST_MS + DELAY_MS * self.has_delay)


class SlowLink(Network):
    """Three pairs of ranks; one rank is on the other host. Over its link 1 MB takes 0.8 s: more than a busy machine takes for the other pairs."""
    bits_per_s = 10_000_000
    PROGRAM, STEPS, FLOATS = PROGRAM.parent / "slow_link_program.py", 20, 250_000

    def findings(self):
        out = self.folder / "pairs.xsp"
        ranks = [f"ip netns exec {self.namespaces[rank == 3]} {self.python} {self.PROGRAM} {rank} {self.STEPS} {self.FLOATS}" for rank in range(6)]
        xsp("run", "-q", "-o", out, "--", "sh", "-c", "".join(f"{command} & " for command in ranks) + "wait")
        rows = xsp_json("analyze", "findings", out, "--min-gain", "0", "--json")["rows"]
        return [row for row in rows if row["id"] == "F55"]

    def test_the_pair_over_the_slow_link(self):
        [found] = self.findings()
        print(found["title"])
        self.assertIn("all_reduce between ranks 2, 3", found["title"])
        self.assertEqual((found["numbers"]["groups"], found["numbers"]["bytes"]), (3, 4 * self.FLOATS))


class FastLink(SlowLink):
    is_slow = False

    def test_the_pair_over_the_slow_link(self):
        self.assertEqual(self.findings(), [])


if __name__ == "__main__":
    unittest.main()
