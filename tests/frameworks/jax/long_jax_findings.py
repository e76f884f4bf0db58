# SPDX-License-Identifier: Apache-2.0
"""Findings on ordinary programs of JAX: what is compiled again and again is named with its line, and healthy programs are not
blamed for what XLA does."""
import json
import pathlib
import tempfile
import unittest

from jax_environment import jax_python, run_jax
from run_programs import SANITIZED, XSP

PROGRAMS = {}
PROGRAMS["fresh"] = """
import jax, jax.numpy as jnp, numpy as np

def loss(params, x, y):
    for w in params:
        x = jnp.tanh(x @ w)
    return jnp.mean((x - y) ** 2)

def main():
    rng = np.random.default_rng(0)
    params = [jnp.asarray(rng.normal(size=(128, 128)) * 0.1, jnp.float32) for _ in range(3)]
    for step in range(30):
        x = rng.normal(size=(64, 128)).astype(np.float32)
        update = jax.jit(lambda p, x: [w - 0.1 * g for w, g in zip(p, jax.grad(loss)(p, x, x))])
        params = update(params, x)
    print(float(params[0].sum()))

main()
"""
PROGRAMS["shapes"] = """
import jax, jax.numpy as jnp, numpy as np

def loss(params, x):
    for w in params:
        x = jnp.tanh(x @ w)
    return jnp.mean(x ** 2)

@jax.jit
def train_step(params, x):
    return [w - 0.1 * g for w, g in zip(params, jax.grad(loss)(params, x))]

def main():
    rng = np.random.default_rng(0)
    params = [jnp.asarray(rng.normal(size=(128, 128)) * 0.1, jnp.float32) for _ in range(3)]
    for step in range(40):
        x = rng.normal(size=(20 + step, 128)).astype(np.float32)
        params = train_step(params, x)
    print(float(params[0].sum()))

main()
"""
PROGRAMS["eager"] = """
import jax, jax.numpy as jnp, numpy as np

def loss(params, x):
    for w in params:
        x = jnp.tanh(x @ w)
    return jnp.mean(x ** 2)

def main():
    rng = np.random.default_rng(0)
    params = [jnp.asarray(rng.normal(size=(64, 64)) * 0.1, jnp.float32) for _ in range(6)]
    x = jnp.ones((16, 64))
    for step in range(100):
        grads = jax.grad(loss)(params, x)
        params = [w - 0.1 * g for w, g in zip(params, grads)]
    print(float(params[0].sum()))

main()
"""
PROGRAMS["train"] = """
import jax, jax.numpy as jnp, numpy as np

def loss(params, x):
    for w in params:
        x = jnp.tanh(x @ w)
    return jnp.mean(x ** 2)

@jax.jit
def train_step(params, x):
    value, grads = jax.value_and_grad(loss)(params, x)
    return [w - 0.1 * g for w, g in zip(params, grads)], value

def main():
    rng = np.random.default_rng(0)
    params = [jnp.asarray(rng.normal(size=(512, 512)) * 0.1, jnp.float32) for _ in range(4)]
    x = jnp.asarray(rng.normal(size=(256, 512)), jnp.float32)
    for step in range(100):
        params, value = train_step(params, x)
    print(float(value))

main()
"""
PROGRAMS["flax"] = """
import flax.linen as nn, optax
import jax, jax.numpy as jnp, numpy as np

class Net(nn.Module):
    @nn.compact
    def __call__(self, x):
        x = nn.relu(nn.Conv(16, (3, 3))(x))
        x = nn.relu(nn.Conv(32, (3, 3), strides=(2, 2))(x))
        return nn.Dense(10)(x.reshape((x.shape[0], -1)))

def main():
    rng = np.random.default_rng(0)
    net, optimizer = Net(), optax.adam(1e-3)
    images = jnp.asarray(rng.normal(size=(32, 28, 28, 1)), jnp.float32)
    labels = jnp.asarray(rng.integers(0, 10, 32))
    params = net.init(jax.random.PRNGKey(0), images)
    state = optimizer.init(params)

    @jax.jit
    def train_step(params, state, images, labels):
        def loss(p):
            return optax.softmax_cross_entropy_with_integer_labels(net.apply(p, images), labels).mean()
        value, grads = jax.value_and_grad(loss)(params)
        updates, state = optimizer.update(grads, state)
        return optax.apply_updates(params, updates), state, value

    for step in range(60):
        params, state, value = train_step(params, state, images, labels)
    print(float(value))

main()
"""
PROGRAMS["scan"] = """
import jax, jax.numpy as jnp, numpy as np

@jax.jit
def rollout(w, x):
    def step(x, _):
        return jnp.tanh(x @ w), x.mean()
    return jax.lax.scan(step, x, None, length=50)

def main():
    w = jnp.asarray(np.random.default_rng(0).normal(size=(256, 256)) * 0.1, jnp.float32)
    x = jnp.ones((128, 256))
    for _ in range(40):
        x, means = rollout(w, x)
    print(float(means.sum()))

main()
"""
PROGRAMS["infer"] = """
import jax, jax.numpy as jnp, numpy as np

@jax.jit
def predict(params, x):
    for w in params:
        x = jax.nn.gelu(x @ w)
    return jnp.argmax(x, -1)

def main():
    rng = np.random.default_rng(0)
    params = [jnp.asarray(rng.normal(size=(768, 768)) * 0.03, jnp.float32) for _ in range(6)]
    answers = []
    for batch in range(80):
        x = rng.normal(size=(64, 768)).astype(np.float32)
        answers.append(np.asarray(predict(params, x)))
    print(sum(a.sum() for a in answers))

main()
"""


@unittest.skipIf(SANITIZED, "preloading into programs that are not sanitized")
class LongJaxFindings(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.python = jax_python()
        folder = tempfile.TemporaryDirectory(prefix="xsp-jax-")
        cls.addClassCleanup(folder.cleanup)
        cls.folder = pathlib.Path(folder.name)

    def findings(self, name):
        program, trace = self.folder / f"{name}_program.py", self.folder / f"{name}.xsp"
        program.write_text(PROGRAMS[name])
        run_jax(XSP, "run", "-q", "-o", trace, "--", self.python, program)
        return json.loads(run_jax(XSP, "analyze", "findings", trace, "--format", "json").stdout)["rows"]

    def line(self, name, text):
        return next(number for number, line in enumerate(PROGRAMS[name].splitlines(), 1) if text in line)

    def test_what_is_compiled_again_and_again(self):
        for name, text in (("fresh", "params = update"), ("shapes", "params = train_step"), ("eager", "jax.grad(loss)")):
            with self.subTest(name):
                first = self.findings(name)[0]
                self.assertIn(first["id"], ("F25", "F29"))  # by compilations, by samples
                self.assertIn("compiled again", first["title"])
                self.assertEqual(first["line"], self.line(name, text))

    def test_healthy_programs(self):
        for name in ("train", "flax", "scan", "infer"):
            with self.subTest(name):
                rules = {row["id"] for row in self.findings(name)}
                self.assertEqual(rules & {"F2", "F9", "F25", "F30"}, set())


if __name__ == "__main__":
    unittest.main()
