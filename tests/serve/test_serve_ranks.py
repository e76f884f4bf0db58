# SPDX-License-Identifier: Apache-2.0
"""A job of four ranks that xsp run publishes to an xsp serve: A21 and the live page show its ranks while it runs, also one that is killed,
one that hangs and one that starts later."""
import json
import os
import pathlib
import unittest

from published_run import PublishedRun
from server import files, wait_for
from test_live import LiveTest

# 10 steps of ranks 0 to 2, in whose last collective rank 2 is killed; 10 of 0, 1 and 3; 10 without rank 1, which hangs.
PROGRAM = """
import os, subprocess, sys
RANK = '''
import sys, xsp
print("ready", flush=True)
sys.stdin.readline()
for number in range(1, 31):
    with xsp.span("training step", level="model"):
        with xsp.span("compute", level="layer"):
            pass
        with xsp.span("box:all_reduce", level="library", category="collective"):
            xsp.tag("sequence", number)
            print("arrived", flush=True)
            if not sys.stdin.readline():
                sys.exit()
'''
ranks = {}
def start(rank):
    ranks[rank] = subprocess.Popen([sys.executable, "-c", RANK], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
                                   env={**os.environ, "RANK": str(rank), "WORLD_SIZE": "4"})
def arrive(*members):
    for rank in members:
        ranks[rank].stdout.readline()
def leave(*members):
    for rank in members:
        ranks[rank].stdin.write("\\n")
        ranks[rank].stdin.flush()
def steps(count, *members):
    for _ in range(count):
        arrive(*members)
        leave(*members)
for rank in range(3):
    start(rank)
arrive(0, 1, 2)
leave(0)
arrive(0)  # in its first step, which the others' follow: it is not one that came later
leave(1, 2)
arrive(1, 2)
leave(0, 1, 2)
steps(9, 0, 1, 2)
ranks[2].stdout.readline()
ranks[2].kill()
ranks[2].wait()
start(3)
steps(1, 3)
steps(10, 0, 1, 3)
steps(9, 0, 3)
arrive(0, 3)
leave(0)
ranks[0].wait()  # its last step has ended: that of rank 3 ends no earlier
leave(3)
sys.stdin.readline()
for rank in (0, 1, 3):
    ranks[rank].communicate()
"""


@unittest.skipIf(os.environ.get("XSP_SANITIZE"), "an instrumented libxsp.so cannot be preloaded into programs")
class Ranks(PublishedRun, LiveTest):
    program = PROGRAM

    def setUp(self):
        super().setUp()
        self.place_runs(self.folder.parent)

    def answer(self, server):
        """A21 of the newest file, or nothing yet."""
        made = files(self.folder) if self.folder.exists() else []
        if not made:
            return None
        status, _, body = server.ask(None, path=f"/api/v1/files/{made[-1].name}/analyses/A21", method="GET")
        return json.loads(body) if status == 200 else None

    def shown_ranks(self, server):
        """Of A21 the steps of each rank, once all are there."""
        def all_steps():
            answer = self.answer(server)
            return answer if answer and answer["rows"][-1]["steps"] == 80 else None
        return wait_for(all_steps, "80 steps")["rows"][:-1]

    def test_ranks_of_a_running_job(self):
        server = self.server()
        process = self.start(server.about["url"])
        rows = self.shown_ranks(server)
        self.assertIsNone(process.poll())
        self.assertEqual([(row["rank"], row["steps"]) for row in rows], [("0", 30), ("1", 20), ("2", 10), ("3", 20)])
        self.assertIsNone(rows[0]["state"])
        self.assertRegex(rows[1]["state"], "^10 steps fewer, ")  # on a busy machine its start may be later than its end is early
        self.assertRegex(rows[2]["state"], "^20 steps fewer, ")
        self.assertRegex(rows[3]["state"], "^10 steps fewer, started .* later")
        document, _ = self.shown(server, lambda document: document["runs"] and len(document["runs"][0]["lanes"]) == 4)
        self.assertEqual({lane["role"] for lane in document["runs"][0]["lanes"]}, {f"rank {rank}" for rank in range(4)})
        self.ended(process)


if __name__ == "__main__":
    unittest.main()
