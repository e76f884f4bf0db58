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
HEAD = """
import jax, jax.numpy as jnp, numpy as np

def loss(params, x):
    for w in params:
        x = jnp.tanh(x @ w)
    return jnp.mean(x ** 2)
"""
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
PROGRAMS["shapes"] = HEAD + """
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
PROGRAMS["eager"] = HEAD + """
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
PROGRAMS["numpy"] = """
import jax, jax.numpy as jnp, numpy as np

def augment(batch):
    out = np.empty_like(batch)
    for i in range(len(batch)):
        image = batch[i]
        for row in range(image.shape[0]):
            out[i, row] = image[row, ::-1] * 0.9 + 0.1
    return out

@jax.jit
def train_step(w, x):
    def loss(w):
        h = jnp.tanh(x.reshape(x.shape[0], -1) @ w)
        return (h ** 2).mean()
    return w - 0.01 * jax.grad(loss)(w)

def main():
    rng = np.random.default_rng(0)
    w = jnp.asarray(rng.normal(size=(28 * 28, 64)) * 0.05, jnp.float32)
    images = rng.normal(size=(256, 28, 28)).astype(np.float32)
    for step in range(60):
        x = augment(images)
        w = train_step(w, x)
    print(float(w.sum()))

main()
"""
LOOP = """
def batch(rng):
    x = rng.normal(size=(256, 256)).astype(np.float32)
    return x, np.sort(x, 1)

@jax.jit
def train_step(params, x, y):
    value, grads = jax.value_and_grad(lambda p: jnp.mean((loss(p, x) - y) ** 2))(params)
    return [w - 0.1 * g for w, g in zip(params, grads)], value

def main():
    rng = np.random.default_rng(0)
    params = [jnp.asarray(rng.normal(size=(256, 256)) / 16, jnp.float32) for _ in range(4)]
    losses = []
    for step in range(300):
        x, y = batch(rng)
        params, value = train_step(params, x, y)
        READ
    print(float(losses[-1]))

main()
"""
PROGRAMS["float"] = HEAD + LOOP.replace("READ", "losses.append(float(value))")
PROGRAMS["later"] = HEAD + LOOP.replace("READ", "losses.append(value)")
PROGRAMS["printed"] = HEAD + LOOP.replace("READ", """losses.append(value)
        if step % 25 == 0:
            print(float(value))""")
TRIP = """
@jax.jit
def update(params, x):
    return UPDATED

def main():
    rng = np.random.default_rng(0)
    params = [rng.normal(size=(512, 512)).astype(np.float32) / 22 for _ in range(4)]
    x = jnp.ones((64, 512))
    for step in range(200):
        LOOP
    print(float(np.asarray(params[0]).sum()))

main()
"""
PROGRAMS["trip"] = HEAD + TRIP.replace("UPDATED", "jax.grad(loss)(params, x)").replace(
    "LOOP", """grads = update(jax.device_put(params), x)
        grads = [np.asarray(g) for g in grads]
        params = [w - 0.1 * np.sign(g) * np.sqrt(np.abs(g)) for w, g in zip(params, grads)]""")
PROGRAMS["stay"] = HEAD + TRIP.replace(
    "UPDATED", "[w - 0.1 * g for w, g in zip(params, jax.grad(loss)(params, x))]").replace(
    "LOOP", "params = update(params, x)")
OPTAX = HEAD + """
import optax

optimizer = optax.adam(1e-3)

def update(params, state, x):
    grads = grads_of(params, x)
    updates, state = optimizer.update(grads, state, params)
    return optax.apply_updates(params, updates), state

def main():
    rng = np.random.default_rng(0)
    params = [jnp.asarray(rng.normal(size=(128, 128)) / 11, jnp.float32) for _ in range(8)]
    state, x = optimizer.init(params), jnp.ones((64, 128))
    for step in range(STEPS):
        params, state = update(params, state, x)
    print(float(params[0].sum()))

"""
PROGRAMS["eager_optax"] = OPTAX.replace("STEPS", "200") + "grads_of = jax.jit(jax.grad(loss))\nmain()\n"
PROGRAMS["optax"] = OPTAX.replace("STEPS", "1000") + "grads_of, update = jax.grad(loss), jax.jit(update)\nmain()\n"
ROLLOUT = """
import jax, jax.numpy as jnp

def step(w, state):
    return jnp.tanh(state @ w)

def rollout(w, state):
    for _ in range(100):
        state = step(w, state)
    return state

def main():
    w, state = jnp.eye(32) * 0.9, jnp.ones((8, 32))
    for episode in range(EPISODES):
        state = rollout(w, state)
    print(float(state.sum()))

"""
PROGRAMS["eager_rollout"] = ROLLOUT.replace("EPISODES", "100") + "main()\n"
PROGRAMS["rollout"] = ROLLOUT.replace("EPISODES", "20000") + "rollout = jax.jit(rollout)\nmain()\n"
ROWS = """
import jax, jax.numpy as jnp

def distance(a, b):
    return jnp.sqrt(jnp.sum((a - b) ** 2))

def distances(points):
    return jnp.stack([distance(points[i], points[0]) for i in range(len(points))])

def main():
    points = jnp.arange(2048.0).reshape(64, 32)
    for step in range(STEPS):
        points = points - 0.01 * distances(points)[:, None]
    print(float(points.sum()))

"""
PROGRAMS["rows"] = ROWS.replace("STEPS", "150") + "distance = jax.jit(distance)\nmain()\n"
PROGRAMS["short"] = """
import jax, jax.numpy as jnp

@jax.jit
def step(x, v):
    force = jax.vmap(lambda a: jax.vmap(lambda b: (b - a) / (1e-2 + jnp.sum((a - b) ** 2)))(x).sum(0))(x)
    v = v + 0.01 * force
    return x + 0.01 * v, v

x = jax.random.normal(jax.random.PRNGKey(0), (512, 3))
v = jnp.zeros_like(x)
for i in range(20):
    x, v = step(x, v)
print(jnp.abs(x).mean(), jnp.linalg.norm(v, axis=1).max(), jnp.percentile(x, 50), jnp.var(v), jnp.argmax(x))
"""
PROGRAMS["set_up"] = """
import jax, jax.numpy as jnp

SIZES = [784, 512, 256, 128, 64, 10]

@jax.jit
def predict(params, x):
    return jax.vmap(lambda row: sum(jnp.tanh(w).sum() for w in params) * row)(x)

def main():
    keys = jax.random.split(jax.random.PRNGKey(0), 5)
    params = [jax.random.normal(key, (m, n)) / jnp.sqrt(m) for key, m, n in zip(keys, SIZES, SIZES[1:])]
    x = jax.random.normal(keys[0], (128, 784))
    for _ in range(3):
        y = predict(params, x)
    print(y.shape)

main()
"""
PROGRAMS["train"] = HEAD + """
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
INFER = """
import time
import jax, jax.numpy as jnp, numpy as np

@jax.jit
def predict(params, x):
    for w in params:
        x = jax.nn.gelu(x @ w)
    return jnp.argmax(x, -1)

def timed(params, x):
    start = time.perf_counter()
    predict(params, x).block_until_ready()
    return np.float64(time.perf_counter() - start)

def main():
    rng = np.random.default_rng(0)
    params = [jnp.asarray(rng.normal(size=(SIZE, SIZE)) * 0.03, jnp.float32) for _ in range(6)]
    batches = [rng.normal(size=(64, SIZE)).astype(np.float32) for _ in range(8)]
    answers = []
    for batch in range(COUNT):
        answers.append(READ)
    print(sum(a.sum() for a in answers))

main()
"""
SMALL = INFER.replace("SIZE", "256").replace("COUNT", "1000")
PROGRAMS["infer"] = INFER.replace("SIZE", "768").replace("COUNT", "80").replace(
    "READ", "np.asarray(predict(params, batches[batch % 8]))")
PROGRAMS["infer_small"] = SMALL.replace("READ", "np.asarray(predict(params, batches[batch % 8]))")
PROGRAMS["infer_timed"] = SMALL.replace("READ", "timed(params, batches[batch % 8])")


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

    def test_what_is_compiled_once(self):
        for name in ("short", "set_up"):
            with self.subTest(name):
                self.assertEqual([row["title"] for row in self.findings(name) if "compiled again" in row["title"]], [])

    def test_numpy_in_a_loop_of_python(self):
        first = self.findings("numpy")[0]
        self.assertEqual((first["id"], first["line"]), ("F29", self.line("numpy", "out[i, row]")))
        self.assertIn("augment", first["title"])

    def test_what_jax_waits_for(self):
        faults = (("float", "losses.append", "waits for JAX's results"), ("trip", "np.sign(g)", "outside of the model"),
                  ("eager_optax", "optimizer.update", "eagerly"),
                  ("eager_rollout", "jnp.tanh", "eagerly"), ("rows", "jnp.stack", "eagerly"))
        for name, text, word in faults:
            with self.subTest(name):
                first = self.findings(name)[0]
                self.assertEqual((first["id"], first["line"]), ("F29", self.line(name, text)))
                self.assertIn(word, first["title"])

    def test_the_same_without_the_fault(self):
        for name in ("later", "printed", "stay", "optax", "rollout"):
            with self.subTest(name):
                titles = [row["title"] for row in self.findings(name) if "outside of the model" not in row["title"]]
                self.assertEqual(titles, [])

    def test_predictions_whose_outputs_are_fetched(self):
        for name in ("infer", "infer_small", "infer_timed"):
            with self.subTest(name):
                rules = {row["id"] for row in self.findings(name)}
                self.assertEqual(rules & {"F2", "F9", "F25", "F29", "F30"}, set())

    def test_healthy_programs(self):
        for name in ("train", "flax", "scan"):
            with self.subTest(name):
                rules = {row["id"] for row in self.findings(name)}
                self.assertEqual(rules & {"F2", "F9", "F25", "F30"}, set())


if __name__ == "__main__":
    unittest.main()
