# SPDX-License-Identifier: Apache-2.0
"""Call paths of a real program (examples/call_paths.c) in the file: by xsp run, by xsp recover, exported."""
import os
import pathlib
import sqlite3
import subprocess
import unittest

from scripted import BUILD, temporary_folder, xsp, xsp_json

PROGRAM = BUILD / "examples/call_paths"
PRELOADS = unittest.skipIf(os.environ.get("XSP_SANITIZE"), "the sanitizer's runtime must come before libxsp.so")
# The program's paths as a person reads them from its source; each operator runs in each of three steps.
PATHS = {"<module> train.py:12 > forward net.py:40 > conv": 3, "<module> train.py:12 > forward net.py:40 > add": 3,
         "<module> train.py:12 > add": 3}
ASK = """with recursive path(context_id, text) as (
           select context_id, ifnull(name, '') || ifnull(' ' || file || ':' || line, '')
             from context join frame using (frame_id) where parent_id is null
           union all
           select c.context_id, path.text || ' > ' || ifnull(name, '') || ifnull(' ' || file || ':' || line, '')
             from path join context c on c.parent_id = path.context_id join frame f on f.frame_id = c.frame_id)
         select text, count(*) as n from span join path using (context_id) group by 1"""


class CallPaths(unittest.TestCase):
    def setUp(self):
        temporary = temporary_folder()
        self.addCleanup(temporary.cleanup)
        self.folder = pathlib.Path(temporary.name)
        self.out = self.folder / "out.xsp"

    def check(self, times):
        rows = xsp_json("sql", self.out, ASK, "--json")
        self.assertEqual({row["text"]: row["n"] for row in rows}, {path: n * times for path, n in PATHS.items()})
        self.assertEqual(xsp_json("sql", self.out, "select count(*) as n from context", "--json"), [{"n": 5}])

    @PRELOADS
    def test_processes_share_paths(self):
        xsp("run", "--sample-rate", "0", "-o", self.out, "--", "sh", "-c", f"{PROGRAM}; {PROGRAM}", check=0)
        self.check(times=2)
        kinds = xsp_json("sql", self.out, "select name, kind from frame order by frame_id", "--json")
        self.assertEqual([tuple(row.values()) for row in kinds],
                         [("<module>", "python"), ("forward", "python"), ("conv", "framework"), ("add", "framework")])

    def test_recovered(self):
        subprocess.run([PROGRAM], check=True, env={**os.environ, "XSP_SESSION": str(self.folder / "session")})
        xsp("recover", self.folder / "session", "-o", self.out, check=0)
        self.check(times=1)
        self.assertEqual(xsp_json("sql", self.out, "select misused_count + dropped_count as n from run", "--json"),
                         [{"n": 0}])

    @PRELOADS
    def test_exported_to_sqlite(self):
        xsp("run", "--sample-rate", "0", "-o", self.out, "--", PROGRAM, check=0)
        xsp("export", self.out, "--to", "sqlite", "-o", self.folder / "out.db", check=0)
        data = sqlite3.connect(self.folder / "out.db")
        self.assertEqual(dict(data.execute(ASK).fetchall()), PATHS)
        data.close()

    @PRELOADS
    def test_native_functions_have_names(self):
        xsp("run", "--sample-rate", "0", "-o", self.out, "--", BUILD / "test-programs" / "native_frames", check=0)
        rows = xsp_json("sql", self.out, ASK + " having text like '%inner%'", "--json")
        self.assertEqual([row["n"] for row in rows], [1])
        frames = [frame.rpartition("/") for frame in rows[0]["text"].split(" > ")]
        self.assertEqual([(folder.split()[0] if folder else "", line) for folder, _, line in frames[-3:]],
                         [("main", "native_frames.c:300"), ("between", "native_frames.c:200"), ("inner", "native_frames.c:100")])
        self.assertIn(" > between (inlined in outer) ", rows[0]["text"])
        self.assertEqual(xsp_json("sql", self.out, "select distinct kind from frame", "--json"), [{"kind": "native"}])


if __name__ == "__main__":
    unittest.main()
