# SPDX-License-Identifier: Apache-2.0
"""A profile of XLA against the tables that xprof makes of it: kernels of all devices, and the host's operations."""
import json
import pathlib
import shutil
import subprocess
import unittest

from framework_environment import framework_python
from imported import real_file
from scripted import temporary_folder, xsp, xsp_json

TABLE = ("import sys; from xprof.convert import raw_to_tool_data as tables;"
         " table = tables.xspace_to_tool_data([sys.argv[1]], sys.argv[2], {})[0];"
         " sys.stdout.write(table if isinstance(table, str) else table.decode())")


class Xprof(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        trace = real_file("xplane", "xprof__demo_GPU-multi-worker.xplane.pb")
        cls.python = framework_python("xprof-2.24.2", "xprof==2.24.2")
        folder = temporary_folder()
        cls.addClassCleanup(folder.cleanup)
        cls.trace, cls.out = (pathlib.Path(folder.name) / name for name in ("demo.xplane.pb", "demo.xsp"))
        shutil.copyfile(trace, cls.trace)  # xprof writes next to it
        xsp("import", cls.trace, "-o", cls.out)

    def table(self, tool):
        done = subprocess.run([self.python, "-c", TABLE, self.trace, tool], capture_output=True, text=True, timeout=600)
        self.assertEqual(done.returncode, 0, done.stderr)
        found = json.loads(done.stdout)
        found = found[0] if isinstance(found, list) else found  # framework_op_stats: with and without idle time
        keys = [column["id"] for column in found["cols"]]
        return [dict(zip(keys, (cell["v"] for cell in row["c"]))) for row in found["rows"]]

    def spans(self, level, which):
        rows = xsp_json("sql", self.out, f"select name, count(*) as n, sum(duration_ns) as ns from span where level = '{level}'"
                        f" and {which} group by name", "--json")
        return {row["name"]: (row["n"], row["ns"]) for row in rows}

    def test_kernels(self):
        theirs = {}
        for row in self.table("kernel_stats"):
            count, ns = theirs.get(row["kernel_name"], (0, 0))
            theirs[row["kernel_name"]] = count + row["occurrences"], ns + round(row["total_duration_us"] * 1000)
        self.assertEqual(sum(count for count, _ in theirs.values()), 1330)
        self.assertEqual(self.spans("kernel", "category = 'kernel'"), theirs)

    def test_operations_of_the_host(self):
        """The 500 with most time. Their times only: xprof counts most of those that the file has once twice."""
        ours = self.spans("layer", "true")
        theirs = {(row["operation"], row["type"]): round(row["total_time"] * 1000) for row in self.table("framework_op_stats")
                  if row["host_or_device"] == "Host" and row["type"] not in ("IDLE", "Dataset")}
        self.assertEqual(len(theirs), 497)
        self.assertEqual({key: ours[":".join(key)][1] for key in theirs}, theirs)


if __name__ == "__main__":
    unittest.main()
