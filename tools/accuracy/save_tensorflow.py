# SPDX-License-Identifier: Apache-2.0
"""save_tensorflow.py FOLDER: trains a small convolutional network on FOLDER/train.npz (digits_cnn.npz), and saves each NAME.npz as
NAME.pb, a frozen graph, and NAME.tflite. Inputs have their channels last."""
import pathlib
import sys

import numpy
import tensorflow as tf

SEED = 1
EPOCHS = 12


def train(folder):
    """Writes digits_cnn.npz."""
    tf.keras.utils.set_random_seed(SEED)
    train_set, keras = numpy.load(folder / "train.npz"), tf.keras.layers
    model = tf.keras.Sequential([
        tf.keras.Input((16, 16, 3)), keras.Conv2D(32, 3, padding="same", activation="relu"), keras.MaxPool2D(),
        keras.Conv2D(64, 3, padding="same", activation="relu"), keras.MaxPool2D(), keras.Permute((3, 1, 2)), keras.Flatten(),
        keras.Dropout(0.3), keras.Dense(512, activation="relu"), keras.Dropout(0.3), keras.Dense(10, activation="softmax")])
    model.compile("adam", "sparse_categorical_crossentropy", metrics=["accuracy"])
    model.fit(train_set["data"].transpose(0, 2, 3, 1), train_set["labels"], 32, EPOCHS, verbose=0)
    arrays = [array.transpose(3, 2, 0, 1) if array.ndim == 4 else array for array in model.get_weights()]
    numpy.savez(folder / "digits_cnn.npz", *arrays)


class Network(tf.Module):
    """A saved model's layers; each but the last ends with Relu, a convolution also with pooling."""

    def __init__(self, arrays):
        super().__init__()
        self.layers = [(array.transpose(2, 3, 1, 0) if array.ndim == 4 else array, bias)
                       for array, bias in zip(arrays[::2], arrays[1::2])]

    @tf.function(input_signature=[tf.TensorSpec([None, 16, 16, 3], tf.float32, name="data")])
    def __call__(self, data):
        values = data
        for number, (weights, bias) in enumerate(self.layers):
            if weights.ndim == 4:
                values = tf.nn.bias_add(tf.nn.conv2d(values, weights, 1, "SAME"), bias)
                values = tf.nn.max_pool2d(tf.nn.relu(values), 2, 2, "VALID")
                continue
            if values.shape.rank == 4:  # weights are those of channels first
                values = tf.reshape(tf.transpose(values, (0, 3, 1, 2)), (-1, len(weights)))
            values = tf.nn.bias_add(tf.matmul(values, weights), bias)
            values = tf.nn.relu(values) if number < len(self.layers) - 1 else tf.nn.softmax(values, name="scores")
        return values


def main(folder):
    train(folder)
    for path in folder.glob("digits_*.npz"):
        network = Network(list(numpy.load(path).values()))
        function = network.__call__.get_concrete_function()
        path.with_suffix(".pb").write_bytes(function.graph.as_graph_def().SerializeToString(deterministic=True))
        path.with_suffix(".tflite").write_bytes(tf.lite.TFLiteConverter.from_concrete_functions([function], network).convert())


if __name__ == "__main__":
    main(pathlib.Path(sys.argv[1]))
