# SPDX-License-Identifier: Apache-2.0
"""Predictor `jax` on JAX itself: a Python function and a file of jax.export, over batch sizes, at M and M/L; loops; what is
no model."""
import os
import pathlib
import subprocess
import tempfile
import unittest

from framework_environment import XSP, framework_python
from run_programs import sql

WAIT_S = 600
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
        python = framework_python("jax-0.10.2-export", "jax==0.10.2", "jaxlib==0.10.2", "numpy==2.4.6", "flatbuffers==25.12.19")
        folder = tempfile.TemporaryDirectory(prefix="xsp-jax-")
        cls.addClassCleanup(folder.cleanup)
        cls.folder = pathlib.Path(folder.name)
        (cls.folder / "models.py").write_text(MODELS)
        cls.environment = {**os.environ, "JAX_PLATFORMS": "cpu", "XSP_LIBRARY_JAX": str(python)}
        cls.run_it(python, "models.py")

    @classmethod
    def run_it(cls, *command, status=0):
        done = subprocess.run([str(part) for part in command], capture_output=True, text=True, timeout=WAIT_S,
                              cwd=cls.folder, env=cls.environment, stdin=subprocess.DEVNULL)
        if done.returncode != status:
            raise AssertionError(done.stderr)
        return done

    def profile(self, model, *options):
        out = self.folder / "t.xsp"
        self.run_it(XSP, "profile", model, "--framework", "jax", "--runs", "3", "-f", "-o", out, *options)
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
                done = self.run_it(XSP, "profile", model, "--framework", "jax", "-f", "-o", "no.xsp", status=2)
                self.assertIn(word, done.stderr)


if __name__ == "__main__":
    unittest.main()
