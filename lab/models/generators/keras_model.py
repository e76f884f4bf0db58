#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Makes a model of Keras: a network of keras.applications, or one of ours (keras_networks.py, keras_tasks.py).

    keras_model.py NETWORK [--format frozen|saved|tflite] [OPTION=VALUE…] --output PATH

Options are the network's arguments: `alpha=0.5 input_shape=160,160,3` (default for networks of
keras.applications: 224,224,3). Writes a frozen graph (the default), a SavedModel folder or a TFLite file; the batch size is free. Weights are
random from a fixed seed, and so are biases and the statistics of batch norms: with their initial values the frameworks'
optimisers fold layers away. Needs tensorflow or tensorflow-cpu.
"""
import argparse
import math
import os
import pathlib
import sys

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
os.environ.setdefault("CUDA_VISIBLE_DEVICES", "-1")
try:
    import numpy
    import tensorflow as tf
except ImportError as error:
    raise SystemExit(f"keras_model.py: {error}; try: pip install tensorflow-cpu") from error
import keras_networks  # noqa: E402
import keras_tasks  # noqa: E402

# What a weight holds, by the last part of its name. The ranges are those of trained networks, roughly.
RANGES = {"gamma": (.5, 1.5), "moving_variance": (.5, 1.5), "beta": (-.1, .1), "moving_mean": (-.1, .1),
          "bias": (-.1, .1), "alpha": (0, .5), "embeddings": (-.1, .1)}


def fan_in(kind, shape):
    """How many values one value of the output is a sum of."""
    if kind == "depthwise_kernel":
        return math.prod(shape[:2])
    return math.prod(shape[:-1])


def fill(model, seed):
    """He et al.'s scale for kernels, so that values neither vanish nor explode with depth."""
    random = numpy.random.default_rng(seed)
    for weight in model.weights:
        kind, shape = weight.path.rsplit("/", 1)[-1], tuple(weight.shape)
        if kind in RANGES:
            values = random.uniform(*RANGES[kind], shape)
        elif kind.endswith("kernel"):
            values = random.standard_normal(shape, numpy.float32) * math.sqrt(2 / fan_in(kind, shape))
        else:
            continue  # no weight: state of a random generator, constants of the network
        weight.assign(values.astype(numpy.float32))


def build(name, options):
    for module in (keras_networks, keras_tasks):
        if name in module.NETWORKS:
            return module.NETWORKS[name](**options)
    network = getattr(tf.keras.applications, name, None)
    if not callable(network) or not isinstance(network, type(build)):
        known = sorted([*keras_networks.NETWORKS, *keras_tasks.NETWORKS])
        raise SystemExit(f"keras_model.py: no network {name} in keras.applications, nor among ours: {', '.join(known)}")
    shape = options.pop("input_shape", (224, 224, 3))
    return network(weights=None, input_shape=shape, input_tensor=tf.keras.Input(shape, name="image"), **options)


def free_reshapes():
    """Keras's Reshape computes its shape from the batch size, and LiteRT 2.3 crashes in these nodes where that is not the
    one of the file; -1 in a constant shape means the same."""
    original = tf.keras.layers.Reshape.call

    def call(self, x):
        return original(self, x) if -1 in self.target_shape else tf.reshape(x, (-1, *self.target_shape))
    tf.keras.layers.Reshape.call = call


def concrete_function(model):
    """The model as one function of its inputs, named as the model names them."""
    specifications = [tf.TensorSpec([None, *tensor.shape[1:]], tensor.dtype, name=tensor.name.split(":")[0])
                      for tensor in model.inputs]
    return tf.function(lambda *inputs: model(list(inputs) if len(inputs) > 1 else inputs[0], training=False)
                       ).get_concrete_function(*specifications)


def write_frozen(model, path):
    from tensorflow.python.framework.convert_to_constants import convert_variables_to_constants_v2
    graph = convert_variables_to_constants_v2(concrete_function(model)).graph.as_graph_def()
    path.write_bytes(graph.SerializeToString(deterministic=True))


def write_saved(model, path):
    model.export(str(path), format="tf_saved_model", verbose=False)


def write_tflite(model, path):
    path.write_bytes(tf.lite.TFLiteConverter.from_keras_model(model).convert())


def value_of(text):
    """`0.5`, `3`, `160,160,3` or a word."""
    if "," in text:
        return tuple(value_of(part) for part in text.split(","))
    for kind in (int, float):
        try:
            return kind(text)
        except ValueError:
            pass
    return {"true": True, "false": False, "none": None}.get(text.lower(), text)


def main():
    parser = argparse.ArgumentParser(description="make a model of Keras with random weights")
    parser.add_argument("network")
    parser.add_argument("options", nargs="*", metavar="OPTION=VALUE")
    parser.add_argument("--format", choices=["frozen", "saved", "tflite"], default="frozen")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--output", type=pathlib.Path, required=True)
    arguments = parser.parse_intermixed_args()
    options = {}
    for option in arguments.options:
        name, equals, value = option.partition("=")
        if not equals:
            parser.error(f"{option} is not OPTION=VALUE")
        options[name] = value_of(value)
    tf.keras.utils.set_random_seed(arguments.seed)
    if arguments.format == "tflite":
        free_reshapes()
    try:
        model = build(arguments.network, options)
    except (TypeError, ValueError) as error:
        raise SystemExit(f"keras_model.py: {arguments.network}: {' '.join(str(error).split())}") from error
    fill(model, arguments.seed)
    write = {"frozen": write_frozen, "saved": write_saved, "tflite": write_tflite}[arguments.format]
    try:
        write(model, arguments.output)
    except OSError as error:
        raise SystemExit(f"keras_model.py: cannot write {arguments.output}: {error.strerror}") from error


if __name__ == "__main__":
    # TensorFlow and its converter print to stdout; this program's messages go to stderr.
    os.dup2(sys.stderr.fileno(), sys.stdout.fileno())
    main()
