# SPDX-License-Identifier: Apache-2.0
"""make_digits.py FOLDER: labelled colour pictures of scikit-learn's handwritten digits, and two models trained on half of them.

A picture is 64 by 32: the digit in the middle in red, another digit over it in blue, halves of others on both sides, and noise. So each
usual mistake in preparing pictures costs accuracy. FOLDER/pictures has the half that no model was trained on; train.npz the other half,
prepared by Pillow as the manifests have it; NAME.npz the weights of a model, layer by layer: a kernel (output, input, height, width) or a
matrix (input, output), then its bias.
"""
import pathlib
import sys

import numpy
from PIL import Image
from sklearn.datasets import load_digits
from sklearn.neural_network import MLPClassifier

SEED = 1
SIDE = 16  # of a model's input
SIZES = {"digits_small": (32,), "digits_wide": (512, 256)}  # the models: their hidden layers


def enlarge(digit):
    """32 by 32 values from 0 to 240."""
    return numpy.asarray(Image.fromarray((digit * 15).astype(numpy.uint8)).resize((32, 32), Image.Resampling.BICUBIC), numpy.float32)


def picture(digits, number, random):
    left, right, over = (enlarge(digits.images[chosen]) for chosen in random.integers(len(digits.images), size=3))
    values = numpy.zeros((32, 64, 3), numpy.float32)
    values[:, 16:48, 0] = enlarge(digits.images[number])
    values[:, 16:48, 2] = over
    values[:, :16] += left[:, 16:, None]
    values[:, 48:] += right[:, :16, None]
    values[:, :, 1] += 60
    values += random.normal(0, 40, values.shape)
    return Image.fromarray(values.clip(0, 255).astype(numpy.uint8))


def prepare(image):
    """As the manifests: the shorter side to 16, the middle, from -1 to 1, channels first."""
    image = image.resize((2 * SIDE, SIDE), Image.Resampling.BILINEAR).crop((SIDE // 2, 0, SIDE // 2 + SIDE, SIDE))
    return (numpy.asarray(image, numpy.float32).transpose(2, 0, 1) - 127.5) / 127.5


def main(folder):
    digits, random = load_digits(), numpy.random.default_rng(SEED)
    half, prepared = len(digits.target) // 2, []
    for number, label in enumerate(digits.target):
        image = picture(digits, number, random)
        if number < half:
            prepared.append(prepare(image))
            continue
        place = folder / "pictures" / str(label)
        place.mkdir(parents=True, exist_ok=True)
        image.save(place / f"{number:04}.png")
    data, labels = numpy.stack(prepared), digits.target[:half]
    numpy.savez(folder / "train.npz", data=data, labels=labels)
    for name, hidden in SIZES.items():
        model = MLPClassifier(hidden, alpha=1.0, random_state=SEED, max_iter=60).fit(data.reshape(half, -1), labels)
        arrays = [array.astype(numpy.float32) for layer in zip(model.coefs_, model.intercepts_) for array in layer]
        numpy.savez(folder / f"{name}.npz", *arrays)


if __name__ == "__main__":
    main(pathlib.Path(sys.argv[1]))
