# SPDX-License-Identifier: Apache-2.0
"""The ten models of this folder in JAX, with Flax and Optax, in the PyTorch models' sizes. A step is one function under jax.jit:

    python3 bench/workloads/jax_models.py llama --mode train

They differ where JAX has a form of its own: pictures have their channels last, and gradients of DLRM's tables are dense."""
import contextlib
import functools
import os
import tempfile

import jax
import jax.numpy as jnp
import numpy as np
import optax
from flax import linen as nn

import workload as shared

MODELS = {}  # by name: a function of whether it is trained, which returns module, inputs, optimizer, loss of the output
Linear = functools.partial(nn.Dense, use_bias=False)
random = np.random.default_rng(0)


def model(make):
    MODELS[make.__name__] = make
    return make


def tokens(vocabulary, *shape):
    return random.integers(vocabulary, size=shape)


def normal(*shape):
    return random.normal(size=shape).astype(np.float32)


def cross_entropy(logits):
    labels = jnp.arange(logits.size // logits.shape[-1]).reshape(logits.shape[:-1]) % logits.shape[-1]
    return optax.softmax_cross_entropy_with_integer_labels(logits, labels).mean()


def click_loss(logits):
    return optax.sigmoid_binary_cross_entropy(logits, jnp.arange(logits.shape[-1]) % 2.0).mean()


def attend(q, k, v, width, turn=None, is_causal=False):
    """Attention in heads of `width`; `turn` rotates queries and keys."""
    q, k, v = (part.reshape(*part.shape[:2], -1, width) for part in (q, k, v))
    if turn is not None:
        q, k = turn(q), turn(k)
    return jax.nn.dot_product_attention(q, k, v, is_causal=is_causal).reshape(*q.shape[:2], -1)


# ---- language ------------------------------------------------------------------------------------------------------------------
class NanoGPT(nn.Module):
    vocabulary, width, heads, depth = 65, 384, 6, 6

    @nn.compact
    def __call__(self, text):
        norm = functools.partial(nn.LayerNorm, use_bias=False)
        embedding = nn.Embed(self.vocabulary, self.width)
        x = embedding(text) + nn.Embed(text.shape[1], self.width)(jnp.arange(text.shape[1]))
        for _ in range(self.depth):
            q, k, v = jnp.split(Linear(3 * self.width)(norm()(x)), 3, -1)
            x = x + Linear(self.width)(attend(q, k, v, self.width // self.heads, is_causal=True))
            x = x + Linear(self.width)(nn.gelu(Linear(4 * self.width)(norm()(x)), approximate=False))
        return embedding.attend(norm()(x))


@model
def nanogpt(_):
    return NanoGPT(), (tokens(NanoGPT.vocabulary, 2, 64),), optax.adamw(1e-4), cross_entropy


def rotary(length, width, base=10000.0):
    angles = np.tile(np.outer(np.arange(length), base ** (-np.arange(0, width, 2) / width)), 2)[:, None]
    cos, sin = (jnp.asarray(part, jnp.float32) for part in (np.cos(angles), np.sin(angles)))

    def turn(x):
        first, second = jnp.split(x, 2, -1)
        return x * cos + jnp.concatenate([-second, first], -1) * sin
    return turn


class Decoder(nn.Module):
    """Llama, and Gemma, whose embedding is its output's, too."""
    vocabulary: int
    width: int
    head: int
    heads: int
    kv_heads: int
    hidden: int
    depth: int
    is_gemma: bool = False

    @nn.compact
    def __call__(self, text):
        embedding, turn = nn.Embed(self.vocabulary, self.width), rotary(text.shape[1], self.head)
        activation = nn.gelu if self.is_gemma else nn.silu
        x = embedding(text) * (self.width ** 0.5 if self.is_gemma else 1)
        for _ in range(self.depth):
            h = nn.RMSNorm()(x)
            q, k, v = (Linear(count * self.head)(h) for count in (self.heads, self.kv_heads, self.kv_heads))
            x = x + Linear(self.width)(attend(q, k, v, self.head, turn, is_causal=True))
            h = nn.RMSNorm()(x)
            x = x + Linear(self.width)(activation(Linear(self.hidden)(h)) * Linear(self.hidden)(h))
        x = nn.RMSNorm()(x)
        return embedding.attend(x) if self.is_gemma else Linear(self.vocabulary)(x)


@model
def llama(_):
    return Decoder(4096, 256, 32, 8, 2, 688, 8), (tokens(4096, 1, 128),), optax.adamw(1e-4), cross_entropy


@model
def gemma(_):
    return Decoder(8192, 256, 128, 4, 1, 2048, 6, True), (tokens(8192, 1, 96),), optax.adamw(1e-4), cross_entropy


def sines(places, width):
    angles = np.outer(places, 10000.0 ** (-np.arange(0, width, 2) / width))
    return np.stack([np.sin(angles), np.cos(angles)], -1).reshape(len(places), width).astype(np.float32)


class Transformer(nn.Module):
    vocabulary, width, heads, hidden, depth = 4096, 384, 16, 1536, 6

    def attention(self, x, memory, is_causal=False):
        q, k, v = nn.Dense(self.width)(x), nn.Dense(self.width)(memory), nn.Dense(self.width)(memory)
        return nn.Dense(self.width)(attend(q, k, v, self.width // self.heads, is_causal=is_causal))

    def feed_forward(self, x):
        return nn.LayerNorm()(x + nn.Dense(self.width)(nn.relu(nn.Dense(self.hidden)(x))))

    @nn.compact
    def __call__(self, source, target):
        embedding = nn.Embed(self.vocabulary, self.width)
        memory, x = (embedding(text) * self.width ** 0.5 + sines(range(text.shape[1]), self.width) for text in (source, target))
        for _ in range(self.depth):
            memory = self.feed_forward(nn.LayerNorm()(memory + self.attention(memory, memory)))
        for _ in range(self.depth):
            x = nn.LayerNorm()(x + self.attention(x, x, is_causal=True))
            x = self.feed_forward(nn.LayerNorm()(x + self.attention(x, memory)))
        return embedding.attend(x)


@model
def transformer_big(_):
    return Transformer(), tuple(tokens(Transformer.vocabulary, 1, 24) for _ in range(2)), optax.adam(1e-4), cross_entropy


# ---- pictures and speech ---------------------------------------------------------------------------------------------------------
class ViT(nn.Module):
    classes, patch, width, heads, depth = 1000, 16, 192, 3, 12

    @nn.compact
    def __call__(self, x):
        x = nn.Conv(self.width, (self.patch, self.patch), self.patch)(x).reshape(len(x), -1, self.width)
        token = self.param("class", nn.initializers.zeros, (1, 1, self.width))
        x = jnp.concatenate([jnp.tile(token, (len(x), 1, 1)), x], 1)
        x = x + self.param("positions", nn.initializers.normal(0.02), (1, *x.shape[1:]))
        for _ in range(self.depth):
            q, k, v = jnp.split(nn.Dense(3 * self.width)(nn.LayerNorm()(x)), 3, -1)
            x = x + nn.Dense(self.width)(attend(q, k, v, self.width // self.heads))
            x = x + nn.Dense(self.width)(nn.gelu(nn.Dense(4 * self.width)(nn.LayerNorm()(x)), approximate=False))
        return nn.Dense(self.classes)(nn.LayerNorm()(x)[:, 0])


@model
def vit(_):
    return ViT(), (normal(1, 224, 224, 3),), optax.adamw(1e-4), cross_entropy


class ResNet(nn.Module):
    """ResNet-50."""
    is_training: bool
    classes, blocks = 1000, (3, 4, 6, 3)

    @nn.compact
    def __call__(self, x):
        conv, norm = functools.partial(nn.Conv, use_bias=False), functools.partial(nn.BatchNorm, not self.is_training)
        x = nn.max_pool(nn.relu(norm()(conv(64, (7, 7), 2, 3)(x))), (3, 3), (2, 2), [(1, 1), (1, 1)])
        for number, count in enumerate(self.blocks):
            for block in range(count):
                width, stride = 64 << number, 2 if block == 0 and number > 0 else 1
                y = nn.relu(norm()(conv(width, (1, 1))(x)))
                y = nn.relu(norm()(conv(width, (3, 3), stride, 1)(y)))
                y = norm()(conv(4 * width, (1, 1))(y))
                x = nn.relu(y + (norm()(conv(4 * width, (1, 1), stride)(x)) if block == 0 else x))
        return nn.Dense(self.classes)(x.mean((1, 2)))


@model
def resnet(is_training):
    return ResNet(is_training), (normal(1, 128, 128, 3),), optax.sgd(1e-4), cross_entropy


class UNet(nn.Module):
    is_training: bool
    classes, widths = 2, (16, 32, 64, 128, 256)

    def double_conv(self, x, width):
        for _ in range(2):
            x = nn.relu(nn.BatchNorm(not self.is_training)(nn.Conv(width, (3, 3), use_bias=False)(x)))
        return x

    @nn.compact
    def __call__(self, x):
        skipped = []
        for width in self.widths[:-1]:
            x = self.double_conv(x, width)
            skipped.append(x)
            x = nn.max_pool(x, (2, 2), (2, 2))
        x = self.double_conv(x, self.widths[-1])
        for width in self.widths[-2::-1]:
            x = self.double_conv(jnp.concatenate([skipped.pop(), nn.ConvTranspose(width, (2, 2), (2, 2))(x)], -1), width)
        return nn.Conv(self.classes, (1, 1))(x)


@model
def unet(is_training):
    return UNet(is_training), (normal(1, 128, 128, 3),), optax.sgd(1e-4), cross_entropy


class RelativeAttention(nn.Module):
    """Content and relative position, as in Transformer-XL; positions' scores are shifted until they are the keys'."""
    heads: int

    @nn.compact
    def __call__(self, x, positions):
        batch, length, width = x.shape
        shape = (self.heads, width // self.heads)
        q, k, v = (part.reshape(batch, length, *shape) for part in jnp.split(nn.Dense(3 * width)(nn.LayerNorm()(x)), 3, -1))
        p = Linear(width)(positions).reshape(-1, *shape)
        content_bias, position_bias = (self.param(name, nn.initializers.zeros, shape) for name in ("content", "position"))
        content = jnp.einsum("bqhd,bkhd->bhqk", q + content_bias, k)
        scores = jnp.pad(jnp.einsum("bqhd,phd->bhqp", q + position_bias, p), ((0, 0), (0, 0), (0, 0), (1, 0)))
        scores = scores.reshape(batch, self.heads, 2 * length, length)[:, :, 1:].reshape(batch, self.heads, length, -1)
        weights = nn.softmax((content + scores[..., :length]) * shape[1] ** -0.5)
        return nn.Dense(width)(jnp.einsum("bhqk,bkhd->bqhd", weights, v).reshape(x.shape))


class Conformer(nn.Module):
    is_training: bool
    labels, width, heads, kernel, depth = 128, 144, 4, 31, 8

    def feed_forward(self, x):
        return nn.Dense(self.width)(nn.silu(nn.Dense(4 * self.width)(nn.LayerNorm()(x))))

    def convolution(self, x):
        x = nn.glu(nn.Conv(2 * self.width, (1,))(nn.LayerNorm()(x)))
        x = nn.Conv(self.width, (self.kernel,), feature_group_count=self.width)(x)
        return nn.Conv(self.width, (1,))(nn.silu(nn.BatchNorm(not self.is_training)(x)))

    @nn.compact
    def __call__(self, features):
        x = features[..., None]
        for _ in range(2):
            x = nn.relu(nn.Conv(self.width, (3, 3), 2, "VALID")(x))
        x = nn.Dense(self.width)(x.reshape(*x.shape[:2], -1))
        positions = sines(range(x.shape[1] - 1, -x.shape[1], -1), self.width)
        for _ in range(self.depth):
            x = x + 0.5 * self.feed_forward(x)
            x = x + RelativeAttention(self.heads)(x, positions)
            x = x + self.convolution(x)
            x = nn.LayerNorm()(x + 0.5 * self.feed_forward(x))
        return nn.Dense(self.labels)(x)


def ctc_loss(logits):
    labels = jnp.tile(1 + jnp.arange(16) % (logits.shape[-1] - 1), (len(logits), 1))
    return optax.ctc_loss(logits, jnp.zeros(logits.shape[:2]), labels, jnp.zeros(labels.shape)).mean()


@model
def conformer(is_training):
    return Conformer(is_training), (normal(1, 256, 80),), optax.adamw(1e-4), ctc_loss


# ---- clicks and molecules --------------------------------------------------------------------------------------------------------
class DLRM(nn.Module):
    tables, rows, width = 26, 20_000, 32

    @nn.compact
    def __call__(self, dense, categories):
        for width in (256, 128, self.width):
            dense = nn.relu(nn.Dense(width)(dense))
        bags = [nn.Embed(self.rows, self.width)(categories[:, table]).sum(1) for table in range(self.tables)]
        features = jnp.stack([dense, *bags], 1)
        products = (features @ features.mT)[:, *np.tril_indices(self.tables + 1, -1)]
        x = jnp.concatenate([dense, products], 1)
        for width in (256, 128):
            x = nn.relu(nn.Dense(width)(x))
        return nn.Dense(1)(x)[:, 0]


@model
def dlrm(_):
    return DLRM(), (normal(2048, 13), tokens(DLRM.rows, 2048, DLRM.tables, 4)), optax.sgd(1e-4), click_loss


class GraphNetwork(nn.Module):
    is_training: bool
    graphs, nodes, edges, atoms, bonds, width, depth, tasks = 128, 26, 56, 119, 4, 128, 5, 128

    @nn.compact
    def __call__(self, atoms, sources, targets, bonds, graphs):
        norm = functools.partial(nn.BatchNorm, not self.is_training)
        h = nn.Embed(self.atoms, self.width)(atoms)
        for number in range(self.depth):
            messages = nn.relu(h[sources] + nn.Embed(self.bonds, self.width)(bonds))
            eps = self.param(f"eps{number}", nn.initializers.zeros, 1)
            x = (1 + eps) * h + jax.ops.segment_sum(messages, targets, len(h))
            x = nn.Dense(self.width)(nn.relu(norm()(nn.Dense(2 * self.width)(x))))
            h = h + nn.relu(norm()(x))
        sizes = jax.ops.segment_sum(jnp.ones(len(h)), graphs, self.graphs)
        return nn.Dense(self.tasks)(jax.ops.segment_sum(h, graphs, self.graphs) / sizes[:, None])


@model
def gnn(is_training):
    sizes = GraphNetwork
    first = np.arange(sizes.graphs).repeat(sizes.edges) * sizes.nodes  # edges stay within their graph
    inputs = (tokens(sizes.atoms, sizes.graphs * sizes.nodes), first + tokens(sizes.nodes, len(first)),
              first + tokens(sizes.nodes, len(first)), tokens(sizes.bonds, len(first)),
              np.arange(sizes.graphs).repeat(sizes.nodes))
    return GraphNetwork(is_training), inputs, optax.adam(1e-4), click_loss


# ---- the program -----------------------------------------------------------------------------------------------------------------
def training(module, variables, inputs, optimizer, loss):
    @functools.partial(jax.jit, donate_argnums=0)
    def train_step(carried, *inputs):
        def loss_of(parameters):
            output, changed = module.apply({**rest, "params": parameters}, *inputs, mutable=list(rest))
            return loss(output), changed
        rest, parameters, state = carried
        (value, rest), gradients = jax.value_and_grad(loss_of, has_aux=True)(parameters)
        updates, state = optimizer.update(gradients, state, parameters)
        return (rest, optax.apply_updates(parameters, updates), state), value

    rest, parameters = {name: part for name, part in variables.items() if name != "params"}, variables["params"]
    carried = rest, parameters, optimizer.init(parameters)

    def step():
        nonlocal carried
        carried, value = train_step(carried, *inputs)
        value.block_until_ready()
    return step


def inference(module, variables, inputs):
    predict = jax.jit(module.apply)
    return lambda: predict(variables, *inputs).block_until_ready()


def main():
    parser = shared.parser("one of ten models in JAX, with random weights", ("jax",))
    parser.add_argument("model", choices=sorted(MODELS))
    options = parser.parse_args()
    if options.threads == 1:
        os.environ["XLA_FLAGS"] = "--xla_cpu_multi_thread_eigen=false"
    module, inputs, optimizer, loss = MODELS[options.model](options.mode == "train")
    inputs = jax.device_put(inputs)
    variables = module.init(jax.random.key(0), *inputs)
    iteration = inference(module, variables, inputs) if options.mode == "infer" \
        else training(module, variables, inputs, optimizer, loss)
    with tempfile.TemporaryDirectory(prefix="xsp-bench-") as folder:
        profiler = jax.profiler.trace(folder) if options.profiler == "jax" else contextlib.nullcontext()
        shared.run(options.model, iteration, options, profiler)


if __name__ == "__main__":
    main()
