# SPDX-License-Identifier: Apache-2.0
"""Jobs of MPICH and Open MPI, by C and by mpi4py: a rank that the others wait for is named; counts, bytes, groups and numbers are exact."""
import collections
import os
import pathlib
import shutil
import statistics
import subprocess
import sys
import tempfile
import unittest

from scripted import XSP, xsp_json

HERE = pathlib.Path(__file__).resolve().parent
STEPS, SLEEPS_MS, RANKS = 40, (20, 100, 500), 4
ROOT = {"OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1"}
MANY = 40
EXCHANGED = ((800, 3 * STEPS), (8, MANY))
# By rank: its kind, group and bytes, and how often. The groups are of even and of odd ranks, and copies of all.
EXPECTED = sorted((rank, *row) for rank in range(RANKS) for row in (
    ("all_reduce", "0-3", 8000, STEPS), ("broadcast", "0,2" if rank % 2 == 0 else "1,3", 28, STEPS), ("barrier", "0-3 #2", 0, 1), ("barrier", "0-3 #3", 0, 1),
    *((kind, "0-3", size, times) for kind in ("recv", "send") for size, times in EXCHANGED),
    *([("send", "0-3", 4, 1)] if rank == 0 else []), *([("recv", "0-3", -1, 1)] if rank == 1 else [])))
TAGS = """
    select rank, kind, ranks, ifnull(cast(bytes as int), -1) as bytes, count(*) as times, count(distinct number) as numbers from (
      select t.rank, max(case when g.key = 'collective' then g.value end) as kind, max(case when g.key = 'group' then g.value end) as ranks,
        max(case when g.key = 'bytes' then g.value end) as bytes, max(case when g.key = 'sequence' then g.value end) as number
      from span s join track t using (run_id, track_id) join tag g using (run_id, span_id) where s.category = 'collective' group by s.span_id)
    group by 1, 2, 3, 4 order by 1, 2"""


@unittest.skipIf(os.environ.get("XSP_SANITIZE"), "ordinary programs")
class Job:
    kind = None  # "mpich", "openmpi"

    @classmethod
    def setUpClass(cls):
        cls.compiler, cls.start = (shutil.which(f"{tool}.{cls.kind}") for tool in ("mpicc", "mpiexec"))
        if cls.compiler is None or cls.start is None:
            raise unittest.SkipTest(f"no mpicc.{cls.kind} and mpiexec.{cls.kind}: apt-get install mpich libmpich-dev openmpi-bin libopenmpi-dev")
        temporary = tempfile.TemporaryDirectory()
        cls.addClassCleanup(temporary.cleanup)
        cls.folder = pathlib.Path(temporary.name)

    def record(self, *program, **environment):
        out = self.folder / f"{self._testMethodName}.xsp"
        options = ["--oversubscribe"] if self.kind == "openmpi" else []
        for sleep_ms in SLEEPS_MS:
            subprocess.run([XSP, "run", "-qf", "-o", out, "--", self.start, *options, "-n", str(RANKS), *program, str(sleep_ms)], check=True,
                           timeout=600, env={**os.environ, **ROOT, **environment}, stdout=subprocess.DEVNULL)
            if self.is_longer(sleep_ms, out):
                break
        return out

    def is_longer(self, sleep_ms, out):
        """Than what a busy machine takes from ranks that do not sleep: they compute a millisecond. A21 leaves out less than 5 % of a step."""
        rows = [row for row in xsp_json("analyze", "A27", out, "--json")["rows"] if row["rank"] != 1]
        alone_ms = statistics.mean(row["step_ms"] - row["exposed_ms"] for row in rows)
        step_ms = statistics.mean(row["step_ms"] for row in rows)
        print(f"a sleep of {sleep_ms} ms; the others: {alone_ms:.1f} ms outside of communication, of {step_ms:.1f} ms")
        return alone_ms < sleep_ms / 4 and step_ms < 10 * sleep_ms

    def check(self, out):
        rows = xsp_json("sql", out, TAGS, "--json")
        self.assertEqual(sorted((row["rank"], row["kind"], row["ranks"], row["bytes"], row["times"]) for row in rows), EXPECTED)
        self.assertEqual([row for row in rows if row["numbers"] != (0 if row["kind"] in ("send", "recv") else row["times"])], [])
        ranks = xsp_json("analyze", "A21", out, "--json")
        self.assertEqual((ranks["summary"]["slowest_rank"], ranks["summary"]["verdict"]), (1, "slower"))
        self.assertEqual([row["given_bytes"] for row in ranks["rows"]], [8000 + 28 + 3 * 800] * (RANKS + 1))  # of a receive nothing is given
        collectives = xsp_json("analyze", "A24", out, "--json")["rows"]
        counts = collections.Counter()
        for _, kind, group, size, times in EXPECTED:
            counts[kind, group, max(size, 0)] += times
        self.assertEqual({(row["collective"], row["group"], row["bytes"] or 0): row["count"] for row in collectives}, counts)
        return collectives

    def test_a_program_in_c(self):
        program = self.folder / "program"
        subprocess.run([self.compiler, "-O2", "-w", "-g", HERE / "ranks_program.c", "-o", program], check=True)
        self.check(self.record(program))

    def test_mpi4py(self):
        library = {"mpich": "libmpich.so.12", "openmpi": "libmpi.so.40"}[self.kind]
        python = self.folder / "venv/bin/python3"
        made = subprocess.run([sys.executable, "-m", "venv", python.parents[1]], capture_output=True)
        if made.returncode == 0:
            made = subprocess.run([python, "-m", "pip", "install", "-q", "mpi4py==4.1.2", "numpy"], capture_output=True, text=True)
        if made.returncode != 0:
            self.skipTest("mpi4py 4.1.2 cannot be installed here")
        libraries = self.folder / "libraries"  # wheels of mpi4py look for MPICH by the name that its own build gives it
        libraries.mkdir()
        file = next((path for path in pathlib.Path("/usr/lib").glob(f"*/{library}")), None)
        if file is not None:
            (libraries / ("libmpi.so.12" if self.kind == "mpich" else library)).symlink_to(file)
        out = self.record(python, HERE / "ranks_program.py", MPI4PY_MPIABI=self.kind,
                          LD_LIBRARY_PATH=f"{libraries}:{os.environ.get('LD_LIBRARY_PATH', '')}")
        line = next(i for i, text in enumerate((HERE / "ranks_program.py").read_text().splitlines(), 1) if text.endswith("# line reduce"))
        [reduced] = [row for row in self.check(out) if row["collective"] == "all_reduce"]
        self.assertEqual((pathlib.Path(reduced["file"]).name, reduced["line"]), ("ranks_program.py", line))


class Mpich(Job, unittest.TestCase):
    kind = "mpich"


class OpenMpi(Job, unittest.TestCase):
    kind = "openmpi"


if __name__ == "__main__":
    unittest.main()
