# SPDX-License-Identifier: Apache-2.0
"""What is recorded of calls of MPI: kinds, bytes, groups and numbers, in two processes of a program that is linked against a library which
does nothing. tests/frameworks/mpi/long_mpi.py runs real ones."""
import os
import pathlib
import subprocess
import tempfile
import unittest

from run_programs import COMPILER, SANITIZED, WAIT_S, XSP, sql

SOURCE = pathlib.Path(__file__).resolve().parent / "mpi_stand_in.c"
TAGS = """
    select t.rank, s.name, k.value as kind, g.value as ranks, n.value as number, b.value as bytes
    from span s join track t using (run_id, track_id) join tag k on k.run_id = s.run_id and k.span_id = s.span_id and k.key = 'collective'
    left join tag g on g.run_id = s.run_id and g.span_id = s.span_id and g.key = 'group'
    left join tag n on n.run_id = s.run_id and n.span_id = s.span_id and n.key = 'sequence'
    left join tag b on b.run_id = s.run_id and b.span_id = s.span_id and b.key = 'bytes'
    where s.category = 'collective' order by t.rank, n.value, s.name"""


@unittest.skipIf(COMPILER is None or SANITIZED, "no C compiler, or preloading sanitized libraries")
class Mpi(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        temporary = tempfile.TemporaryDirectory()
        cls.addClassCleanup(temporary.cleanup)
        folder = pathlib.Path(temporary.name)
        cls.folder, cls.file = folder, folder / "out.xsp"
        cls.program = cls.build("libmpi.so", "program")
        job = f"for rank in 0 1; do PMI_SIZE=2 PMI_RANK=$rank {cls.program} || exit 1; done"
        done = subprocess.run([XSP, "run", "-q", "-o", cls.file, "--", "sh", "-c", job], capture_output=True, text=True, timeout=WAIT_S)
        assert done.returncode == 0, done.stderr
        cls.out = done.stdout
        cls.rows = sql(cls.file, TAGS)

    @classmethod
    def build(cls, library, program):
        subprocess.run([COMPILER, "-shared", "-fPIC", SOURCE, "-o", cls.folder / library], check=True)
        subprocess.run([COMPILER, "-DPROGRAM", SOURCE, "-o", cls.folder / program, cls.folder / library], check=True)
        return cls.folder / program

    def of_rank(self, rank):
        return [(row["name"], row["kind"], row["ranks"], row["number"], row["bytes"]) for row in self.rows if row["rank"] == rank]

    def test_the_program_does_the_same(self):
        alone = subprocess.run([self.program], capture_output=True, text=True, check=True, timeout=WAIT_S,
                               env={**os.environ, "PMI_SIZE": "2", "PMI_RANK": "0"}).stdout
        self.assertEqual(alone, "0 0 2 1\n")
        self.assertEqual(self.out, 2 * alone)

    def test_kinds_bytes_groups_and_numbers(self):
        world = [("MPI_Barrier", "barrier", 0), *3 * [("MPI_Allreduce", "all_reduce", 80)], ("MPI_Bcast", "broadcast", 28),
                 ("MPI_Reduce_scatter", "reduce_scatter", 32), ("MPI_Allgather", "all_gather", 32), ("MPI_Scatter", "scatter", 48),
                 ("MPI_Alltoallv", "all_to_all", 32), ("MPI_Iallreduce", "all_reduce", 88), ("MPI_Iallreduce", "all_reduce", 96),
                 ("MPI_Gather", "gather", 8), ("MPI_Gather", "gather", 8), ("MPI_Reduce_scatter", "reduce_scatter", None), ("MPI_Allreduce", "all_reduce", 104)]
        for rank in (0, 1):
            found = self.of_rank(rank)
            numbered = [(name, kind, "0-1", number, size) for number, (name, kind, size) in enumerate(world, 1)]
            self.assertEqual([row for row in found if row[2] == "0-1" and row[3] is not None], numbered)
            self.assertEqual([row for row in found if row[3] is None and row[4] != 8 or row[0] in ("MPI_Send", "MPI_Recv")],
                             [("MPI_Mprobe", "recv", "0-1", None, None), ("MPI_Recv", "recv", "0-1", None, 8), ("MPI_Send", "send", "0-1", None, 8),
                              *[("MPI_Send", "send", "0-1", None, 12)] * (rank == 0), ("MPI_Sendrecv_replace", "send", "0-1", None, 20)])
            self.assertEqual([row for row in found if row[2] != "0-1"],
                             [("MPI_Barrier", "barrier", f"0-1 #{group}", number, 0) for group, number in ((2, 1), (3, 1), (2, 2))])

    def test_what_is_waited_for_ends_with_the_wait(self):
        """The second one with its second test; the first one found nothing."""
        ends = ("select s.span_id from span s where s.name = 'MPI_Iallreduce' and (select count(*) from span w where w.name in ('MPI_Wait', 'MPI_Test') and"
                " w.run_id = s.run_id and w.start_ns >= s.start_ns and w.start_ns + w.duration_ns <= s.start_ns + s.duration_ns)")
        waits = sql(self.file, "select name, count(*) as times from span where category is null and tracer = 'mpi' group by name order by name")
        self.assertEqual([(row["name"], row["times"]) for row in waits], [("MPI_Test", 2), ("MPI_Wait", 4), ("MPI_Waitall", 2)])
        self.assertEqual(len(sql(self.file, ends)), 4)

    def test_many_requests_of_which_some_share_a_handle(self):
        """Requests that were freed, or ended elsewhere, are not taken for later ones of their handles."""
        for rank in (0, 1):
            found = [(name, size) for name, _, _, number, size in self.of_rank(rank) if number is None and name.startswith("MPI_I")]
            self.assertEqual(sorted(found), [("MPI_Ibsend", 8), *[("MPI_Irecv", 8)] * 78, ("MPI_Irsend", 8), ("MPI_Isend", 8)])

    def test_the_standard_interface_is_not_traced(self):
        """Its handles are pointers, whatever the version says."""
        out = self.folder / "standard.xsp"
        done = subprocess.run([XSP, "run", "-o", out, "--", self.build("libmpi_abi.so.1", "standard")], capture_output=True, text=True,
                              timeout=WAIT_S, env={**os.environ, "PMI_SIZE": "2", "PMI_RANK": "0"})
        self.assertIn("this MPI is neither MPICH", done.stderr)
        self.assertEqual((done.stdout, sql(out, TAGS)), ("0 0 2 1\n", []))


if __name__ == "__main__":
    unittest.main()
