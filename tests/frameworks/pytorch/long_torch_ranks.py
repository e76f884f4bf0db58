# SPDX-License-Identifier: Apache-2.0
"""Jobs of PyTorch with several ranks on gloo: ranks, collectives with their bytes, groups and numbers, and the rank that the others wait
for, against a program in which they are known."""
import json
import os
import pathlib
import subprocess
import tempfile
import unittest

import torch_environment

XSP = pathlib.Path(os.environ["XSP_BUILD"]) / "xsp"
PROGRAM = pathlib.Path(__file__).resolve().parent / "ranks_program.py"
PARALLEL = PROGRAM.parent / "parallel_program.py"
EXCHANGES = PROGRAM.parent / "exchange_program.py"
LENGTHS = PROGRAM.parent / "lengths_program.py"
STEPS = 20


def line_of(mark, program=PROGRAM):
    return next(i for i, text in enumerate(program.read_text().splitlines(), 1) if text.endswith(f"# line {mark}"))


@unittest.skipIf(os.environ.get("XSP_SANITIZE"), "an ordinary Python")
class Ranks(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.temporary = tempfile.TemporaryDirectory()
        cls.addClassCleanup(cls.temporary.cleanup)
        cls.python = torch_environment.torch_python()
        cls.file = cls.record("slow", 3, 0.02)

    @classmethod
    def record(cls, name, ranks, sleep_s):
        folder = pathlib.Path(cls.temporary.name) / name
        folder.mkdir()
        out = folder / "out.xsp"
        ran = subprocess.run([XSP, "run", "-o", out, "--", cls.python, PROGRAM, str(ranks), str(sleep_s), str(STEPS), folder],
                             check=True, timeout=600, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
        cls.summary = ran.stderr
        return out

    def ask(self, *arguments):
        return json.loads(subprocess.run([XSP, *arguments, "--json"], check=True, timeout=600, stdout=subprocess.PIPE).stdout)

    def sql(self, query):
        return [tuple(row.values()) for row in self.ask("sql", self.file, query)]

    def test_processes_have_the_ranks_of_torch_distributed(self):
        self.assertEqual(self.sql("select distinct rank, world_size from track where rank is not null order by 1"),
                         [(0, 3), (1, 3), (2, 3)])

    def test_collectives_have_bytes_groups_and_numbers(self):
        collectives = ("select t.rank, s.name, max(case when g.key = 'group' then g.value end) as \"group\","
                       " max(case when g.key = 'sequence' then g.value end) as sequence,"
                       " max(case when g.key = 'bytes' then g.value end) as bytes"
                       " from span s join track t using (run_id, track_id) join tag g using (run_id, span_id)"
                       " where s.category = 'collective' group by s.span_id")
        self.assertEqual(self.sql(f"select rank, count(*), min(bytes), max(bytes), count(distinct sequence) from ({collectives})"
                                  " where name = 'gloo:all_reduce' group by 1 order by 1"),
                         [(rank, STEPS, 4000, 4000, STEPS) for rank in range(3)])
        gathered = self.sql(f"select rank, bytes from ({collectives}) where name = 'gloo:all_gather' and bytes = 12 order by 1")
        self.assertEqual(gathered, [(0, 12), (1, 12)])
        groups = self.sql(f"select name, bytes, count(distinct \"group\") from ({collectives}) where bytes in (12, 4000) group by 1, 2")
        self.assertEqual(sorted(groups), [("gloo:all_gather", 12, 1), ("gloo:all_reduce", 4000, 1)])
        self.assertEqual(self.sql(f"select count(distinct \"group\") from ({collectives}) where bytes in (12, 4000)"), [(2,)])

    def test_collectives_are_below_what_started_them(self):
        self.assertEqual(self.sql("select distinct p.name, s.basis from span s join span p on p.run_id = s.run_id and"
                                  " p.span_id = s.parent_id where s.name = 'gloo:all_reduce'"), [("c10d::allreduce_", "explicit")])

    def test_the_slow_rank_is_found(self):
        answer = self.ask("analyze", "A21", self.file)
        self.assertEqual([(row["rank"], row["steps"]) for row in answer["rows"]],
                         [("0", STEPS), ("1", STEPS), ("2", STEPS), ("all", 3 * STEPS)])
        self.assertEqual((answer["summary"]["slowest_rank"], answer["summary"]["verdict"]), (1, "slower"))
        waiting = {row["rank"]: row["waiting_ms"] for row in answer["rows"]}
        self.assertGreater(waiting["0"], 4 * waiting["1"])
        for row in answer["rows"]:
            self.assertLessEqual(row["exposed_ms"], row["communication_ms"] + 1e-9)
            self.assertLessEqual(row["own_ms"], row["step_ms"] + 1e-9)

    def test_scaling_is_that_of_the_programs_own_clock(self):
        """Two ranks, and four of which one sleeps. Both leave out a fifth of each rank's steps at either end."""
        files = [self.record("two", 2, 0), self.record("four", 4, 0.05)]
        own_ms = []
        for file, ranks in zip(files, (2, 4)):
            kept = []
            for rank in range(ranks):
                ends_ns = json.loads((file.parent / f"{rank}.json").read_text())
                lengths = sorted(after - before for before, after in zip(ends_ns, ends_ns[1:]))
                kept += lengths[len(lengths) // 5:len(lengths) - len(lengths) // 5]
            own_ms.append(sum(kept) / len(kept) / 1e6)
        compared = subprocess.run([XSP, "compare", *files, "--json"], timeout=600, stdout=subprocess.PIPE)
        self.assertEqual(compared.returncode, 1)  # b is slower
        answer = json.loads(compared.stdout)
        rows = {row["part"]: row for row in answer["scaling"]}
        print(f"step {rows['step']['a_ms']:.2f} and {rows['step']['b_ms']:.2f} ms, by the program {own_ms[0]:.2f} and {own_ms[1]:.2f} ms;"
              f" efficiency {answer['efficiency_pct']:.2f} and {100 * own_ms[0] / own_ms[1]:.2f} %")
        self.assertEqual((answer["a_ranks"], answer["b_ranks"]), (2, 4))
        efficiency_pct = 100 * own_ms[0] / own_ms[1]
        self.assertAlmostEqual(answer["efficiency_pct"], efficiency_pct, delta=efficiency_pct / 5)
        self.assertEqual(max((part for part in rows if part != "step"), key=lambda part: rows[part]["lost_ms"]), "waiting")

    def test_the_summary_of_the_run_has_the_ranks(self):
        self.assertRegex(self.summary, r"cause +up to .* rank 1 is the slowest")
        self.assertRegex(self.summary, r"\nA21 [^\n]*\n(.*\n)+slowest rank +1\n")

    def test_collectives_are_summed_up_by_line(self):
        rows = self.ask("analyze", "A24", self.file)["rows"]
        reduced = [row for row in rows if row["collective"] == "all_reduce"]
        self.assertEqual([(row["count"], row["bytes"], row["line"]) for row in reduced], [(3 * STEPS, 4000, line_of("REDUCE"))])
        for row in reduced:
            self.assertAlmostEqual(row["waiting_ms"] + row["transfer_ms"], row["latency_ms"], places=6)
            self.assertAlmostEqual(row["bus_bandwidth_bytes_per_s"], 2 * 2 / 3 * 4000 / (row["transfer_ms"] / 1e3),
                                   delta=1e-6 * row["bus_bandwidth_bytes_per_s"])

    def test_a_finding_names_the_slow_line(self):
        findings = {row["id"]: row for row in self.ask("analyze", "findings", self.file)["rows"]}
        self.assertEqual((pathlib.Path(findings["F31"]["file"]).name, findings["F31"]["line"]), (PROGRAM.name, line_of("SLOW")))
        self.assertIn("rank 1", findings["F31"]["title"])
        self.assertIn(f"{PROGRAM.name}:{line_of('REDUCE')}", findings["F31"]["title"])


@unittest.skipIf(os.environ.get("XSP_SANITIZE"), "an ordinary Python")
class Exchanges(unittest.TestCase):
    def findings(self, mode):
        with tempfile.TemporaryDirectory() as folder:
            out = pathlib.Path(folder) / "out.xsp"
            subprocess.run([XSP, "run", "-q", "-o", out, "--", torch_environment.torch_python(), EXCHANGES, mode, folder], check=True,
                           timeout=600, stdout=subprocess.DEVNULL)
            printed = subprocess.run([XSP, "analyze", "findings", out, "--min-gain", "0", "--json"], check=True, timeout=600,
                                     stdout=subprocess.PIPE).stdout
        return {row["id"]: row for row in json.loads(printed)["rows"] if row["id"] in ("F35", "F36", "F37")}

    def test_each_micro_batch(self):
        found = self.findings("micro")
        self.assertEqual(list(found), ["F35"])
        self.assertEqual((found["F35"]["numbers"]["passes"], found["F35"]["line"]), (4, line_of("BACKWARD", EXCHANGES)))

    def test_the_last_micro_batch_alone(self):
        self.assertEqual(self.findings("mended"), {})

    def test_after_the_backward_pass(self):
        found = self.findings("late")
        self.assertEqual([(key, row["line"]) for key, row in found.items()], [("F37", line_of("REDUCE", EXCHANGES))])

    def test_many_small_ones(self):
        found = self.findings("small")
        self.assertEqual([(key, row["line"]) for key, row in found.items()], [("F36", line_of("REDUCE", EXCHANGES))])
        self.assertEqual(found["F36"]["numbers"]["collectives"], 48)


@unittest.skipIf(os.environ.get("XSP_SANITIZE"), "an ordinary Python")
class Lengths(unittest.TestCase):
    """Sequences of 64 and of 256 tokens, eight in a batch."""
    def record(self, mode):
        """Of each rank its tokens and what it gives to collectives; the findings about their difference."""
        with tempfile.TemporaryDirectory() as folder:
            out = pathlib.Path(folder) / "out.xsp"
            subprocess.run([XSP, "run", "-q", "-o", out, "--", torch_environment.torch_python(), LENGTHS, mode, folder], check=True,
                           timeout=600, stdout=subprocess.DEVNULL)
            ranks, found = (json.loads(subprocess.run([XSP, "analyze", analysis, out, "--json"], check=True, timeout=600,
                                                      stdout=subprocess.PIPE).stdout)["rows"] for analysis in ("A21", "findings"))
        given = {row["given_bytes"] for row in ranks}
        self.assertEqual(len(given), 1)
        self.assertGreater(given.pop(), 4 * 1000 * 64)  # the gradient of the embedding, and all others
        return [row["tokens"] for row in ranks], {row["id"]: row for row in found if row["id"] in ("F31", "F56")}

    def test_of_one_rank(self):
        tokens, found = self.record("one")
        self.assertEqual(tokens, [512, 2048, 1280])
        self.assertNotIn("F56", found)
        if "F31" in found:  # not where the rank mostly waits for a processor that others use
            self.assertIn("2048 tokens, theirs 512", found["F31"]["title"])

    def test_of_the_ranks_in_turns(self):
        tokens, found = self.record("turns")
        self.assertEqual(tokens, [1280, 1280, 1280])
        self.assertEqual((found["F56"]["line"], found["F56"]["numbers"]["more"], found["F56"]["numbers"]["others"]),
                         (line_of("WAIT", LENGTHS), 2048, 512))

    def test_of_equal_length(self):
        tokens, found = self.record("equal")
        self.assertEqual((tokens, "F56" in found), ([512, 512, 512], False))


@unittest.skipIf(os.environ.get("XSP_SANITIZE"), "an ordinary Python")
class Parallel(unittest.TestCase):
    """What collectives are for, in the ways to train one model on several ranks: two ranks, eight steps."""
    def collectives(self, kind):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.file = pathlib.Path(folder.name) / "out.xsp"
        subprocess.run([XSP, "run", "-q", "-o", self.file, "--", torch_environment.torch_python(), PARALLEL, kind, folder.name], check=True,
                       timeout=600, stdout=subprocess.DEVNULL)
        rows = self.ask("analyze", "A24", self.file)["rows"]
        return {(row["collective"], row.get("module"), row["bytes"], row["count"]) for row in rows}

    def ask(self, *arguments):
        return json.loads(subprocess.run([XSP, *arguments, "--json"], check=True, timeout=600, stdout=subprocess.PIPE).stdout)

    def test_buckets_of_data_parallelism(self):
        """Of 4 · (256² + 256) parameters: in the first step one bucket, in the seven others two."""
        bytes_of_block = 4 * (256 * 256 + 256)
        found = {one for one in self.collectives("ddp") if one[0] == "all_reduce"}
        self.assertEqual(found, {("all_reduce", "module.3.0 to module.0.0", 4 * bytes_of_block, 2),
                                 ("all_reduce", "module.3.0 to module.2.0", 2 * bytes_of_block, 14),
                                 ("all_reduce", "module.1.0 to module.0.0", 2 * bytes_of_block, 14)})

    def test_a_reduce_scatter_of_a_list(self):
        """Two all-reduces a step and rank, of one line."""
        self.assertIn(("reduce_scatter", None, 4000, 32), self.collectives("scatter"))

    def test_shards_of_modules(self):
        """Each block is gathered for the forward and the backward pass, and reduced once."""
        found = {(name, module, count) for name, module, _, count in self.collectives("fsdp") if module is not None}
        self.assertEqual(found, {("all_gather", str(block), 32) for block in range(4)} | {("reduce_scatter", str(block), 16) for block in range(4)})

    def test_results_of_tensor_parallelism(self):
        """The second layer's results, 64 by 256 numbers, are partial on each rank."""
        self.assertIn(("all_reduce", "2", 64 * 256 * 4, 16), self.collectives("tensor"))

    def test_stages_of_a_pipeline(self):
        """Four micro-batches of 16 by 256 numbers go on, and their gradients back; each stage waits for the other."""
        found = self.collectives("pipeline")
        exchanged = {(name, count) for name, _, size, count in found if size == 16 * 256 * 4}
        self.assertEqual(exchanged, {("send", 2 * 32), ("recv", 2 * 32)})
        for row in self.ask("analyze", "A21", self.file)["rows"]:
            self.assertGreater(row["bubble_ms"], 0)
            self.assertLessEqual(row["bubble_ms"], row["exposed_ms"])


if __name__ == "__main__":
    unittest.main()
