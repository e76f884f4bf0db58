# SPDX-License-Identifier: Apache-2.0
"""Pictures: decoded, resized, cut, made tensors, as Pillow and NumPy do it; and files that are none."""
import io
import itertools
import os
import pathlib
import random
import subprocess
import struct
import tempfile
import unittest
import zlib

import numpy
from PIL import Image, ImageOps

PROGRAM = pathlib.Path(os.environ["XSP_BUILD"]) / "test-programs" / "process_image"
FILTERS = {"nearest": Image.Resampling.NEAREST, "box": Image.Resampling.BOX, "bilinear": Image.Resampling.BILINEAR,
           "hamming": Image.Resampling.HAMMING, "bicubic": Image.Resampling.BICUBIC, "lanczos": Image.Resampling.LANCZOS}


def picture(width, height, mode="RGB", seed=1):
    """Edges, slopes and noise."""
    values = numpy.random.default_rng(seed).integers(0, 256, (height, width, 4))
    y, x = numpy.mgrid[0:height, 0:width]
    values[..., 0] = (x * 5 + y * 3) % 256
    values[..., 1] = numpy.where((x // 7 + y // 5) % 2, 255, values[..., 1] // 3)
    rgba = Image.fromarray(values.astype(numpy.uint8), "RGBA")
    return rgba if mode == "RGBA" else rgba.convert("RGB").convert(mode)


def chunk(kind, data):
    return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))


class ImageTest(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory(prefix="xsp-images-")
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)

    def save(self, image, name, **options):
        image.save(self.folder / name, **options)
        return self.folder / name

    def run_it(self, *arguments):
        return subprocess.run([PROGRAM, *map(str, arguments)], capture_output=True, timeout=600, check=False)

    def values(self, path, color, *steps, kind="bytes", layout="hwc", last=()):
        done = self.run_it(path, color, *steps, kind, layout, *last)
        self.assertEqual((done.returncode, done.stderr), (0, b""))
        head, _, data = done.stdout.partition(b"\n")
        width, height, channels = map(int, head.split())
        shape = (height, width, channels) if layout == "hwc" else (channels, height, width)
        return numpy.frombuffer(data, numpy.uint8 if kind == "bytes" else numpy.float32).reshape(shape)

    def same(self, found, expected):
        expected = numpy.asarray(expected)
        self.assertEqual(found.shape, expected.shape if expected.ndim == 3 else (*expected.shape, 1))
        self.assertEqual(int((found.astype(int) != expected.reshape(found.shape)).sum()), 0)


class Decoding(ImageTest):
    def check(self, path):
        whole = Image.open(path)
        rgb = numpy.asarray(whole.convert("RGB"))
        self.same(self.values(path, "RGB"), rgb)
        self.same(self.values(path, "BGR"), rgb[..., ::-1])
        self.same(self.values(path, "GRAY"), numpy.asarray(Image.fromarray(rgb).convert("L")))

    def test_jpeg(self):
        for number, (quality, subsampling, progressive) in enumerate(itertools.product((30, 95), (0, 1, 2), (False, True))):
            for size in ((61, 47), (8, 8), (1, 1), (300, 5)):
                with self.subTest(quality=quality, subsampling=subsampling, progressive=progressive, size=size):
                    self.check(self.save(picture(*size, seed=number), "x.jpg", quality=quality, subsampling=subsampling,
                                         progressive=progressive))

    def test_gray_jpeg(self):
        path = self.save(picture(50, 40, "L"), "x.jpg")
        self.same(self.values(path, "GRAY"), Image.open(path))
        self.same(self.values(path, "RGB"), Image.open(path).convert("RGB"))

    def test_png(self):
        for mode in ("1", "L", "LA", "P", "RGB", "RGBA"):
            with self.subTest(mode):
                self.check(self.save(picture(33, 21, "RGB" if mode == "LA" else mode).convert(mode), "x.png"))

    def test_png_of_few_colors_and_transparent_ones(self):
        for bits in (1, 2, 4):
            with self.subTest(bits):
                few = picture(19, 9).quantize(2 ** bits)
                self.check(self.save(few, "x.png", bits=bits, transparency=0))

    def test_png_of_16_bits_keeps_the_upper_eight(self):
        values = numpy.random.default_rng(3).integers(0, 65536, (6, 5), numpy.uint16)
        path = self.save(Image.fromarray(values), "x.png")
        self.same(self.values(path, "GRAY"), values >> 8)

    def test_png_with_interlacing(self):
        """Pillow reads it, but does not write it: the seven passes by hand."""
        values = numpy.asarray(picture(13, 11))
        passes = ((0, 0, 8, 8), (4, 0, 8, 8), (0, 4, 4, 8), (2, 0, 4, 4), (0, 2, 2, 4), (1, 0, 2, 2), (0, 1, 1, 2))
        rows = b"".join(b"\0" + row.tobytes() for x, y, dx, dy in passes for row in values[y::dy, x::dx] if row.size)
        head = struct.pack(">IIBBBBB", 13, 11, 8, 2, 0, 0, 1)
        path = self.folder / "x.png"
        path.write_bytes(b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", head) + chunk(b"IDAT", zlib.compress(rows)) + chunk(b"IEND", b""))
        self.same(self.values(path, "RGB"), values)
        self.check(path)


class Shaping(ImageTest):
    def test_resize_in_random_sizes(self):
        choose = random.Random(5)
        for number in range(60):
            filter_name, mode = choose.choice(list(FILTERS)), choose.choice(("RGB", "L"))
            size = (choose.randrange(1, 90), choose.randrange(1, 90))
            to = choose.choice(((choose.randrange(1, 120), choose.randrange(1, 120)), size, (size[0], 31), (17, size[1])))
            with self.subTest(filter=filter_name, size=size, to=to, mode=mode):
                path = self.save(picture(*size, mode, number), "x.png")
                found = self.values(path, "RGB" if mode == "RGB" else "GRAY", "resize", *to, filter_name)
                self.same(found, Image.open(path).resize(to, FILTERS[filter_name]))

    def test_every_filter_enlarges_and_reduces(self):
        path = self.save(picture(64, 48), "x.png")
        for filter_name, to in itertools.product(FILTERS, ((224, 224), (9, 7), (64, 5))):
            with self.subTest(filter=filter_name, to=to):
                self.same(self.values(path, "RGB", "resize", *to, filter_name), Image.open(path).resize(to, FILTERS[filter_name]))

    def test_shorter_side(self):
        """torchvision's sizes: the longer side is rounded down."""
        for size in ((500, 375), (375, 500), (31, 31), (97, 41), (3, 100)):
            with self.subTest(size):
                path = self.save(picture(*size), "x.png")
                short, long_side = min(size), int(24 * max(size) / min(size))
                to = (24, long_side) if size[0] <= size[1] else (long_side, 24)
                self.assertEqual(short, min(size))
                self.same(self.values(path, "RGB", "shorter", 24, "bilinear"), Image.open(path).resize(to, FILTERS["bilinear"]))

    def test_crop(self):
        """torchvision's center_crop: halves to even, black around smaller pictures."""
        for size, to in itertools.product(((20, 15), (21, 16), (5, 40)), ((10, 8), (11, 9), (30, 30), (20, 15), (6, 40))):
            with self.subTest(size=size, to=to):
                path = self.save(picture(*size), "x.png")
                values = numpy.asarray(Image.open(path))
                padded = [(max(0, (want - have) // 2), max(0, (want - have + 1) // 2)) for want, have in zip(to[::-1], values.shape)]
                values = numpy.pad(values, [*padded, (0, 0)])
                top, left = (round((have - want) / 2) for have, want in zip(values.shape, to[::-1]))
                self.same(self.values(path, "RGB", "crop", *to), values[top:top + to[1], left:left + to[0]])


    def test_letterbox(self):
        """The size is that of Pillow's ImageOps.contain; of an odd border the smaller half comes first."""
        choose = random.Random(8)
        for number in range(40):
            size, to = ((choose.randrange(5, 90), choose.randrange(5, 90)), (choose.randrange(20, 90), choose.randrange(20, 90)))
            with self.subTest(size=size, to=to):
                path = self.save(picture(*size, seed=number), "x.png")
                small = ImageOps.contain(Image.open(path), to, Image.Resampling.BILINEAR)
                whole = Image.new("RGB", to, (114, 114, 114))
                whole.paste(small, ((to[0] - small.width) // 2, (to[1] - small.height) // 2))
                self.same(self.values(path, "RGB", "letterbox", *to, "bilinear", 114), whole)

    def test_letterbox_of_a_thin_picture(self):
        path = self.save(picture(90, 1), "x.png")
        self.assertEqual(self.values(path, "RGB", "letterbox", 20, 20, "bilinear", 0).any(axis=(1, 2)).sum(), 1)


class Tensors(ImageTest):
    def test_floats_equal_numpy_bit_by_bit(self):
        path = self.save(picture(17, 12), "x.png")
        mean, scale = numpy.float32([123.675, 116.28, 103.53]), numpy.float32([58.395, 57.12, 57.375])
        last = (",".join(map(str, mean)), ",".join(map(str, scale)))
        expected = (numpy.asarray(Image.open(path)).astype(numpy.float32) - mean) / scale
        for layout in ("hwc", "chw"):
            found = self.values(path, "RGB", kind="floats", layout=layout, last=last)
            wanted = expected if layout == "hwc" else expected.transpose(2, 0, 1)
            self.assertTrue((found.view(numpy.uint32) == numpy.ascontiguousarray(wanted).view(numpy.uint32)).all())

    def test_bytes(self):
        path = self.save(picture(17, 12), "x.png")
        expected = numpy.asarray(Image.open(path))
        self.assertTrue((self.values(path, "RGB", layout="chw") == expected.transpose(2, 0, 1)).all())


class Refused(ImageTest):
    def refused(self, data, reason):
        path = self.folder / "bad"
        path.write_bytes(data)
        done = self.run_it(path, "RGB", "bytes", "hwc")
        self.assertEqual((done.returncode, done.stdout), (2, b""))
        self.assertIn(reason, done.stderr.decode())

    def bytes_of(self, form, **options):
        out = io.BytesIO()
        picture(40, 30).save(out, form, **options)
        return out.getvalue()

    def test_other_files(self):
        for data in (b"", b"\xff\xd8", b"GIF89a", b"\x89PNG", b"<html>"):
            self.refused(data, "neither")

    def test_cut_off(self):
        for form in ("JPEG", "PNG"):
            whole = self.bytes_of(form)
            for length in (20, len(whole) // 2, len(whole) - 20):
                with self.subTest(form=form, length=length):
                    self.assertEqual(self.run_it(self.write(whole[:length]), "RGB", "bytes", "hwc").returncode, 2)

    def write(self, data):
        (self.folder / "bad").write_bytes(data)
        return self.folder / "bad"

    def test_flipped_bytes_never_crash(self):
        choose = random.Random(9)
        for form, options in (("JPEG", {}), ("JPEG", {"progressive": True}), ("PNG", {})):
            whole = self.bytes_of(form, **options)
            for _ in range(60):
                data = bytearray(whole)
                for _ in range(choose.randrange(1, 4)):
                    data[choose.randrange(2, len(data))] = choose.randrange(256)
                self.assertIn(self.run_it(self.write(bytes(data)), "RGB", "bytes", "hwc").returncode, (0, 2))

    def test_too_large(self):
        head = struct.pack(">IIBBBBB", 60000, 60000, 8, 2, 0, 0, 0)
        self.refused(b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", head) + chunk(b"IDAT", b"") + chunk(b"IEND", b""), "pixels")
        jpeg = bytearray(self.bytes_of("JPEG"))
        at = jpeg.index(b"\xff\xc0") + 5
        jpeg[at:at + 4] = struct.pack(">HH", 65000, 65000)
        self.refused(bytes(jpeg), "pixels")

    def test_print_colors(self):
        out = io.BytesIO()
        picture(8, 8).convert("CMYK").save(out, "JPEG")
        self.refused(out.getvalue(), "CMYK")

    def test_many_scans(self):
        """Each scan goes over the whole picture: a small file would take for ever."""
        whole = self.bytes_of("JPEG", progressive=True)
        at = whole.rindex(b"\xff\xda")
        self.refused(whole[:-2] + whole[at:-2] * 600 + whole[-2:], "scans")


if __name__ == "__main__":
    unittest.main()
