# SPDX-License-Identifier: Apache-2.0
"""Data sets in one file: `xsp data`, what hostile and damaged files do, that `xsp evaluate` sees the same as in a folder, and that the
reader of docs/data.md reads them."""
import hashlib
import io
import json
import os
import pathlib
import re
import struct
import subprocess
import tempfile
import time
import unittest
import zlib

import numpy
import onnx
import yaml
from onnx import TensorProto, helper, numpy_helper
from PIL import Image

from file_server import FileServer, Place

SOURCE = pathlib.Path(os.environ["XSP_SOURCE"])
XSP = pathlib.Path(os.environ["XSP_BUILD"]).resolve() / "xsp"
HEAD, ENTRY, MAGIC, NO_LABEL = "<8sIIQQQI20s", "<QQIIII", b"\x89XSPD\r\n\x1a", 0xffffffff


def write(path, items, *, version=1, magic=MAGIC, entries=None, texts=None, count=None, head=None, index_crc=None, tail=b""):
    """An .xspd file by the page of its format, with anything wrong that a test wants. items: [(name, label, bytes)]."""
    body, made, text = b"", [], b""
    for name, label, data in items:
        where = []
        for value in (name, label):
            where.append(NO_LABEL if value is None else len(text))
            text += b"" if value is None else value.encode() + b"\0"
        made.append((64 + len(body), len(data), zlib.crc32(data), *where, 0))
        body += data
    made, text = made if entries is None else entries(made), text if texts is None else texts
    index = b"".join(struct.pack(ENTRY, *entry) for entry in made) + text
    rest = struct.pack("<QQQI20s", len(made) if count is None else count, 64 + len(body), len(text),
                       zlib.crc32(index) if index_crc is None else index_crc, b"")
    rest = rest if head is None else head(rest)
    path.write_bytes(magic + struct.pack("<II", version, zlib.crc32(rest)) + rest + body + index + tail)
    return path


class DataCase(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory(prefix="xsp-data-")
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)
        self.file = self.folder / "set.xspd"

    def xsp(self, *arguments, status=0, **options):
        done = subprocess.run([XSP, *map(str, arguments)], capture_output=True, timeout=600, check=False,
                              env={**os.environ, "XSP_ASSET_CACHE": str(self.folder / "cache"), "no_proxy": "*"}, **options)
        self.assertEqual(done.returncode, status, done.stderr)
        if status != 0:
            self.assertEqual(done.stderr.count(b"\n"), 1, done.stderr)
            self.assertRegex(done.stderr.decode(), r"^xsp: [^:]+: .+; try: .+")
        return done

    def data(self, *arguments, **options):
        return self.xsp("data", *arguments, **options)

    def info(self, path=None):
        tables = json.loads(self.data("info", path or self.file, "--list", "--json").stdout)
        return {table["analysis"]: table["rows"] for table in tables}

    def pictures(self, count=9, classes=("cat", "dog", "ä b")):
        """FOLDER/LABEL/NUMBER.png: {name: bytes}."""
        random, found = numpy.random.default_rng(5), {}
        for number in range(count):
            path = self.folder / "set" / classes[number % len(classes)] / f"{number:03}.png"
            path.parent.mkdir(parents=True, exist_ok=True)
            Image.fromarray(random.integers(0, 256, (20, 24, 3), numpy.uint8)).save(path)
            found[str(path.relative_to(self.folder / "set"))] = path.read_bytes()
        return found


class Make(DataCase):
    def test_of_a_folder(self):
        pictures = self.pictures()
        (self.folder / "set" / "notes.txt").write_text("not a picture")
        message = self.data("make", self.file, self.folder / "set").stderr.decode()
        self.assertIn("1 files are not pictures", message)
        found = self.info()
        self.assertEqual({row["name"]: (row["label"], row["bytes"]) for row in found["items"]},
                         {name: (name.split("/")[0], len(data)) for name, data in pictures.items()})
        whole, = found["data_set"]
        self.assertEqual(whole, {"items": 9, "labelled": 9, "labels": 3, "data_bytes": sum(map(len, pictures.values())),
                                 "file_bytes": self.file.stat().st_size, "sha256": hashlib.sha256(self.file.read_bytes()).hexdigest()})
        self.assertEqual({row["label"]: row["items"] for row in found["labels"]}, {"cat": 3, "dog": 3, "ä b": 3})
        self.data("extract", self.file, "-o", self.folder / "out")
        self.assertEqual({str(path.relative_to(self.folder / "out")): path.read_bytes() for path in (self.folder / "out").rglob("*.png")},
                         pictures)
        self.assertEqual(oct(self.file.stat().st_mode), oct((self.folder / "set" / "notes.txt").stat().st_mode))

    def test_of_a_table_and_of_several(self):
        pictures = self.pictures()
        names = list(pictures)
        table = self.folder / "table.csv"
        table.write_text("file,label\n" + "".join(f"set/{name},{number}\n" for number, name in enumerate(names)) +
                         f'"{self.folder}/set/{names[0]}",\nset/../set/{names[1]},"a ""b"""\n')
        self.data("make", self.file, table)
        rows = self.info()["items"]
        self.assertEqual([(row["name"], row["label"]) for row in rows[:9]], [(f"set/{name}", str(i)) for i, name in enumerate(names)])
        self.assertEqual([row["label"] for row in rows[9:]], [None, 'a "b"'])
        self.assertEqual([row["name"] for row in rows[9:]], [f"set/{names[0]}", f"set/set/{names[1]}"])
        done = self.data("make", self.folder / "two.xspd", self.file, self.folder / "set", "-q")
        self.assertIn(b"1 items have the name of another one", done.stderr)
        self.assertEqual(self.data("make", self.folder / "one.xspd", self.folder / "set", "-q").stderr, b"")
        self.assertEqual([row["label"] for row in self.info(self.folder / "two.xspd")["items"]],
                         [row["label"] for row in rows] + [name.split("/")[0] for name in sorted(names)])

    def test_boxes_are_refused(self):
        name, *_ = self.pictures(1)
        table = self.folder / "set" / "boxes.json"
        table.write_text(json.dumps({"images": [{"id": 1, "file_name": name}], "categories": [{"id": 1, "name": "cat"}],
                                     "annotations": [{"id": 1, "image_id": 1, "category_id": 1, "bbox": [1, 1, 5, 5]}]}))
        self.assertIn(b"no boxes", self.data("make", self.file, table, status=2).stderr)
        self.assertFalse(self.file.exists())

    def test_refused(self):
        self.pictures()
        self.data("make", self.file, self.folder / "set")
        before = self.file.read_bytes()
        self.assertIn(b"--force", self.data("make", self.file, self.folder / "set", status=2).stderr)
        self.data("make", self.file, self.folder / "set", self.folder / "missing", "--force", status=2)
        self.assertEqual((self.file.read_bytes(), list(self.folder.glob("*.partial"))), (before, []))
        self.data("make", self.folder / "no" / "such.xspd", self.folder / "set", status=3)
        for arguments in (("make", self.file), ("mak", self.file, "x"), ("info", self.file, "x"), ("info", self.file, "--items", 3), ()):
            self.data(*arguments, status=2)

    def test_killed(self):
        """Nothing is left under the file's name, and nothing of another name after Ctrl-C."""
        process = subprocess.Popen([XSP, "data", "generate", self.file, "--items", "1000000", "-q"], stderr=subprocess.DEVNULL)
        end = time.monotonic() + 600
        while not list(self.folder.glob("*.partial")) and time.monotonic() < end:
            time.sleep(0.01)
        process.terminate()
        self.assertEqual(process.wait(600), -15)
        self.assertEqual(list(self.folder.iterdir()), [])

    def test_disk_full(self):
        done = subprocess.run(["sh", "-c", 'ulimit -f 100; trap "" XFSZ; exec "$@"', "sh", XSP, "data", "generate", self.file, "-q"],
                              capture_output=True, text=True, timeout=600, check=False)
        self.assertEqual((done.returncode, list(self.folder.iterdir())), (3, []), done.stderr)
        self.assertIn("File too large", done.stderr)


class Generate(DataCase):
    def generate(self, name, *arguments):
        self.data("generate", self.folder / name, "-q", *arguments)
        return (self.folder / name).read_bytes()

    def test_pictures(self):
        for encoding, form in (("png", "PNG"), ("jpeg", "JPEG")):
            self.generate("a.xspd", "--items", 7, "--size", "20x30", "--classes", 3, "--encoding", encoding, "-f")
            self.data("extract", self.folder / "a.xspd", "-o", self.folder / encoding)
            found = sorted((self.folder / encoding).rglob("*.*g"))
            self.assertEqual([path.parent.name for path in found], ["0", "0", "0", "1", "1", "2", "2"])
            for path in found:
                image = Image.open(path)
                image.load()
                self.assertEqual((image.size, image.format, image.mode), ((30, 20), form, "RGB"))

    def test_seeds(self):
        same = ["--items", 20, "--size", "8x8"]
        first = self.generate("1.xspd", *same, "--seed", 7)
        self.assertEqual(first, self.generate("2.xspd", *same, "--seed", 7))
        self.assertNotEqual(first, self.generate("3.xspd", *same, "--seed", 8))
        # pixels, not compressed bytes, which may change with the compressor's version
        self.data("extract", self.folder / "1.xspd", "9/0000019.png", "-o", self.folder)
        pixels = hashlib.sha256(Image.open(self.folder / "9" / "0000019.png").tobytes()).hexdigest()
        self.assertEqual(pixels[:16], "f0d6c600c2ba6c43")

    def test_refused(self):
        for option, value in (("--size", "8"), ("--size", "0x8"), ("--size", "8x8x8"), ("--size", "99999x1"), ("--items", 0),
                              ("--classes", 0), ("--encoding", "gif"), ("--seed", -1)):
            self.data("generate", self.file, option, value, status=2)
            self.assertEqual(list(self.folder.iterdir()), [])


class Extract(DataCase):
    def test_names(self):
        pictures = self.pictures()
        self.data("make", self.file, self.folder / "set", "-q")
        name = next(iter(pictures))
        self.assertEqual(self.data("extract", self.file, name, "-o", "-").stdout, pictures[name])
        out = self.folder / "out"
        self.data("extract", self.file, name, cwd=self.folder)
        self.assertEqual((self.folder / name).read_bytes(), pictures[name])
        self.data("extract", self.file, name, "-o", out)
        self.data("extract", self.file, name, "-o", out, status=2)
        self.data("extract", self.file, name, "-o", out, "--force")
        self.data("extract", self.file, "nothing.png", status=2)
        self.assertEqual([path.name for path in out.rglob("*") if path.is_file()], [pathlib.Path(name).name])


class Hostile(DataCase):
    ITEMS = [("a/1.bin", "a", b"first"), ("b/2.bin", "b", b"second"), ("3.bin", None, b"")]

    def refused(self, mentions, **how):
        write(self.file, self.ITEMS, **how)
        self.assertIn(mentions, self.data("info", self.file, status=2).stderr.decode())

    def test_a_good_one(self):
        write(self.file, self.ITEMS)
        found = self.info()
        self.assertEqual([(row["name"], row["label"], row["bytes"]) for row in found["items"]],
                         [(name, label, len(data)) for name, label, data in self.ITEMS])
        write(self.file, [])
        self.assertEqual(self.info()["data_set"][0]["items"], 0)

    def test_heads(self):
        self.refused("not an .xspd file", magic=b"\x89XSPD\n\x1a\0")
        self.refused("version 2", version=2)
        write(self.file, self.ITEMS)
        data = bytearray(self.file.read_bytes())
        data[20] ^= 1
        self.file.write_bytes(data)
        self.assertIn(b"head is damaged", self.data("info", self.file, status=2).stderr)
        for count in (2, 4, 10_000_001, 2 ** 63, 2 ** 64 - 1):
            self.refused("more than" if count > 10_000_000 else "", count=count)
        for at, value in ((8, 0), (8, 63), (8, 2 ** 64 - 1), (16, 2 ** 64 - 1), (16, 2 ** 30), (16, 0)):
            self.refused("", head=lambda rest, at=at, value=value: rest[:at] + struct.pack("<Q", value) + rest[at + 8:])
        self.refused("index is damaged", index_crc=1)
        self.refused("longer than", tail=b"\0")

    def test_entries(self):
        def changed(number, place, value):
            return lambda entries: [tuple(value if (i, k) == (number, place) else old for k, old in enumerate(entry))
                                    for i, entry in enumerate(entries)]
        for number, place, value, mentions in (
                (0, 0, 0, "overlaps"), (0, 0, 63, "overlaps"), (0, 1, 6, "overlaps"), (1, 0, 68, "overlaps"), (1, 1, 7, "overlaps"),
                (1, 1, 2 ** 64 - 1, "overlaps"), (0, 0, 2 ** 64 - 4, "overlaps"), (2, 0, 2 ** 40, "overlaps"),
                (0, 3, 1000, "missing"), (0, 4, 1000, "missing"), (0, 4, 0xfffffffe, "missing"), (0, 3, 0xffffffff, "missing")):
            with self.subTest((number, place, value)):
                self.refused(mentions, entries=changed(number, place, value))
        self.refused("overlaps", entries=lambda entries: entries[::-1])

    def test_texts(self):
        self.refused("do not end", texts=b"a/1.bin")
        self.refused("missing", texts=b"")
        for name in ("../x", "/etc/passwd", "a/../../x", "a//b", ".", "", "a/"):
            write(self.file, [(name, None, b"x")])
            self.assertIn(b"leads out", self.data("extract", self.file, "-o", self.folder / "out", status=2).stderr)
        self.assertFalse((self.folder / "out").exists())

    def test_cut_off_and_damaged(self):
        write(self.file, self.ITEMS)
        whole = self.file.read_bytes()
        for size in range(len(whole)):
            self.file.write_bytes(whole[:size])
            self.data("info", self.file, status=2)
        for at in (66, 70):
            data = bytearray(whole)
            data[at] ^= 1
            self.file.write_bytes(data)
            self.assertIn(b"CRC-32", self.data("info", self.file, status=2).stderr)
        self.data("info", self.folder, status=2)


class Reader(DataCase):
    def test_the_reader_of_the_page(self):
        page = (SOURCE / "docs" / "data.md").read_text()
        code = re.search(r"```python\n(.*?)```", page, re.S).group(1)
        self.assertLessEqual(len([line for line in code.splitlines() if line.strip()]), 16)
        pictures = self.pictures()
        self.data("make", self.file, self.folder / "set", "-q")
        names = {}
        exec(code, names)
        self.assertEqual({name: data for name, label, data in names["read_xspd"](self.file)}, pictures)
        self.assertEqual([label for _, label, _ in names["read_xspd"](write(self.file, Hostile.ITEMS))], ["a", "b", None])
        with self.assertRaises(AssertionError):
            list(names["read_xspd"](write(self.file, Hostile.ITEMS, entries=lambda made: [(*made[0][:2], 1, *made[0][3:])])))


class Evaluate(DataCase):
    def setUp(self):
        super().setUp()
        random = numpy.random.default_rng(3)
        weights = numpy_helper.from_array(random.normal(size=(3 * 24 * 24, 3)).astype(numpy.float32), "weights")
        nodes = [helper.make_node("Flatten", ["data"], ["flat"]), helper.make_node("MatMul", ["flat", "weights"], ["scores"])]
        graph = helper.make_graph(nodes, "linear", [helper.make_tensor_value_info("data", TensorProto.FLOAT, ["N", 3, 24, 24])],
                                  [helper.make_tensor_value_info("scores", TensorProto.FLOAT, ["N", 3])], [weights])
        onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 13)], ir_version=8), self.folder / "net.onnx")
        self.manifest = self.folder / "net.yml"
        self.manifest.write_text(yaml.safe_dump({
            "name": "net", "version": "1.0", "task": "image classification", "framework": {"name": "onnxruntime"},
            "model": {"path": "net.onnx"}, "outputs": [{"type": "feature"}],
            "inputs": [{"type": "image", "parameters": {"dimensions": [3, 24, 24]}}]}))
        self.output = self.folder / "out.xsp"

    def evaluate(self, data, *arguments, status=0):
        done = self.xsp("evaluate", self.manifest, "--data", data, "--items", "--json", "-q", "-f", "-o", self.output, "--batch", 2,
                        *arguments, status=status)
        return json.loads(done.stdout) if status == 0 else done.stderr.decode()

    def test_equal_to_the_folder(self):
        self.pictures(9)
        self.data("make", self.file, self.folder / "set", "-q")
        (folder, of_folder), (file, of_file) = self.evaluate(self.folder / "set"), self.evaluate(self.file)
        same = ("inputs", "labelled", "top1_pct", "top5_pct")
        self.assertEqual([file["rows"][0][key] for key in same], [folder["rows"][0][key] for key in same])
        self.assertEqual([row.pop("file") for row in of_file["rows"]],
                         [str(pathlib.Path(row.pop("file")).relative_to(self.folder / "set")) for row in of_folder["rows"]])
        self.assertEqual(of_file["rows"], of_folder["rows"])

    def test_scenario(self):
        self.pictures(9)
        self.data("make", self.file, self.folder / "set", "-q")
        tables = self.evaluate(self.file, "--scenario", "offline", "--duration", "0", "--queries", 3)
        row, = next(table["rows"] for table in tables if table["analysis"] == "scenarios")
        self.assertEqual((row["scenario"], row["queries"]), ("offline", 3))
        self.assertGreater(row["samples_per_s"], 0)

    def test_first_difference(self):
        self.pictures(9)
        self.data("make", self.file, self.folder / "set", "-q")
        other = self.folder / "bgr.yml"
        manifest = yaml.safe_load(self.manifest.read_text())
        manifest["inputs"][0]["parameters"]["color_mode"] = "BGR"
        other.write_text(yaml.safe_dump({**manifest, "name": "bgr"}))

        def rows(data):
            done = self.xsp("evaluate", self.manifest, other, "--data", data, "--first-difference", "--json", "--batch", 4)
            return json.loads(done.stdout)["rows"]
        self.assertTrue(next(row for row in rows(self.file) if row["part"] == "input")["differs"])
        self.assertEqual(rows(self.file), rows(self.folder / "set"))

    def test_names_in_what_is_kept_and_given_to_code(self):
        names = sorted(self.pictures(3))
        self.data("make", self.file, self.folder / "set", "-q")
        self.manifest.write_text(self.manifest.read_text() + yaml.safe_dump({
            "postprocess": f"def keep(env, data):\n  open({str(self.folder / 'files')!r}, 'a').write(''.join(env['files']))\n  return data"}))
        self.evaluate(self.file, "--keep-outputs", "--batch", 3, "--warmup", 0)
        self.assertEqual((self.folder / "files").read_text(), "".join(names))
        kept = json.loads(self.xsp("sql", self.output, "select file from output order by item", "--json").stdout)
        self.assertEqual([row["file"] for row in kept], names)

    def test_labels_of_masks_lie_next_to_it(self):
        graph = helper.make_graph([helper.make_node("Identity", ["data"], ["classes"])], "mask",
                                  [helper.make_tensor_value_info("data", TensorProto.FLOAT, ["N", 1, 4, 6])],
                                  [helper.make_tensor_value_info("classes", TensorProto.FLOAT, ["N", 1, 4, 6])])
        onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 13)], ir_version=8), self.folder / "net.onnx")
        self.manifest.write_text(yaml.safe_dump({
            "name": "net", "version": "1.0", "framework": {"name": "onnxruntime"}, "model": {"path": "net.onnx"},
            "inputs": [{"type": "image", "parameters": {"dimensions": [1, 4, 6], "color_mode": "GRAY"}}], "outputs": [{"type": "mask"}]}))
        picture = Image.fromarray(numpy.arange(24, dtype=numpy.uint8).reshape(4, 6) // 12)
        picture.save(self.folder / "label.png")
        buffer = io.BytesIO()
        picture.save(buffer, "PNG")
        write(self.file, [("a.png", "label.png", buffer.getvalue()), ("b.png", None, buffer.getvalue())])
        for data in (self.file, f"file://{self.file}"):
            row = self.evaluate(data)[0]["rows"][0]
            self.assertEqual((row["inputs"], row["labelled"], row["pixel_pct"]), (2, 1, 100))

    def test_by_http(self):
        self.pictures(4)
        self.data("make", self.file, self.folder / "set", "-q")
        data = self.file.read_bytes()
        with FileServer() as server:
            server.places["/set.xspd"] = Place(data)
            url, right = server.url + "/set.xspd", hashlib.sha256(data).hexdigest()
            self.assertEqual(self.evaluate(url, "--data-sha256", right)[0]["rows"][0]["inputs"], 4)
            self.assertIn(right, self.evaluate(url, "--data-sha256", "0" * 64, status=2))
            self.assertEqual(self.evaluate(url, "--data-sha256", right)[0]["rows"][0]["inputs"], 4)
            self.assertEqual(server.places["/set.xspd"].sent, 2 * len(data))
        notes = json.loads(self.xsp("sql", self.output, "select key, value from note where key like 'data_set%' order by key", "--json").stdout)
        self.assertEqual(notes, [{"key": "data_set", "value": url}, {"key": "data_set_sha256", "value": right}])
        self.evaluate(self.file, "--data-sha256", "0" * 64, status=2)

    def test_what_is_not_a_picture(self):
        buffer = io.BytesIO()
        Image.new("RGB", (8, 8)).save(buffer, "PNG")
        write(self.file, [("good.png", "0", buffer.getvalue()), ("bad.png", "1", b"not a picture"), ("empty.png", "1", b"")])
        self.assertEqual(self.evaluate(self.file)[0]["rows"][0]["inputs"], 1)
        write(self.file, [("good.png", "0", buffer.getvalue()[:-20])], entries=lambda made: [(*made[0][:2], 5, *made[0][3:])])
        self.assertIn("CRC-32", self.evaluate(self.file, status=2))
        self.assertIn("no pictures", self.evaluate(write(self.file, []), status=2))


if __name__ == "__main__":
    unittest.main()
