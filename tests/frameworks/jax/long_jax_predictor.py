# SPDX-License-Identifier: Apache-2.0
"""Predictor `jax` on JAX itself: a Python function and a file of jax.export, over batch sizes, at M and M/L; loops; what is
no model."""
import pathlib
import tempfile
import unittest

from jax_environment import jax_python, run_jax
from run_programs import XSP, sql

MODELS = """
import json, os
import jax, jax.numpy as jnp, numpy

def forward(x, scale):
    weights = jnp.linspace(-1, 1, 64 * 64).reshape(64, 64)
    turned = jax.lax.fori_loop(0, 5, lambda _, v: jnp.sin(v @ weights), x)
    return {"scores": jax.nn.softmax(turned * scale)}

def make():
    return forward, (numpy.linspace(0, 1, 2 * 64, dtype=numpy.float32).reshape(2, 64), 3.0)

def big_loop():
    return lambda x: jax.lax.fori_loop(0, 7, lambda _, v: jnp.sin(v @ v), x), (numpy.ones((300, 300), numpy.float32),)

def wrong():
    return 5

if __name__ == "__main__":
    from jax import export
    batch, = export.symbolic_shape("batch")
    free = jax.ShapeDtypeStruct((batch, 64), numpy.float32)
    exported = export.export(jax.jit(lambda x: forward(x, 3.0)))(free)
    open("free.jax", "wb").write(exported.serialize())
"""


class LongJaxPredictor(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        python = jax_python()
        folder = tempfile.TemporaryDirectory(prefix="xsp-jax-")
        cls.addClassCleanup(folder.cleanup)
        cls.folder = pathlib.Path(folder.name)
        (cls.folder / "models.py").write_text(MODELS)
        cls.library = f"jax={python}"
        run_jax(python, "models.py", cwd=cls.folder)

    def profile(self, model, *options):
        out = self.folder / "t.xsp"
        run_jax(XSP, "profile", model, "--framework", "jax", "--library", self.library, "--runs", "3", "-f", "-o", out, *options,
                cwd=self.folder)
        return out

    def test_a_function(self):
        out = self.profile("models.py:make", "--batch", "1,4", "--levels", "M,M/L")
        layers = sql(out, "select t.value as type, h.value as shape, count(*) as n from span s join tag t using (run_id, span_id)"
                          " join tag h on h.run_id = s.run_id and h.span_id = s.span_id and h.key = 'layer_shape'"
                          " where s.level = 'layer' and t.key = 'layer_type' group by 1, 2")
        self.assertIn("[4,64]", {row["shape"] for row in layers if row["type"] == "div"})
        strange, = sql(out, "select count(*) as n from span s left join span m on m.run_id = s.run_id and m.span_id = s.model_id"
                            " where s.level = 'layer' and (m.span_id is null or s.start_ns < m.start_ns or s.end_ns > m.end_ns)")
        self.assertEqual(strange["n"], 0)

    def test_the_device(self):
        out = self.profile("models.py:make", "--levels", "M", "--device", "cpu:0")
        self.assertEqual(sql(out, "select value from system where key = 'device'"), [{"value": "cpu:0"}])
        for wrong in ("gpu:7", "cpu:9"):
            done = run_jax(XSP, "profile", "models.py:make", "--framework", "jax", "--library", self.library, "-f", "-o", "no.xsp",
                           "--device", wrong, status=2, cwd=self.folder)
            self.assertIn(f"jax has no '{wrong}' here, it has cpu", done.stderr)

    def test_a_loop_has_its_turns(self):
        out = self.profile("models.py:big_loop", "--levels", "M/L", "--dim", "x.0=300", "--batch", "300")
        names = {row["name"]: row["n"] for row in sql(
            out, "select name, count(*) as n from span where level = 'layer' and model_id ="
                 " (select max(span_id) from span where level = 'model') group by 1")}
        self.assertIn(7, names.values())
        self.assertFalse([name for name in names if name.startswith("while")])

    def test_an_exported_file(self):
        self.profile("free.jax", "--batch", "2,4", "--levels", "M,M/L")
        rows = sql(self.folder / "t.xsp", "select distinct batch_size from run order by 1")
        self.assertEqual([row["batch_size"] for row in rows], [2, 4])

    def test_what_is_no_model(self):
        (self.folder / "cut.jax").write_bytes((self.folder / "free.jax").read_bytes()[:50])
        for model, word in (("models.py:wrong", "returned int"), ("models.py:none", "no function none"), ("cut.jax", "jax.export"),
                            ("nothing.py:make", "no such file")):
            with self.subTest(model):
                done = run_jax(XSP, "profile", model, "--framework", "jax", "--library", self.library, "-f", "-o", "no.xsp", status=2,
                               cwd=self.folder)
                self.assertIn(word, done.stderr)


if __name__ == "__main__":
    unittest.main()
