# SPDX-License-Identifier: Apache-2.0
"""The tracer of JAX, and the importer of its profiles, with JAX: against what the program knows, and against JAX's own reader."""
import json
import pathlib
import tempfile
import unittest

from jax_environment import jax_python, run_jax
from run_programs import SANITIZED, XSP, sql

PROGRAM = """
import sys
import jax
import jax.numpy as jnp


def layer(w, x):
    return jnp.tanh(x @ w)


def loss(params, x):
    for w in params:
        x = layer(w, x)
    return jnp.mean(x * x)


@jax.jit
def train_step(params, x):
    return [w - 0.1 * g for w, g in zip(params, jax.grad(loss)(params, x))]


@jax.jit
def looped(x):
    return jax.lax.fori_loop(0, 30, lambda i, v: jnp.sin(v @ x), x)


params = [jnp.eye(128) for _ in range(3)]
for step in range(7):
    params = train_step(params, jnp.ones((64, 128)) * step)
for _ in range(2):
    looped(jnp.ones((256, 256))).block_until_ready()
for size in (3, 4):
    again = jax.jit(lambda a: a * 2)
    again(jnp.ones(size)).block_until_ready()
print(float(params[0].sum()))
"""
READER = """
import collections, json, sys
from jax.profiler import ProfileData
sums = collections.Counter()
for plane in ProfileData.from_file(sys.argv[1]).planes:
    for line in plane.lines:
        for event in line.events:
            stats = dict(event.stats)
            if "hlo_op" in stats and not stats["hlo_op"].startswith("while"):
                key = stats["hlo_module"] + " " + stats["hlo_op"]
                sums[key + " n"] += 1
                sums[key + " ns"] += int(event.duration_ns)
print(json.dumps(sums))
"""
RANKS = """
import multiprocessing, socket, sys, time


def work(rank, port):
    import jax
    import jax.numpy as jnp
    import numpy as np
    from jax.sharding import Mesh, NamedSharding, PartitionSpec
    jax.config.update("jax_cpu_collectives_implementation", "gloo")
    jax.distributed.initialize(f"127.0.0.1:{port}", 2, rank)
    mesh = Mesh(np.array(jax.devices()), ("ranks",))
    apart, alike = (NamedSharding(mesh, PartitionSpec(*axes)) for axes in (("ranks",), ()))
    step = jax.jit(lambda x, w: jnp.sum(jnp.tanh(x @ w), axis=0), out_shardings=alike)
    gather = jax.jit(jax.shard_map(lambda x: jax.lax.all_gather(x, "ranks"), mesh=mesh, in_specs=PartitionSpec("ranks"),
                                   out_specs=PartitionSpec(None, "ranks")))
    x = jax.make_array_from_process_local_data(apart, np.ones((64, 256), np.float32))
    w = jax.device_put(np.ones((256, 256), np.float32), alike)
    for _ in range(30):
        if rank == 1:
            time.sleep(0.05)
        step(x, w).block_until_ready()
        gather(x).block_until_ready()


if __name__ == "__main__":
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    context = multiprocessing.get_context("spawn")
    workers = [context.Process(target=work, args=(rank, port)) for rank in range(2)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    sys.exit(max(abs(worker.exitcode) for worker in workers))
"""


@unittest.skipIf(SANITIZED, "preloading into programs that are not sanitized")
class JaxRanks(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        folder = tempfile.TemporaryDirectory(prefix="xsp-jax-")
        cls.addClassCleanup(folder.cleanup)
        program = pathlib.Path(folder.name) / "ranks.py"
        program.write_text(RANKS)
        cls.trace = program.with_suffix(".xsp")
        run_jax(XSP, "run", "-q", "-o", cls.trace, "--", jax_python(), program)

    def ask(self, analysis):
        return json.loads(run_jax(XSP, "analyze", analysis, self.trace, "--json").stdout)

    def test_collectives_of_xla_have_their_kind_bytes_and_line(self):
        rows = self.ask("A24")["rows"]
        found = {row["collective"]: (row["bytes"], row["line"]) for row in rows if row["line"] is not None}
        lines = {mark: next(i for i, line in enumerate(RANKS.splitlines(), 1) if mark in line) for mark in ("jnp.tanh", "all_gather")}
        self.assertEqual(found, {"all_reduce": (4 * 256, lines["jnp.tanh"]), "all_gather": (4 * 64 * 256, lines["all_gather"])})

    def test_the_rank_that_sleeps_is_waited_for(self):
        rows = {row["rank"]: row for row in self.ask("A21")["rows"]}
        self.assertGreater(rows["0"]["waiting_ms"], rows["1"]["waiting_ms"])
        self.assertGreater(rows["0"]["exposed_ms"], rows["0"]["compute_ms"])


@unittest.skipIf(SANITIZED, "preloading into programs that are not sanitized")
class LongJax(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.python = jax_python()
        folder = tempfile.TemporaryDirectory(prefix="xsp-jax-")
        cls.addClassCleanup(folder.cleanup)
        cls.folder = pathlib.Path(folder.name)
        cls.program = cls.folder / "train.py"
        cls.program.write_text(PROGRAM)
        cls.trace = cls.folder / "train.xsp"
        cls.plain = run_jax(cls.python, cls.program)
        cls.traced = run_jax(XSP, "run", "-q", "-o", cls.trace, "--", cls.python, cls.program)

    def line(self, text):
        return next(i for i, line in enumerate(PROGRAM.splitlines(), 1) if text in line)

    def test_the_program_notices_nothing(self):
        self.assertEqual((self.traced.stdout, self.traced.stderr), (self.plain.stdout, self.plain.stderr))

    def test_steps_are_the_executions_of_the_step(self):
        rows = sql(self.trace, "select s.name, count(*) as n from observation o join span s using (run_id, span_id) group by 1")
        counts = {row["name"]: row["n"] for row in sql(
            self.trace, "select name, count(*) as n from span where level = 'model' and category is null group by 1")}
        self.assertEqual(counts["jit_train_step"], 7)
        self.assertEqual(counts["jit_looped"], 2)
        self.assertEqual(rows, [{"name": "jit_train_step", "n": 7}])

    def test_operations_name_the_lines_of_the_program(self):
        sources = " ".join(row["value"] for row in sql(self.trace, "select distinct value from tag where key = 'source'"))
        for text in ("jnp.tanh(x @ w)", "w - 0.1 * g", "jnp.sin(v @ x)"):
            self.assertIn(f"train.py:{self.line(text)}", sources)

    def test_products_have_the_call_path_of_the_program(self):
        rows = json.loads(run_jax(XSP, "analyze", "A17", self.trace, "--format", "json").stdout)["rows"]
        lines = {row["called_from"] for row in rows if row["name"] == "dot_general"}
        self.assertIn(f"train.py:{self.line('jnp.tanh(x @ w)')} layer", lines)

    def test_all_operations_have_their_module(self):
        strange, = sql(self.trace, "select count(*) as n from span s left join span m on m.run_id = s.run_id"
                                   " and m.span_id = s.model_id where s.level = 'layer' and"
                                   " (m.span_id is null or s.start_ns < m.start_ns or s.end_ns > m.end_ns)")
        self.assertEqual(strange["n"], 0)

    def test_loops(self):
        rows = sql(self.trace, "select t.value from span s join tag t using (run_id, span_id)"
                               " where t.key = 'iterations' and s.name like 'while%'")
        self.assertEqual([row["value"] for row in rows], [30, 30])

    def test_compilations_and_their_reason(self):
        rows = sql(self.trace, "select f.value as function, r.value as reason from span s"
                               " join tag f on f.span_id = s.span_id and f.key = 'function'"
                               " left join tag r on r.span_id = s.span_id and r.key = 'reason'"
                               " where s.category = 'compile' order by s.start_ns")
        of = {}
        for row in rows:
            of.setdefault(row["function"], []).append(row["reason"])
        self.assertEqual(of["train_step"], [None])
        self.assertEqual(of["<lambda>"], [None, "other shapes or types"])

    def test_the_profile_of_jax_itself_has_the_same(self):
        program = self.folder / "profiled.py"
        program.write_text(f"import jax\nwith jax.profiler.trace({str(self.folder / 'profile')!r}):\n"
                           + "".join(f"  {line}\n" for line in PROGRAM.splitlines()))
        run_jax(self.python, program)
        path, = (self.folder / "profile").glob("plugins/profile/*/*.xplane.pb")
        reader = self.folder / "reader.py"
        reader.write_text(READER)
        expected = json.loads(run_jax(self.python, reader, path).stdout)
        out = self.folder / "imported.xsp"
        run_jax(XSP, "import", path, "-o", out)
        found = {}
        for row in sql(out, "select m.name as module, s.name, count(*) as n, sum(s.duration_ns) as ns from span s join span m"
                            " on m.span_id = s.model_id where s.level = 'layer' and s.name not like 'while%' group by 1, 2"):
            found[f"{row['module']} {row['name']} n"], found[f"{row['module']} {row['name']} ns"] = row["n"], row["ns"]
        self.assertEqual(found, expected)


if __name__ == "__main__":
    unittest.main()
