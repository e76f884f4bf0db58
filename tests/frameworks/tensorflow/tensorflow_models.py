# SPDX-License-Identifier: Apache-2.0
"""Models for long_tensorflow.py, and what TensorFlow's Python finds in them. Runs in an environment with TensorFlow:

    python3 tensorflow_models.py FOLDER [small]

makes NAME/ (SavedModel) and NAME.pb (frozen) of a small network and of ResNet-50, models that are odd, and for each of the
first four NAME.metadata (a RunMetadata) and NAME.json (its executions, read by the official protobuf classes); with "small"
the small network only. Weights, biases and statistics of batch norms are random: with their initial values the optimisers
fold layers away."""
import json
import os
import pathlib
import sys

os.environ["TF_CPP_MIN_LOG_LEVEL"] = "3"
import numpy as np  # noqa: E402
import tensorflow as tf  # noqa: E402
from tensorflow.python.framework.convert_to_constants import convert_variables_to_constants_v2  # noqa: E402

v1 = tf.compat.v1
FLOAT = v1.AttrValue(type=tf.float32.as_datatype_enum)


def small():
    layers = tf.keras.layers
    data = x = layers.Input((32, 32, 3))
    for filters in (16, 32):
        x = layers.Conv2D(filters, 3, padding="same")(x)
        x = layers.BatchNormalization()(x)
        x = layers.ReLU()(x)
        x = layers.Conv2D(filters, 3, padding="same", activation="relu")(x)
        x = layers.MaxPool2D()(x)
    x = layers.GlobalAveragePooling2D()(x)
    return tf.keras.Model(data, layers.Dense(10, activation="softmax")(x))


def make_random(model):
    numbers = np.random.RandomState(0)
    for layer in model.layers:
        weights = layer.get_weights()
        if isinstance(layer, tf.keras.layers.BatchNormalization):
            ranges = [(.5, 1.5), (-.1, .1), (-.1, .1), (.5, 1.5)]
            layer.set_weights([numbers.uniform(*limits, old.shape) for limits, old in zip(ranges, weights)])
        elif len(weights) == 2:
            layer.set_weights([weights[0], numbers.uniform(-.1, .1, weights[1].shape)])
    return model


def executions(metadata):
    """As xsp is to read them: once, without the executor's own _SOURCE."""
    found = []
    for device in metadata.step_stats.dev_stats:
        for node in device.node_stats:
            if node.node_name == "_SOURCE":
                continue
            shape = [dim.size for dim in node.output[0].tensor_description.shape.dim] if node.output else None
            found.append({"node": node.node_name, "type": node.timeline_label.split(" = ")[1].split("(")[0],
                          "start_ns": node.all_start_nanos, "duration_ns": node.all_end_rel_nanos,
                          "alloc_bytes": sum(memory.total_bytes for memory in node.memory), "shape": shape})
    return sorted(found, key=lambda step: (step["start_ns"], -step["duration_ns"]))


def record(session, inputs, outputs, shape, path):
    """RunMetadata of the third of three runs at batch size 1."""
    feed = {inputs: np.zeros((1, *shape), np.float32)}
    options = v1.RunOptions(trace_level=v1.RunOptions.FULL_TRACE, output_partition_graphs=True)
    for _ in range(3):
        metadata = v1.RunMetadata()
        session.run(outputs, feed, options=options, run_metadata=metadata)
    path.with_suffix(".metadata").write_bytes(metadata.SerializeToString())
    path.with_suffix(".json").write_text(json.dumps(executions(metadata)))


def write(name, model, shape, folder):
    make_random(model)
    function = tf.function(lambda x: model(x, training=False))
    concrete = function.get_concrete_function(tf.TensorSpec([None, *shape], tf.float32, name="image"))
    graph = convert_variables_to_constants_v2(concrete).graph.as_graph_def()
    (folder / f"{name}_frozen.pb").write_bytes(graph.SerializeToString())
    model.export(str(folder / f"{name}_saved"), format="tf_saved_model", verbose=False)
    with v1.Session(graph=tf.Graph()) as session:
        v1.import_graph_def(graph, name="")
        record(session, "image:0", "Identity:0", shape, folder / f"{name}_frozen.pb")
    with v1.Session(graph=tf.Graph()) as session:
        loaded = v1.saved_model.load(session, ["serve"], str(folder / f"{name}_saved"))
        signature = loaded.signature_def["serving_default"]
        record(session, next(iter(signature.inputs.values())).name, next(iter(signature.outputs.values())).name, shape,
               folder / f"{name}_saved.pb")


def add_node(graph, name, operator, *inputs, **attributes):
    node = graph.node.add(name=name, op=operator, input=inputs)
    for key, value in attributes.items():
        node.attr[key].CopyFrom(value)
    return node


def graph_with(shape, *nodes):
    graph = v1.GraphDef()
    add_node(graph, "x", "Placeholder", dtype=FLOAT, shape=v1.AttrValue(shape=shape))
    for name, operator, *inputs in nodes:
        attributes = {} if operator == "NoSuchOperator" else {"T": FLOAT}
        add_node(graph, name, operator, *inputs, **attributes)
    return graph


def write_odd(folder):
    free = tf.TensorShape([None]).as_proto()
    (folder / "no_operator.pb").write_bytes(graph_with(free, ("y", "NoSuchOperator", "x")).SerializeToString())
    (folder / "no_rank.pb").write_bytes(
        graph_with(tf.TensorShape(None).as_proto(), ("y", "Neg", "x")).SerializeToString())
    huge = graph_with(free, ("y", "AddV2", "x", "c"))
    constant = v1.AttrValue()
    constant.tensor.CopyFrom(tf.make_tensor_proto(1.0, shape=[1]))
    constant.tensor.tensor_shape.CopyFrom(tf.TensorShape([10 ** 12]).as_proto())
    add_node(huge, "c", "Const", dtype=FLOAT, value=constant)
    (folder / "huge_constant.pb").write_bytes(huge.SerializeToString())
    variable = graph_with(free, ("y", "AddV2", "x", "v"))
    add_node(variable, "h", "VarHandleOp", dtype=FLOAT, shape=v1.AttrValue(shape=free),
             shared_name=v1.AttrValue(s=b"nobody"))
    add_node(variable, "v", "ReadVariableOp", "h", dtype=FLOAT)
    (folder / "no_value.pb").write_bytes(variable.SerializeToString())


class Texts(tf.Module):
    @tf.function(input_signature=[tf.TensorSpec([None], tf.string, name="text")])
    def serve(self, text):
        return {"length": tf.strings.length(text)}


@tf.function(experimental_attributes={"_noinline": True})
def called(x):
    for _ in range(2):
        x = tf.nn.relu(tf.matmul(x, tf.ones((16, 16))))
    return x


class Mixed(tf.Module):
    """Two inputs of different types, a loop, and a call that is not inlined."""

    @tf.function(input_signature=[tf.TensorSpec([None, None], tf.int64, name="ids"),
                                  tf.TensorSpec([None, 16], tf.float32, name="features")])
    def serve(self, ids, features):
        scale = tf.reduce_sum(tf.cast(ids, tf.float32), 1, keepdims=True)
        _, looped = tf.while_loop(lambda i, y: i < 5, lambda i, y: (i + 1, tf.nn.relu(tf.matmul(y, tf.ones((16, 16))))),
                                  [tf.constant(0), features])
        return {"y": looped + scale, "z": called(features)}


class Reshapes(tf.Module):
    @tf.function(input_signature=[tf.TensorSpec([None, None], tf.float32, name="x")])
    def serve(self, x):
        return {"y": tf.reshape(x, [-1, 7, 7])}


def main(folder, which="all"):
    folder.mkdir(parents=True, exist_ok=True)
    write("small", small(), (32, 32, 3), folder)
    if which == "small":
        return
    write("resnet50", tf.keras.applications.ResNet50(weights=None), (224, 224, 3), folder)
    write_odd(folder)
    for name, module in (("texts", Texts()), ("mixed", Mixed()), ("reshapes", Reshapes())):
        tf.saved_model.save(module, str(folder / name), signatures=module.serve)


main(pathlib.Path(sys.argv[1]), *sys.argv[2:])
