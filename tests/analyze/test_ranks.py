# SPDX-License-Identifier: Apache-2.0
"""A21, A24 and F31: ranks of a job, against scripted traces whose figures are computed by hand."""
import pathlib
import unittest

from scripted import Script, UNIX_START, temporary_folder, xsp, xsp_json

MS = 1_000_000
STEPS = 10


class RanksTest(unittest.TestCase):
    def setUp(self):
        folder = temporary_folder()
        self.addCleanup(folder.cleanup)
        self.file = pathlib.Path(folder.name) / "trace.xsp"
        self.trace = Script()
        self.trace.experiment()
        self.ahead = 0  # ms, of the next spans' clock

    def rank(self, rank, run=1, ranks=2, host="box"):
        """Its main thread and that of its backend."""
        for track in (0, 1):
            self.trace.track(2 * rank + track + 1, host=host, process=100 + rank, thread=1000 + 10 * rank + track, run_id=run,
                             rank=rank, world_size=ranks)

    def at(self, rank, name, start, end, level="layer", worker=False, run=1, **options):
        return self.trace.span(name, UNIX_START + round((start + self.ahead) * MS), round((end - start) * MS), level, track=2 * rank + worker + 1,
                               run_id=run, **options)

    def collective(self, rank, start, end, number, name="all_reduce", run=1, size=4096, group="0", context=None,
                   starts=None, start_ms=1):
        """Started in 1 ms; it runs from then on. `starts`: what the program called, where it is another kind."""
        parent = self.at(rank, f"c10d::{starts or name}", start, start + start_ms, run=run)
        tags = {"bytes": size, "group": group, **({"sequence": number} if number is not None else {})}
        self.at(rank, f"gloo:{name}", start + start_ms, end, "library", True, run, parent=parent, category="collective", tags=tags,
                context=context)

    def step(self, rank, number, computes, run=1, numbered=True, context=None, batch=8, samples=None, signature=None):
        """100 ms: computes, then reduces what all ranks have until 95."""
        start = 100 * number
        self.at(rank, "training step", start, start + 100, "model", run=run,
                tags={"batch_size": batch, **({"step_samples": samples[rank]} if samples else {}),
                      **({"signature": signature} if signature else {})})
        self.at(rank, "aten::mm", start, start + computes, run=run)
        self.collective(rank, start + computes, start + 95, number + 1 if numbered else None, run=run, context=context)

    def job(self, steps=STEPS, **options):
        self.trace.run(1, "A/M/L/Lib", batch=None)
        for rank, computes in enumerate((40, 80)):
            self.rank(rank)
            for step in range(steps):
                self.step(rank, step, computes, **options)

    def ask(self, analysis, *options):
        self.trace.write(self.file)
        return xsp_json("analyze", analysis, self.file, "--json", *options)

    def assert_two_ranks(self, answer):
        keys = ("rank", "steps", "step_ms", "own_ms", "compute_ms", "communication_ms", "exposed_ms", "waiting_ms")
        self.assertEqual([tuple(row[key] for key in keys) for row in answer["rows"]],
                         [("0", STEPS, 100, 60, 40, 55, 55, 40), ("1", STEPS, 100, 100, 80, 15, 15, 0),
                          ("all", 2 * STEPS, 100, 80, 60, 35, 35, 20)])
        self.assertEqual(answer["summary"], {"slowest_rank": 1, "slowest_pct_of_steps": 100, "difference_ms": 40,
                                             "difference_low_ms": 40, "difference_high_ms": 40, "balance_pct": 65 / 85 * 100,
                                             "verdict": "slower"})

    def test_a_rank_that_the_other_waits_for(self):
        self.job()
        self.assert_two_ranks(self.ask("A21"))
        [straggler] = [row for row in self.ask("findings")["rows"] if row["id"] == "F31"]
        self.assertEqual(straggler["time_ms"], 85)  # without communication, of which 15 ms are the transfer

    def mpi(self, sent=()):
        """No steps: each rank is 20 times in an all-reduce, 10 ms apart, which the second one comes to 4 ms before the end, the first one 8."""
        self.trace.run(1, "A/M/L/Lib", batch=None)
        self.trace.track(9, process=9, thread=9)
        self.trace.span("mpiexec", UNIX_START, 300 * MS, "application", track=9, category="program", tracer="xsp")
        for rank, length in enumerate((8, 4)):
            self.rank(rank)
            for i in range(20):
                end = 10 * (i + 1)
                self.at(rank, "MPI_Allreduce", end - length, end, "library", category="collective",
                        tags={"collective": "all_reduce", "group": "0-1", "sequence": i + 1, "bytes": 64})
                for name, first, last, options in sent:
                    self.at(rank, name, end - 10 + first, end - 10 + last, worker=name.startswith("MPI_I"), **options)

    def test_steps_of_a_program_that_has_none(self):
        self.mpi()
        answer = self.ask("A21")
        keys = ("rank", "steps", "step_ms", "own_ms", "communication_ms", "exposed_ms", "waiting_ms", "given_bytes")
        self.assertEqual([tuple(row[key] for key in keys) for row in answer["rows"]],
                         [("0", 19, 10, 6, 8, 8, 4, 64), ("1", 19, 10, 10, 4, 4, 0, 64), ("all", 38, 10, 8, 6, 6, 2, 64)])
        self.assertEqual((answer["summary"]["slowest_rank"], answer["summary"]["difference_ms"], answer["summary"]["verdict"]), (1, 4, "slower"))
        self.assertIn("MPI_Allreduce", " ".join(answer["notes"]))
        [row] = self.ask("A24")["rows"]
        self.assertEqual((row["collective"], row["group"], row["count"], row["waiting_ms"], row["transfer_ms"]), ("all_reduce", "0-1", 40, 2, 4))

    def test_a_rank_that_leaves_late_is_not_the_slow_one(self):
        """They compute 2 and 20 ms. The machine holds the first one up by 30 ms in every second collective, after the last one came."""
        self.trace.run(1, "A/M/L/Lib", batch=None)
        self.rank(0)
        self.rank(1)
        ends = [0, 0]
        for i in range(40):
            arrivals = [ends[0] + 2, ends[1] + 20]
            ends = [max(arrivals) + 1 + 30 * (i % 2), max(arrivals) + 1]
            for rank in (0, 1):
                self.at(rank, "MPI_Allreduce", arrivals[rank], ends[rank], "library", category="collective",
                        tags={"collective": "all_reduce", "group": "0-1", "sequence": i + 1, "bytes": 64})
        summary = self.ask("A21")["summary"]
        self.assertEqual([summary[key] for key in ("slowest_rank", "slowest_pct_of_steps", "difference_ms", "verdict")], [1, 100, 18, "slower"])
        self.assertAlmostEqual(summary["balance_pct"], 55)

    def test_steps_of_several_collectives(self):
        """Of two tensors, 4 ms apart: not each of them is a step."""
        self.trace.run(1, "A/M/L/Lib", batch=None)
        for rank, length in enumerate((3, 1)):
            self.rank(rank)
            for i in range(20):
                for place, tensor in enumerate(("weight", "bias")):
                    end = 10 * (i + 1) + 4 * place
                    self.at(rank, "ALLREDUCE", end - length, end, "library", category="collective",
                            tags={"collective": "all_reduce", "group": "0", "sequence": 2 * i + place, "module": tensor})
        self.assertEqual([(row["steps"], row["step_ms"], row["waiting_ms"]) for row in self.ask("A21")["rows"]], [(19, 10, 4), (19, 10, 0), (38, 10, 2)])

    def groups(self, *groups, files=False):
        """20 times, 10 ms apart, an all-reduce of each of these groups of ranks, of 4, 1 ms apart. Steps of each rank, and notes."""
        self.trace.run(1, "A/M/L/Lib", batch=None)
        for rank in range(4):
            run = rank + 1 if files else 1
            if run > 1:
                self.trace.run(run, "A/M/L/Lib", batch=None)
            self.rank(rank, run=run, ranks=4)
            for i in range(20):
                for place, members in enumerate(groups):
                    if rank in members:
                        end = 10 * i + place + 1
                        self.at(rank, "MPI_Allreduce", end - 0.5, end, "library", run=run, category="collective",
                                tags={"collective": "all_reduce", "group": "-".join(map(str, members)), "sequence": 100 * place + i + 1})
        rows = self.ask("A21")["rows"][:-1]
        return [row["steps"] for row in rows], {row.get("state") for row in rows}

    def test_steps_are_those_of_a_collective_of_all_ranks(self):
        """Ranks 0 and 1 are twice as often in their own."""
        world = 0, 1, 2, 3
        for files in (False, True):
            self.setUp()
            self.assertEqual(self.groups((0, 1), (0, 1), world, files=files), ([19] * 4, {None}))

    def test_steps_of_ranks_with_nothing_in_common(self):
        self.assertEqual(self.groups((0, 1), (2, 3)), ([19] * 4, {None}))

    def test_a_note_tells_of_ranks_that_recorded_no_steps(self):
        """Rank 0 did; its file is the first."""
        for rank in (0, 1):
            self.trace.run(rank + 1, "A/M/L/Lib", batch=None)
            self.rank(rank, run=rank + 1)
            for i in range(5):
                if rank == 0:
                    self.at(rank, "training step", 100 * i, 100 * i + 100, "model", run=1)
                self.at(rank, "MPI_Allreduce", 100 * i + 90, 100 * i + 100, "library", run=rank + 1, category="collective",
                        tags={"collective": "all_reduce", "group": "0-1", "sequence": i + 1})
        self.assertIn("MPI_Allreduce", " ".join(self.ask("A21")["notes"]))

    def test_waits_for_what_mpi_was_asked_to_do_meanwhile(self):
        """A receive of 1.8 ms, of which the program waits for the last 0.5."""
        receive = {"level": "library", "category": "collective", "tags": {"collective": "recv", "group": "0-1", "bytes": 8}}
        self.mpi([("MPI_Irecv", 0.1, 1.9, receive), ("MPI_Wait", 1.4, 1.9, {"level": "library"})])
        rows = self.ask("A21")["rows"]
        self.assertEqual([(row["rank"], row["exposed_ms"], row["bubble_ms"], row["compute_ms"]) for row in rows],
                         [("0", 8.5, 0.5, None), ("1", 4.5, 0.5, None), ("all", 6.5, 0.5, None)])

    def test_collectives_of_xla(self):
        """They are operators, and so is the loop around the second one, which computes for 5 ms before it."""
        self.trace.run(1, "A/M/L", batch=None)
        for rank, computes in enumerate((40, 80)):
            self.rank(rank)
            for step in range(STEPS):
                start = 100 * step
                self.at(rank, "jit_train", start, start + 100, "model", tags={"batch_size": 8})
                self.at(rank, "dot.1", start, start + computes)
                tags = {"collective": "all_reduce", "bytes": 4096, "group": "all", "sequence": step}
                self.at(rank, "psum.2", start + computes, start + 85, category="collective", tags=tags)
                loop = self.at(rank, "while.3", start + 85, start + 100)
                self.at(rank, "sin.4", start + 85, start + 90, parent=loop)
                self.at(rank, "psum.5", start + 90, start + 100, parent=loop, category="collective",
                        tags={"collective": "all_reduce", "bytes": 64, "group": "parts"})
        keys = ("step_ms", "own_ms", "compute_ms", "communication_ms", "exposed_ms", "waiting_ms")
        self.assertEqual([tuple(row[key] for key in keys) for row in self.ask("A21")["rows"]],
                         [(100, 60, 45, 55, 55, 40), (100, 100, 85, 15, 15, 0), (100, 80, 65, 35, 35, 20)])
        self.assertEqual([(row["collective"], row["group"], row["bytes"], row["waiting_ms"]) for row in self.ask("A24")["rows"]],
                         [("all_reduce", "all", 4096, 20), ("all_reduce", "parts", 64, None)])
        finding = next(row for row in self.ask("findings")["rows"] if row["id"] == "F31")
        self.assertIn("the others wait for it in all_reduce", finding["title"])

    def test_of_kinds_that_are_waited_for_alike_the_first_is_named(self):
        """Rank 0 waits 20 ms for rank 1 in each. A seed of hashes, new in each process, must not decide."""
        kinds = "all_gather", "all_reduce", "all_to_all"
        self.trace.run(1, "A/M/L/Lib", batch=None)
        for rank, computes in enumerate((5, 25)):
            self.rank(rank)
            for step in range(STEPS):
                self.at(rank, "training step", 100 * step, 100 * step + 100, "model", tags={"batch_size": 8})
                for place, kind in enumerate(kinds):
                    start = 100 * step + 33 * place
                    self.at(rank, "aten::mm", start, start + computes)
                    self.collective(rank, start + computes, start + 30, 3 * step + place + 1, kind)
        titles = {next(row for row in self.ask("findings")["rows"] if row["id"] == "F31")["title"] for _ in range(5)}
        self.assertEqual(len(titles), 1)
        self.assertIn("the others wait for it in all_gather", titles.pop())

    def test_without_recorded_numbers_the_order_decides(self):
        self.job(numbered=False)
        self.assert_two_ranks(self.ask("A21"))

    def test_files_of_ranks_are_one_job(self):
        """Each rank is a run, as files of ranks that were imported together are."""
        for rank, computes in enumerate((40, 80)):
            self.trace.run(rank + 1, "A/M/L/Lib", batch=None)
            self.rank(rank, run=rank + 1)
            for step in range(STEPS):
                self.step(rank, step, computes, run=rank + 1)
        self.assert_two_ranks(self.ask("A21"))

    def notes_of_files(self, *files):
        """Each file has a rank of a job of a size."""
        for run, (rank, size) in enumerate(files, 1):
            self.trace.run(run, "A/M/L/Lib", batch=None)
            self.rank(rank, run=run, ranks=size)
            for step in range(STEPS):
                self.step(rank, step, 40 + 10 * rank + run, run=run)
        answer = self.ask("A21")
        self.waiting = [row["waiting_ms"] for row in answer["rows"][:-1]]
        return " ".join(answer["notes"])

    def test_a_file_that_is_missing(self):
        self.assertIn("1 of 4 ranks are not here, the first is rank 2;", self.notes_of_files((0, 4), (1, 4), (3, 4)))

    def test_a_file_that_is_there_twice(self):
        """It is of another execution, in which it waits for nobody."""
        self.assertIn("rank 1 is here 2 times, not each rank is:", self.notes_of_files((0, 2), (1, 2), (1, 2)))
        self.assertEqual(self.waiting, [11, 0])

    def test_files_of_two_jobs(self):
        """Rank 0 of four waits for rank 1 of four alone, whose run is the second: 11 ms."""
        notes = self.notes_of_files((0, 4), (1, 4), (2, 5), (2, 5))
        self.assertIn("these are jobs of 4 and of 5 ranks", notes)
        self.assertEqual(self.waiting, [11, 0, 0])

    def test_which_rank_is_there_twice_does_not_depend_on_order(self):
        self.assertIn("rank 1 is here 2 times,", self.notes_of_files((0, 3), (2, 3), (2, 3), (1, 3), (1, 3)))

    def test_a_file_without_ranks_is_no_job(self):
        """The first one; of the others, rank 1 starts 3 s later."""
        self.trace.run(1, "A/M/L/Lib", batch=None)
        self.trace.track(1, process=99, thread=99)
        self.at(0, "evaluation", 0, 100, "model")
        for rank in (0, 1):
            self.trace.run(2 + rank, "A/M/L/Lib", batch=None)
            self.rank(rank, run=2 + rank)
            for step in range(STEPS):
                start = 3000 * rank + 100 * step
                self.at(rank, "training step", start, start + 100, "model", run=2 + rank)
        self.assertEqual([row["state"] for row in self.ask("A21")["rows"]], [None, "started 3 s later", None])
        self.assertNotIn("job", self.ask("A27")["rows"][0])

    def test_stages_of_a_pipeline_by_nccl(self):
        """All that is recorded of the other rank are kernels that send and receive."""
        self.trace.run(1, "A/M/L/Lib", batch=None)
        for rank, computes in enumerate((40, 80)):
            self.rank(rank)
            for step in range(STEPS):
                start = 100 * step
                self.at(rank, "training step", start, start + 100, "model")
                self.at(rank, "aten::mm", start, start + computes)
                self.at(rank, "ncclDevKernel_SendRecv", start + computes, start + 95, "kernel", True, category="collective")
        self.assertNotIn("no collective was found", " ".join(self.ask("findings")["notes"]))

    def test_all_files_of_a_job(self):
        self.assertNotRegex(self.notes_of_files((0, 2), (1, 2)), "not here|times|jobs")

    def test_clocks_of_two_machines(self):
        """The clock of rank 1's machine is 12.345 s ahead: collectives that end together show it."""
        self.trace.run(1, "A/M/L/Lib", batch=None)
        for rank, computes in enumerate((40, 80)):
            self.rank(rank, host=f"box{rank}")
            self.ahead = 12345 * rank
            for step in range(STEPS):
                self.step(rank, step, computes)
        answer = self.ask("A21")
        self.assert_two_ranks(answer)
        self.assertIn(f"clocks of 1 ranks are compared by the common end of {STEPS} collectives, within ± 0 ms", answer["notes"])

    def test_waiting_that_computes_is_not_lost(self):
        """Of the 40 ms that rank 0 waits, it computes 20."""
        self.job()
        for step in range(STEPS):
            self.at(0, "aten::add", 100 * step + 50, 100 * step + 70)
        row = self.ask("A21")["rows"][0]
        self.assertEqual((row["own_ms"], row["compute_ms"], row["communication_ms"], row["exposed_ms"], row["waiting_ms"]),
                         (80, 60, 55, 35, 40))

    def test_only_the_wait_for_an_asynchronous_collective_is_exposed(self):
        """Both start one in 1 ms, at 10 and 40, which runs until 60, and wait for it from 55 on. Rank 0 is late for nobody."""
        self.trace.run(1, "A/M/L/Lib", batch=None)
        for rank, start in enumerate((10, 40)):
            self.rank(rank)
            self.at(rank, "training step", 0, 100, "model")
            self.collective(rank, start, 60, 1)
            self.at(rank, "c10d::wait", 55, 61)
            self.at(rank, "aten::mm", 62, 70)
        keys = ("own_ms", "compute_ms", "communication_ms", "exposed_ms", "waiting_ms")
        self.assertEqual([tuple(row[key] for key in keys) for row in self.ask("A21")["rows"]],
                         [(99, 8, 51, 7, 30), (100, 8, 21, 7, 0), (99.5, 8, 36, 7, 15)])

    def test_a_reduction_that_a_gradient_starts_is_exposed_without_a_wait(self):
        self.trace.run(1, "A/M/L/Lib", batch=None)
        for rank in (0, 1):
            self.rank(rank)
            self.at(rank, "training step", 0, 100, "model")
            around = self.at(rank, "torch::autograd::AccumulateGrad", 10, 12)
            parent = self.at(rank, "c10d::allreduce_", 10, 11, parent=around)
            self.at(rank, "gloo:all_reduce", 11, 60, "library", True, parent=parent, category="collective")
            self.at(rank, "c10d::wait", 80, 81)
        self.assertEqual([row["exposed_ms"] for row in self.ask("A21")["rows"]], [50, 50, 50])  # 51 less AccumulateGrad's own

    def rooted(self, name, *times):
        """Of each rank when it starts one at the root and ends, in ms: how long each waits and transfers, over all."""
        self.trace.run(1, "A/M/L/Lib", batch=None)
        for rank, (start, end) in enumerate(times):
            self.rank(rank, ranks=len(times))
            self.at(rank, "training step", 0, 100, "model")
            self.collective(rank, start, end, 1, name=name)
        waits = [row["waiting_ms"] for row in self.ask("A21")["rows"][:-1]]
        [row] = self.ask("A24")["rows"]
        self.assertAlmostEqual(row["waiting_ms"] + row["transfer_ms"], row["latency_ms"], places=9)
        return waits

    def test_receivers_of_a_broadcast_wait_for_its_root(self):
        """Rank 0 is the root, and does not wait for rank 2, which comes when the others have left."""
        self.assertEqual(self.rooted("broadcast", (40, 42), (10, 43), (60, 62)), [0, 30, 0])

    def test_the_root_of_a_gather_waits_for_all(self):
        """Rank 1 hands its part on and leaves; Gloo's root waits for rank 2."""
        self.assertEqual(self.rooted("gather", (10, 62), (20, 22), (60, 62)), [50, 0, 0])

    def test_a_root_that_waits_until_it_is_received(self):
        """As Gloo's does."""
        self.assertEqual(self.rooted("scatter", (10, 62), (60, 62)), [50, 0])

    def test_sends_of_two_ranks_are_no_collective(self):
        self.trace.run(1, "A/M/L/Lib", batch=None)
        for rank in (0, 1):
            self.rank(rank)
            self.at(rank, "training step", 0, 100, "model")
            self.at(rank, "gloo:recv" if rank else "gloo:send", 20 + 10 * rank, 40, "library", True, category="collective",
                    tags={"bytes": 64})
        answer = self.ask("A21")
        self.assertEqual([row["waiting_ms"] for row in answer["rows"]], [0, 0, 0])
        self.assertNotIn("not found", " ".join(answer["notes"]))

    def test_a_stage_of_a_pipeline_that_the_next_waits_for(self):
        """Rank 1 posts a receive at 1, waits for it from 5 to 41, and computes until 60; rank 0 computes until 40 and sends."""
        self.trace.run(1, "A/M/L/Lib", batch=None)
        for rank in (0, 1):
            self.rank(rank)
            self.at(rank, "training step", 0, 60, "model")
        self.at(0, "aten::mm", 0, 40)
        self.at(0, "gloo:send", 40, 41, "library", True, category="collective", tags={"bytes": 64})
        self.at(1, "aten::mm", 0, 5)
        self.at(1, "gloo:recv", 1, 41, "library", True, category="collective", tags={"bytes": 64})
        self.at(1, "c10d::wait", 5, 41)
        self.at(1, "aten::mm", 41, 60)
        keys = ("own_ms", "compute_ms", "exposed_ms", "waiting_ms", "bubble_ms")
        self.assertEqual([tuple(row[key] for key in keys) for row in self.ask("A21")["rows"]],
                         [(60, 40, 1, 0, 0), (24, 24, 36, 0, 36), (42, 32, 18.5, 0, 18)])

    def test_modules_and_parameters_of_collectives(self):
        """Two buckets of one size: each has its row."""
        self.trace.run(1, "A/M/L/Lib", batch=None)
        for rank in (0, 1):
            self.rank(rank)
            self.at(rank, "training step", 0, 100, "model")
            for number, module in enumerate(("3.0 to 2.0", "1.0 to 0.0")):
                self.at(rank, "gloo:all_reduce", 10 + 20 * number, 20 + 30 * number, "library", True, category="collective",
                        tags={"bytes": 64, "group": "0", "sequence": number, "module": module, "parameters": 4})
        keys = ("module", "parameters", "count", "latency_ms")
        self.assertEqual([tuple(row[key] for key in keys) for row in self.ask("A24")["rows"]],
                         [("1.0 to 0.0", 4, 2, 20), ("3.0 to 2.0", 4, 2, 10)])

    def scaled(self, name, ranks, batch, computes, end):
        """All ranks compute as long, then the collective, until `end`; the file of it."""
        self.trace = Script()
        self.trace.experiment()
        self.trace.run(1, "A/M/L/Lib", batch=None)
        for rank in range(ranks):
            self.rank(rank, ranks=ranks)
            for step in range(STEPS):
                at = 100 * step
                self.at(rank, "training step", at, at + end + 1, "model", tags={"batch_size": batch} if batch else {})
                self.at(rank, "aten::mm", at, at + computes)
                if ranks > 1:
                    self.collective(rank, at + computes, at + end, step + 1)
        file = self.file.parent / name
        self.trace.write(file)
        return file

    def compare(self, a, b, status):
        return xsp_json("compare", a, b, "--json", check=status)

    def test_scaling(self):
        """From 2 to 4 ranks a rank's batch halves; its compute, 40 ms of 50, goes to 25, and the collective takes 24 ms instead of 9."""
        a, b = self.scaled("a.xsp", 2, 8, 40, 49), self.scaled("b.xsp", 4, 4, 25, 49)
        answer = self.compare(a, b, 2)
        self.assertEqual((answer["a_ranks"], answer["b_ranks"], answer["efficiency_pct"]), (2, 4, 50))
        keys = ("part", "a_ms", "b_ms", "lost_ms", "lost_pct")
        self.assertEqual([tuple(row[key] for key in keys) for row in answer["scaling"]],
                         [("compute", 40, 25, 5, 10), ("communication", 9, 24, 19.5, 39), ("waiting", 0, 0, 0, 0),
                          ("input", 0, 0, 0, 0), ("other", 1, 1, 0.5, 1), ("step", 50, 50, 25, 50)])

    def test_scaling_from_one_rank(self):
        answer = self.compare(self.scaled("a.xsp", 1, None, 40, 39), self.scaled("b.xsp", 2, None, 40, 79), 1)
        self.assertEqual((answer["efficiency_pct"], answer["scaling"][1]["lost_ms"]), (50, 39))
        self.assertIn("batch sizes are not recorded", " ".join(answer["notes"]))

    def test_scaling_of_repetitions(self):
        """A rank's batch is 8 in one of them, 4 in the other: 6 on average, of which a rank of b has two thirds."""
        folder = self.file.with_name("a")
        folder.mkdir()
        self.scaled("a/1.xsp", 2, 8, 40, 49)
        self.scaled("a/2.xsp", 2, 4, 40, 49)
        answer = self.compare(folder, self.scaled("b.xsp", 4, 4, 40, 49), 2)
        self.assertAlmostEqual(answer["efficiency_pct"], 100 * 4 / 6)

    def test_jobs_of_one_size_do_not_scale(self):
        self.assertNotIn("scaling", self.compare(self.scaled("a.xsp", 2, 8, 40, 49), self.scaled("b.xsp", 2, 8, 25, 49), 0))

    def test_steps_of_ranks(self):
        self.job(steps=2)
        keys = ("rank", "step", "step_ms", "own_ms", "compute_ms", "exposed_ms", "stalled_ms", "input_ms")
        self.assertEqual([tuple(row[key] for key in keys) for row in self.ask("A27")["rows"]],
                         [(0, step, 100, 60, 40, 55, 40, None) for step in (0, 1)] + [(1, step, 100, 100, 80, 15, 0, None) for step in (0, 1)])

    def test_equal_ranks(self):
        """Each rank is later in half of the steps."""
        self.trace.run(1, "A/M/L/Lib", batch=None)
        for rank in (0, 1):
            self.rank(rank)
            for step in range(STEPS):
                self.step(rank, step, 60 + (step + rank) % 2)
        summary = self.ask("A21")["summary"]
        self.assertEqual((summary["verdict"], summary["slowest_pct_of_steps"], summary["difference_ms"]), ("none found", 50, 0))

    def test_a_rank_that_ends_early(self):
        self.job()
        self.rank(2, ranks=3)
        for step in range(4):
            self.at(2, "training step", 100 * step, 100 * step + 100, "model")
        rows = self.ask("A21")["rows"]
        self.assertEqual([(row["rank"], row["steps"]) for row in rows], [("0", 10), ("1", 10), ("2", 4), ("all", 24)])
        self.assertEqual([row["state"] for row in rows], [None, None, "6 steps fewer, ended 0.6 s earlier", None])

    def test_a_rank_that_starts_late(self):
        """Its first step begins with the seventh of the others; of another, with as many steps, 1.5 s after them."""
        self.job()
        for rank, steps, first in ((2, 4, 600), (3, STEPS, 1500)):
            self.rank(rank, ranks=4)
            for step in range(steps):
                self.at(rank, "training step", first + 100 * step, first + 100 * step + 100, "model")
        self.at(2, "aten::mm", 2500, 2510)  # it ends with the last of them
        self.assertEqual([row["state"] for row in self.ask("A21")["rows"]],
                         [None, None, "6 steps fewer, started 0.6 s later", "started 1.5 s later", None])

    def test_clocks_that_differ_are_no_late_start(self):
        """That of rank 1's machine is 7 s ahead."""
        self.trace.run(1, "A/M/L/Lib", batch=None)
        for rank, computes in enumerate((40, 80)):
            self.ahead = 7000 * rank
            self.rank(rank, host=f"box{rank}")
            for step in range(4 * STEPS):
                self.step(rank, step, computes)
        self.assertNotIn("state", self.ask("A21")["rows"][0])

    def test_clocks_that_could_not_be_compared_are_no_late_start(self):
        """That of rank 1's machine is an hour ahead, and the ranks have two collectives in common; rank 1 has a step less."""
        self.trace.run(1, "A/M/L/Lib", batch=None)
        for rank in (0, 1):
            self.ahead = 3_600_000 * rank
            self.rank(rank, host=f"box{rank}")
            for step in range(3 - rank):
                self.step(rank, step, 40)
        self.assertEqual([row["state"] for row in self.ask("A21")["rows"]], [None, "1 steps fewer", None])

    def test_the_end_of_a_rank_is_by_the_common_clock(self):
        """That of rank 1's machine is an hour ahead, and it makes ten steps of twelve."""
        self.trace.run(1, "A/M/L/Lib", batch=None)
        for rank in (0, 1):
            self.ahead = 3_600_000 * rank
            self.rank(rank, host=f"box{rank}")
            for step in range(12 - 2 * rank):
                self.step(rank, step, 40)
        self.assertEqual(self.ask("A21")["rows"][1]["state"], "2 steps fewer, ended 0.2 s earlier")

    def test_a_difference_below_a_step_is_no_late_start(self):
        """Rank 1 begins 0.4 ms after rank 0, and has a step less."""
        self.trace.run(1, "A/M/L/Lib", batch=None)
        for rank in (0, 1):
            self.ahead = 0.4 * rank
            self.rank(rank)
            for step in range(STEPS - rank):
                self.at(rank, "training step", 100 * step, 100 * step + 100, "model")
        self.at(1, "aten::mm", 900, 999.6)
        self.assertEqual(self.ask("A21")["rows"][1]["state"], "1 steps fewer")

    def test_a_rank_that_dies_in_a_step(self):
        self.job()
        self.collective(0, 100 * STEPS, 100 * STEPS + 50, STEPS + 1)
        self.assertEqual([row["state"] for row in self.ask("A21")["rows"]], [None, "is not in 1 collectives of the others", None])

    def test_collectives(self):
        self.job()
        self.collective(0, 1000, 1010, 90, "broadcast", size=64)
        self.collective(1, 1004, 1008, 90, "broadcast", size=64)
        keys = ("collective", "group", "bytes", "count", "latency_ms", "waiting_ms", "transfer_ms", "overlap_pct",
                "bus_bandwidth_bytes_per_s")
        reduced, sent = [tuple(row[key] for key in keys) for row in self.ask("A24")["rows"]]
        self.assertEqual(reduced[:8], ("all_reduce", "0", 4096, 2 * STEPS, 35, 20, 15, 0))
        self.assertAlmostEqual(reduced[8], 2 * (2 - 1) / 2 * 4096 / 0.015, places=3)
        self.assertEqual(sent, ("broadcast", "0", 64, 2, 7, 2, 5, 0, 64 / 0.005))

    def test_a_line_that_is_called_from_several(self):
        """One row: a row is of the line that started them, whoever called it."""
        for caller in (4, 9):
            main = self.trace.context("main", file="/src/train.py", line=caller)
            line = self.trace.context("average", main, file="/src/average.py", line=3)
            reduce = self.trace.context("gloo:all_reduce", line, "framework")
            if caller == 4:
                self.job(context=reduce)
        for rank in (0, 1):
            self.collective(rank, 1000, 1010, STEPS + 1, context=reduce)
        keys = ("collective", "count", "file", "line")
        self.assertEqual([tuple(row[key] for key in keys) for row in self.ask("A24")["rows"]],
                         [("all_reduce", 2 * STEPS + 2, "/src/average.py", 3)])

    def test_a_reduce_scatter_that_runs_as_an_all_reduce(self):
        self.trace.run(1, "A/M/L/Lib", batch=None)
        for rank in (0, 1):
            self.rank(rank)
            self.at(rank, "training step", 0, 100, "model")
            parent = self.at(rank, "c10d::_reduce_scatter_base_", 10, 11)
            self.at(rank, "gloo:all_reduce", 20, 30, "library", True, parent=parent, category="collective",
                    tags={"bytes": 4096, "group": "0", "sequence": 1})
        [row] = self.ask("A24")["rows"]
        self.assertEqual((row["collective"], row["transfer_ms"], row["bus_bandwidth_bytes_per_s"]), ("reduce_scatter", 20, 4096 / 2 / 0.02))

    def test_the_statistic_chooses_among_the_collectives_of_a_rank(self):
        """Rank 0 waits 40 ms for rank 1 in ten steps, and then once for 990 ms; a transfer takes 15 ms."""
        self.job()
        self.collective(0, 1000, 2005, STEPS + 1)
        self.collective(1, 1990, 2005, STEPS + 1)
        for statistic, latency_ms, waiting_ms in (("trimmed:0.2", 35, 20), ("mean", (35 * STEPS + 510) / (STEPS + 1), (20 * STEPS + 495) / (STEPS + 1)),
                                                  ("max", 1005, 990)):
            [row] = self.ask("A24", "--stat", statistic)["rows"]
            self.assertAlmostEqual(row["latency_ms"], latency_ms)
            self.assertAlmostEqual(row["waiting_ms"], waiting_ms)
            self.assertEqual((row["count"], row["transfer_ms"]), (2 * STEPS + 2, 15))

    def test_kernels_of_nccl(self):
        """A profile of each rank: 40 or 80 ms of compute on its device, then the all-reduce, which the host has launched at 1, lasts until
        95."""
        name = "ncclDevKernel_AllReduce_Sum_f32_RING_LL(ncclDevComm*, unsigned long, ncclWork*)"
        for rank, computes in enumerate((40, 80)):
            run = rank + 1
            self.trace.run(run, "M/L/K", batch=None)
            self.rank(rank, run=run)
            self.trace.track(9, "stream 7", thread=None, device=rank, stream=7, run_id=run, rank=rank, world_size=2)
            for step in range(STEPS):
                start = UNIX_START + 100 * step * MS
                self.at(rank, f"ProfilerStep#{step}", 100 * step, 100 * step + 100, "model", run=run)
                self.at(rank, "aten::mm", 100 * step, 100 * step + 1, run=run)
                launched_in = self.at(rank, "record_param_comms", 100 * step + 1, 100 * step + 2, run=run)
                for kernel, begin, end in (("gemm", 0, computes), (name, computes, 95)):
                    self.trace.span(kernel, start + begin * MS, (end - begin) * MS, "kernel", "execution", 9, run, category="kernel",
                                    parent=launched_in if kernel == name else None,
                                    tags={"Process Group Name": "0", "In msg nelems": 1024, "dtype": "Float"} if kernel == name else {})
        self.assert_two_ranks(self.ask("A21"))
        [row] = self.ask("A24")["rows"]
        self.assertEqual([row[key] for key in ("collective", "group", "bytes", "count", "waiting_ms", "transfer_ms")],
                         ["AllReduce", "0", 4096, 2 * STEPS, 20, 15])

    def test_the_bandwidth_of_a_kernel_of_nccl_is_that_of_its_kind(self):
        """Three ranks, so that each kind has another factor."""
        for name, factor in (("AllReduce_Sum_f32_RING_LL", 4 / 3), ("AllGather_RING_LL", 2), ("ReduceScatter_Sum_f32_RING_LL", 2 / 3),
                             ("Broadcast_RING_LL", 1)):
            self.setUp()
            for run in (1, 2, 3):
                self.trace.run(run, "M/L/K", batch=None)
                self.rank(run - 1, run=run)
                self.trace.track(9, "stream 7", thread=None, device=0, stream=7, run_id=run, rank=run - 1, world_size=3)
                self.at(run - 1, "ProfilerStep#0", 0, 100, "model", run=run)
                self.trace.span(f"ncclDevKernel_{name}", UNIX_START + 50 * MS, 10 * MS, "kernel", "execution", 9, run, category="kernel",
                                tags={"Process Group Name": "0", "In msg nelems": 1024, "dtype": "Float"})
            [row] = self.ask("A24")["rows"]
            self.assertAlmostEqual(row["bus_bandwidth_bytes_per_s"], factor * 4096 / 0.01, places=3, msg=name)

    def test_a_rank_that_hangs_until_the_other_gives_up(self):
        self.job()
        for rank, (start, end) in enumerate(((100 * STEPS, 100 * STEPS + 50), (100 * STEPS + 80, 100 * STEPS + 81))):
            self.collective(rank, start, end, STEPS + 1)
        answer = self.ask("A21")
        self.assertEqual([row["state"] for row in answer["rows"]], [None, "came to 1 collectives after others had left", None])

    def test_another_group_is_another_collective(self):
        """The number alone does not make two collectives one."""
        self.trace.run(1, "A/M/L/Lib", batch=None)
        for rank in (0, 1):
            self.rank(rank)
            self.at(rank, "training step", 0, 100, "model")
            self.collective(rank, 10 + 20 * rank, 60, 1, group=str(rank))
        answer = self.ask("A21")
        self.assertEqual([row["waiting_ms"] for row in answer["rows"]], [0, 0, 0])
        self.assertIn("2 of 2", " ".join(answer["notes"]))

    def test_the_finding_names_the_line(self):
        """Rank 1 is longer at line 7, and line 9 starts the collective."""
        main = self.trace.context("main", file="train.py", line=9)
        reduce = self.trace.context("gloo:all_reduce", main, "framework")
        slow = self.trace.context("main", file="train.py", line=7)
        self.job(context=reduce, samples=(24, 48))  # in micro-batches of 8
        for rank, computes in enumerate((40, 80)):
            for step in range(STEPS):
                start = UNIX_START + 100 * step * MS
                self.trace.sample("cpu", start + computes * MS, computes * MS, slow, 2 * rank + 1)
                self.trace.sample("lock", start + 95 * MS, (95 - computes) * MS, main, 2 * rank + 1)
        finding = next(row for row in self.ask("findings")["rows"] if row["id"] == "F31")
        self.assertEqual((finding["file"], finding["line"], finding["saving_ms"]), ("train.py", 7, 40))
        self.assertIn("rank 1 is the slowest of 2 ranks in 100 % of steps", finding["title"])
        self.assertIn("all_reduce (train.py:9)", finding["title"])
        self.assertIn("its steps have 48 samples, theirs 24", finding["title"])
        self.assertEqual(finding["numbers"]["line_excess_ms"], 40)

    def test_a_rank_that_waits_for_a_processor(self):
        """It needs 5 ms more of CPU time, and takes 40 ms longer: what else ran on the machine is no fault of the program."""
        main = self.trace.context("main", file="train.py", line=9)
        self.job()
        for rank in (0, 1):
            for step in range(STEPS):
                self.trace.sample("cpu", UNIX_START + (100 * step + 40) * MS, (40 + 5 * rank) * MS, main, 2 * rank + 1)
        self.assertNotIn("F31", [row["id"] for row in self.ask("findings")["rows"]])

    def exchanges(self, passes, collectives, backward=(10, 60)):
        """A rank's step: backward passes of equal length, and collectives that start at these times, in 1 ms, and last 4 ms."""
        self.trace = Script()
        self.trace.experiment()
        self.trace.run(1, "A/M/L/Lib", batch=None)
        first, end = backward
        for rank in (0, 1):
            self.rank(rank)
            for step in range(STEPS):
                at = 100 * step
                self.at(rank, "training step", at, at + 100, "model")
                for i in range(passes):
                    length = (end - first) / passes
                    self.at(rank, "backward", at + first + i * length, at + first + (i + 1) * length - 1, "application",
                            category="backward")
                self.at(rank, "aten::mm", at, at + 9)
                for i, (start, size) in enumerate(collectives):
                    self.collective(rank, at + start, at + start + 5, step * len(collectives) + i + 1, size=size)
        return {row["id"]: row for row in self.ask("findings", "--min-gain", "0")["rows"]}

    def test_gradients_reduced_in_each_micro_batch(self):
        found = self.exchanges(4, [(12, 1 << 20), (25, 1 << 20), (37, 1 << 20), (50, 1 << 20)])
        self.assertEqual((found["F35"]["numbers"]["passes"], found["F35"]["saving_ms"]), (4, 15))  # three of four times 5 ms
        self.assertFalse({"F36", "F37"} & set(found))

    def test_code_of_ones_own_reduces_after_each_backward_pass(self):
        """Passes end at 21, 34, 46 and 59."""
        after = [(22, 8192), (34.5, 8192), (47, 8192), (60, 8192)]
        self.assertEqual(self.exchanges(4, after)["F35"]["saving_ms"], 15)
        self.assertFalse({"F35", "F37"} & set(self.exchanges(4, after[3:])))
        self.assertNotIn("F35", self.exchanges(4, [(start, 8) for start, _ in after]))  # losses

    def test_passes_of_different_models_are_no_micro_batches(self):
        self.assertNotIn("F35", self.exchanges(2, [(12, 1 << 20), (40, 1 << 21)]))

    def test_one_pass_may_reduce_often(self):
        self.assertFalse({"F35", "F36", "F37"} & set(self.exchanges(1, [(12, 1 << 20), (25, 1 << 20), (50, 1 << 20)])))

    def test_many_small_collectives(self):
        found = self.exchanges(1, [(12 + 5 * i, 1000) for i in range(16)], backward=(10, 95))
        self.assertEqual(found["F36"]["numbers"]["collectives"], 16)
        self.assertEqual(found["F36"]["saving_ms"], 16 * 5 * 15 / 16)
        self.assertNotIn("F36", self.exchanges(1, [(12 + 5 * i, 1000) for i in range(15)], backward=(10, 95)))

    def test_gradients_reduced_after_the_backward_pass(self):
        found = self.exchanges(1, [(62, 1 << 20), (70, 1 << 20)])
        self.assertEqual(found["F37"]["saving_ms"], 9)  # as much as it computes, of 10
        self.assertNotIn("F37", self.exchanges(1, [(12, 1 << 20), (70, 1 << 20)]))

    def test_search_for_unused_parameters(self):
        self.job()
        for rank in (0, 1):
            for step in range(STEPS):
                self.at(rank, "torch.distributed.ddp.reducer::search_unused_parameters", 100 * step + 96, 100 * step + 99)
        found = {row["id"]: row for row in self.ask("findings")["rows"]}
        self.assertEqual(found["F38"]["saving_ms"], 3)

    def test_reduce_scatters_that_run_as_all_reduces_are_no_all_reduces_to_the_finding(self):
        self.job()
        self.collective(0, 1000, 1010, STEPS + 1, starts="_reduce_scatter_base_")
        self.collective(1, 1005, 1010, STEPS + 1, starts="_reduce_scatter_base_")
        finding = next(row for row in self.ask("findings")["rows"] if row["id"] == "F31")
        self.assertIn("all_reduce", finding["title"])

    def pairs(self, slow_ms, scatters=False, steps=STEPS, usual_ms=10):
        """Three pairs of ranks: each computes 40 ms and then reduces, which takes 10 ms, and `slow_ms`, in turns, in the second pair."""
        self.trace = Script()
        self.trace.experiment()
        self.trace.run(1, "A/M/L/Lib", batch=None)
        for rank in range(6):
            self.rank(rank, ranks=6)
            for step in range(steps):
                self.at(rank, "training step", 100 * step, 100 * step + 100, "model")
                self.at(rank, "aten::mm", 100 * step, 100 * step + 40)
                took = slow_ms[step % len(slow_ms)] if rank // 2 == 1 else usual_ms
                self.collective(rank, 100 * step + 40, 100 * step + 40 + took, 2 * step + 2, size=1 << 20, group=str(rank // 2 + 1),
                                start_ms=min(took, 1))
                if scatters:
                    self.collective(rank, 100 * step + 20, 100 * step + 30, 2 * step + 1, size=1 << 20, group=str(rank // 2 + 1),
                                    starts="_reduce_scatter_base_")
        return {row["id"]: row for row in self.ask("findings", "--min-gain", "0")["rows"]}.get("F55")

    def test_a_slow_link(self):
        found = self.pairs([30])
        self.assertIn("all_reduce between ranks 2, 3 takes 3 times as long as in 2 other groups", found["title"])
        self.assertEqual((found["saving_ms"], found["numbers"]["groups"], found["numbers"]["bytes"]), (20, 3, 1 << 20))

    def test_a_link_is_not_slow_by_some_exchanges(self):
        """Twice as slow on average by two of ten, as on a busy machine; in the median, as may be by chance."""
        self.assertIsNone(self.pairs([60, 10, 10, 10, 10]))
        self.assertIsNone(self.pairs([10, 30, 10, 30, 30]))
        self.assertIsNotNone(self.pairs([10] + 9 * [30]))

    def test_a_slow_link_of_many_exchanges(self):
        """More than are kept, of which every second one then goes: these are of all the time."""
        self.assertIsNotNone(self.pairs(300 * [10] + 600 * [30], steps=900))
        self.assertIsNotNone(self.pairs(600 * [30] + 300 * [10], steps=900))

    def test_a_slow_link_is_found_kind_by_kind(self):
        """Its reduce-scatters, which run as all-reduces, take as long as those of the others."""
        self.assertIn("all_reduce between ranks 2, 3 takes 3 times as long", self.pairs([30], scatters=True)["title"])

    def test_links_of_about_one_speed(self):
        self.assertIsNone(self.pairs([19]))

    def test_links_whose_exchanges_take_no_time(self):
        """As where all arrive at once by their clocks: no time is a multiple of none."""
        self.assertIsNone(self.pairs([0], usual_ms=0))
        self.assertIsNone(self.pairs([10], usual_ms=0))

    def test_a_step_has_the_device_of_its_own_rank(self):
        """Each rank's device works 30 ms of a step, one after the other's; the steps are 50 ms in the data loader."""
        self.trace.run(1, "A/M/L/K", batch=None)
        for rank in (0, 1):
            self.rank(rank)
            self.trace.track(10 + rank, "stream 7", host="box", process=100 + rank, thread=None, device=0, stream=7, rank=rank, world_size=2)
            for step in range(STEPS):
                start = 100 * step
                self.at(rank, "training step", start, start + 100, "model")
                self.at(rank, "enumerate(DataLoader)#_SingleProcessDataLoaderIter.__next__", start, start + 50)
                self.trace.span("gemm", UNIX_START + (start + 50 - 30 * rank) * MS, 30 * MS, "kernel", track=10 + rank, kind="execution",
                                category="kernel")
        self.trace.write(self.file)
        [cause] = xsp_json("analyze", self.file, "--json")["causes"]
        self.assertIn("50 % of the time is spent in the data loader; the device is idle 70 % of the time", cause["text"])

    def test_larger_batches_are_named(self):
        self.trace.run(1, "A/M/L/Lib", batch=None)
        for rank, computes, batch in ((0, 40, 256), (1, 80, 768)):
            self.rank(rank)
            for step in range(STEPS):
                self.step(rank, step, computes, batch=batch)
        answer = self.ask("findings")
        finding = next(row for row in answer["rows"] if row["id"] == "F31")
        self.assertIn("768 samples, theirs 256", finding["title"])
        self.assertIn("A21", " ".join(answer["notes"]))

    def test_sequences_of_other_lengths(self):
        """Eight sequences each: of 512 tokens in rank 0, of 1024 in rank 1."""
        self.trace.run(1, "A/M/L/Lib", batch=None)
        for rank, computes, length in ((0, 40, 512), (1, 80, 1024)):
            self.rank(rank)
            for step in range(STEPS):
                self.step(rank, step, computes, signature=f"int64[8,{length}];int64[8,{length}]")
        self.assertEqual([(row["samples"], row["tokens"]) for row in self.ask("A21")["rows"]], [(8, 4096), (8, 8192), (8, 6144)])
        finding = next(row for row in self.ask("findings")["rows"] if row["id"] == "F31")
        self.assertIn("its steps have 8192 tokens, theirs 4096", finding["title"])
        self.step(0, STEPS, 40)  # of unknown size
        self.step(1, STEPS, 80, signature="int64[8,1024];int64[8,1024]")
        self.assertEqual([row["tokens"] for row in self.ask("A21")["rows"]], [None, 8192, 8192])

    def lengths(self, *longer):
        """Of each step the rank whose sequences are twice as long, and which computes 40 ms longer."""
        self.trace = Script()
        self.trace.experiment()
        self.trace.run(1, "A/M/L/Lib", batch=None)
        for rank in (0, 1):
            self.rank(rank)
            for step, long in enumerate(longer):
                length = 1024 if long == rank else 512
                self.step(rank, step, 80 if long == rank else 40, signature=f"int64[8,{length}]")
        return {row["id"]: row for row in self.ask("findings")["rows"] if row["id"] in ("F31", "F56")}

    def test_sequences_of_other_lengths_in_turns(self):
        found = self.lengths(*[0, 1] * 5)["F56"]
        self.assertEqual(found["numbers"], {"steps_pct": 100, "more": 8192, "others": 4096})
        self.assertEqual(found["saving_ms"], 20)  # 40 ms, of one rank of two
        self.assertIn("F56", [row["id"] for row in self.ask("findings", "--threshold", "unequal_batches-steps=10")["rows"]])
        self.assertNotIn("F56", self.lengths(*[0, 1, 1, 1] * 3))  # mostly one rank's
        self.assertEqual(self.lengths(*[0, 1, None] * 4), {})  # in two steps of three
        self.assertEqual(self.lengths(*[0, 1] * 4), {})  # too few steps

    def test_what_a_rank_gives_to_collectives(self):
        """Two broadcasts of each step, of 4 and 100 bytes, one between steps, and in half of the steps a third; of a receive nothing counts."""
        self.trace.run(1, "A/M/L/Lib", batch=None)
        for rank in (0, 1):
            self.rank(rank)
            for step in range(STEPS):
                start = 200 * step
                self.at(rank, "training step", start, start + 100, "model")
                for i, (begin, size) in enumerate(((10, 4), (99, 100), (150, 1000), *([(50, 7)] if step % 2 else []))):
                    self.collective(rank, start + begin, start + begin + 9, 4 * step + i, size=size)
                self.at(rank, "gloo:recv", start + 80, start + 90, "library", True, category="collective", tags={"bytes": 64})
        self.assertEqual([row["given_bytes"] for row in self.ask("A21")["rows"]], [107.5] * 3)

    def test_samples_of_one_rank_are_unknown(self):
        """Rank 0's batches have 123 samples; those of rank 1 are not recorded."""
        self.trace.run(1, "A/M/L/Lib", batch=None)
        for rank, tags in enumerate(({"batch_size": 123}, {})):
            self.rank(rank)
            for step in range(STEPS):
                self.at(rank, "training step", 100 * step, 100 * step + 100, "model", tags=tags)
        self.assertEqual([row["samples"] for row in self.ask("A21")["rows"]], [123, None, 123])

    def test_no_ranks(self):
        self.trace.run(1, "A/M/L/Lib", batch=None)
        self.trace.track(1)
        self.at(0, "training step", 0, 100, "model")
        self.trace.write(self.file)
        self.assertIn(b"ranks", xsp("analyze", "A21", self.file, check=1).stderr)
        self.assertNotIn("F31", [row["id"] for row in xsp_json("analyze", "findings", self.file, "--json")["rows"]])


if __name__ == "__main__":
    unittest.main()
