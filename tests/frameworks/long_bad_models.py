# SPDX-License-Identifier: Apache-2.0
"""Bad models in the real frameworks: good ones that are cut, flipped, overwritten, swapped or used with wrong options.
Whatever a framework does, xsp prints one line, or profiles the model if it still runs, and leaves no file or process.
Fetches packages through pip, so it belongs to `make test-all`."""
import os
import pathlib
import random
import shutil
import subprocess
import sys
import tempfile
import typing
import unittest
import uuid

from framework_environment import XSP, framework_python
from tensorflow_environment import tensorflow_environment
from test_profile import sessions_of

FRAMEWORKS = pathlib.Path(__file__).parent
CUTS, FLIPS, BLOCKS = 12, 16, 6
GIGABYTE = 1 << 30
# Their start-up time decides how often.
SHARES = {"tensorflow": 0.5}


class Subject(typing.NamedTuple):
    framework: str
    environment: pathlib.Path  # its Python environment
    name: str                  # of the file or folder that xsp is given
    files: dict                # {path in a folder: bytes}
    options: tuple = ()


class Case(typing.NamedTuple):
    what: str
    files: dict           # {path: bytes, or an int: so many bytes and no more than a hole}
    may_run: bool = False  # the damage may be in bytes that are not read, or only change numbers
    options: tuple = ()
    why: str = ""


def good_bytes(folder, *names):
    return {name: (folder / name).read_bytes() for name in names}


def run_python(python, *arguments):
    subprocess.run([python, "-B", *arguments], check=True, timeout=600, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)


def onnxruntime():
    """With the packages of the tests themselves."""
    environment = pathlib.Path(sys.executable).parent.parent
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        run_python(sys.executable, FRAMEWORKS / "framework_models.py", folder)
        return [Subject("onnxruntime", environment, "cnn.onnx", good_bytes(folder, "cnn.onnx"))]


def openvino():
    python = framework_python("openvino", "openvino==2026.4.1", "onnx==1.23.2", "numpy==2.4.6")
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        run_python(python, FRAMEWORKS / "framework_models.py", folder)
        run_python(python, "-c", "import sys, openvino\n"
                   "openvino.save_model(openvino.Core().read_model(sys.argv[1]), sys.argv[2])", folder / "cnn.onnx",
                   folder / "cnn.xml")
        return [Subject("openvino", python.parent.parent, "cnn.onnx", good_bytes(folder, "cnn.onnx")),
                Subject("openvino", python.parent.parent, "cnn.xml", good_bytes(folder, "cnn.xml", "cnn.bin"))]


def litert():
    python = framework_python("litert", "ai-edge-litert==2.3.0", "numpy==2.4.6")
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        run_python(python, FRAMEWORKS / "litert" / "tflite_models.py", folder)
        return [Subject("litert", python.parent.parent, "cnn.tflite", good_bytes(folder, "cnn.tflite"))]


def mxnet():
    python = framework_python("mxnet", "mxnet==1.9.1", "numpy<1.24")
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        run_python(python, FRAMEWORKS / "mxnet" / "mxnet_models.py", folder)
        return [Subject("mxnet", python.parent.parent, "cnn-symbol.json",
                        good_bytes(folder, "cnn-symbol.json", "cnn-0000.params"), ("--dim", "H=96", "--dim", "W=96"))]


def tensorflow():
    environment = tensorflow_environment()
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        run_python(environment / "bin" / "python3", FRAMEWORKS / "tensorflow" / "tensorflow_models.py", folder, "small")
        saved = [str(path.relative_to(folder)) for path in (folder / "small_saved").rglob("*")
                 if path.is_file() and path.name != "fingerprint.pb"]  # which nobody reads
        return [Subject("tensorflow", environment, "small_frozen.pb", good_bytes(folder, "small_frozen.pb")),
                Subject("tensorflow", environment, "small_saved", good_bytes(folder, *saved))]


MAKERS = {"onnxruntime": onnxruntime, "openvino": openvino, "litert": litert, "mxnet": mxnet, "tensorflow": tensorflow}


# ---- protobuf by hand: tensors that say more than they have ------------------------------------------------------------
def varint(number):
    out = b""
    while True:
        out += bytes([number & 127 | (128 if number > 127 else 0)])
        number >>= 7
        if number == 0:
            return out


def field(number, value):
    if isinstance(value, int):
        return varint(number << 3) + varint(value)
    value = value if isinstance(value, bytes) else value.encode()
    return varint(number << 3 | 2) + varint(len(value)) + value


def onnx_model(dims, data=b"\0" * 4, operator="Add", more=0):
    """y = x + w; `more` bytes of the weights are not written."""
    tensor = b"".join(field(1, size) for size in dims) + field(2, 1) + field(8, "w")
    tensor += varint(9 << 3 | 2) + varint(len(data) + more) + data

    def port(name):
        shape = field(2, field(1, field(1, 1)) + field(1, field(1, 4)))
        return field(1, name) + field(2, field(1, field(1, 1) + shape))
    graph = field(1, field(1, "x") + field(1, "w") + field(2, "y") + field(3, "add") + field(4, operator)) + field(2, "g")
    graph += field(11, port("x")) + field(12, port("y"))
    graph += varint(5 << 3 | 2) + varint(len(tensor) + more) + tensor
    return field(1, 8) + field(8, field(2, 13)) + varint(7 << 3 | 2) + varint(len(graph) + more) + graph


def tensorflow_graph(dims, operator="AddV2"):
    """y = x + w; w has one number but claims these dimensions."""
    def attribute(key, value):
        return field(5, field(1, key) + field(2, value))

    def shape(sizes):
        return b"".join(field(2, field(1, size)) for size in sizes)
    kind = field(6, 1)
    constant = field(8, field(1, 1) + field(2, shape(dims)) + field(5, b"\0\0\x80\x3f"))
    return (field(1, field(1, "x") + field(2, "Placeholder") + attribute("dtype", kind) + attribute("shape", field(7, shape([4]))))
            + field(1, field(1, "w") + field(2, "Const") + attribute("dtype", kind) + attribute("value", constant))
            + field(1, field(1, "y") + field(2, operator) + field(3, "x") + field(3, "w") + attribute("T", kind)))


# ---- cases -------------------------------------------------------------------------------------------------------------
def damaged(subject, numbers, share):
    """Each file of a model, damaged in many places."""
    for name, content in subject.files.items():
        def changed(bytes_, name=name):
            return {**subject.files, name: bytes_}
        if not content:
            continue
        yield Case(f"{name} empty", changed(b""))
        yield Case(f"{name} of zeros", changed(bytes(len(content))))
        yield Case(f"{name} of noise", changed(numbers.randbytes(min(len(content), 1 << 16))))
        yield Case(f"{name} of a text", changed(b"#!/bin/sh\necho no model\n" * 50))
        if len(subject.files) > 1:
            yield Case(f"{name} absent", {other: bytes_ for other, bytes_ in subject.files.items() if other != name}, True)
        starts = [1, 3, 4, 8, 16, 64]
        at = [size for size in starts if size < len(content)] + [
            len(content) * part // CUTS for part in range(1, CUTS)] + [len(content) - 1]
        for size in numbers.sample(at, max(4, int(len(at) * share))):
            # The last bytes may be unused.
            yield Case(f"{name} cut to {size} of {len(content)} bytes", changed(content[:size]), size > len(content) * 0.9)
        for number in range(int(FLIPS * share)):
            # Half of them in the file's header.
            place = numbers.randrange(len(content) if number % 2 else min(len(content), 4096))
            bit = 1 << numbers.randrange(8)
            bytes_ = bytearray(content)
            bytes_[place] ^= bit
            yield Case(f"{name} with bit {bit} of byte {place} flipped", changed(bytes(bytes_)), True)
        for _ in range(int(BLOCKS * share)):
            place, size = numbers.randrange(len(content)), numbers.choice((4, 64, 1024))
            bytes_ = bytearray(content)
            bytes_[place:place + size] = numbers.randbytes(len(bytes_[place:place + size]))
            yield Case(f"{name} with noise on {size} bytes at {place}", changed(bytes(bytes_)), True)


def swapped(subject, subjects):
    """Models of other frameworks under this one's name."""
    main = next(iter(subject.files)) if subject.name not in subject.files else subject.name
    for other in subjects:
        same = pathlib.Path(other.name).suffix == pathlib.Path(subject.name).suffix
        if other.framework != subject.framework and not same:
            content = next(bytes_ for name, bytes_ in other.files.items() if bytes_)
            yield Case(f"{main} is a model of {other.framework}", {**subject.files, main: content},
                       may_run=subject.framework == "openvino")  # it looks into files, whatever they are called


def asked_wrongly(subject):
    yield Case("a dimension that is not there", subject.files, options=("--dim", "nowhere=4"))
    yield Case("a negative dimension", subject.files, options=("--dim", "nowhere=-4"))
    yield Case("an input that is not there", subject.files, options=("--input", "nowhere=good.npy"))
    yield Case("a file of an input that is not there", subject.files, options=("--input", "x=absent.npy"))
    yield Case("a batch of 2^40", subject.files, options=("--batch", str(1 << 40)))
    yield Case("a batch of 2^31 - 1", subject.files, options=("--batch", str((1 << 31) - 1)))


def by_hand(subject):
    name = subject.name
    if name.endswith(".onnx"):
        for dims in ([1 << 40], [1 << 20, 1 << 20], [1 << 62, 4], [(1 << 64) - 1], [1 << 32, 1 << 32]):
            yield Case(f"weights that claim {dims}", {name: onnx_model(dims)})
        yield Case("weights that do not fit", {name: onnx_model([3], b"\0" * 12)})
        yield Case("an unknown operator", {name: onnx_model([4], b"\0" * 16, "Frobnicate")})
        head = onnx_model([GIGABYTE // 2 + 16], b"", more=2 * GIGABYTE + 64)
        yield Case("weights of 2 GiB", {name: (head, len(head) + 2 * GIGABYTE + 64)})
    elif name.endswith(".pb"):
        for dims in ([1 << 40], [1 << 20, 1 << 20], [1 << 62, 4], [(1 << 64) - 1], [1 << 32, 1 << 32]):
            yield Case(f"a constant that claims {dims}", {name: tensorflow_graph(dims)})
        yield Case("a constant that does not fit", {name: tensorflow_graph([3])})
        yield Case("an unknown operator", {name: tensorflow_graph([4], "Frobnicate")})
        yield Case("a graph of 2 GiB", {name: (subject.files[name], 2 * GIGABYTE + 64)})
    elif name.endswith(".json"):
        text = subject.files[name].decode()
        yield Case("an unknown operator", {**subject.files, name: text.replace('"Pooling"', '"Frobnicate"').encode()})
        yield Case("an input of a node behind the last one",
                   {**subject.files, name: text.replace("[[0, 0, 0]", "[[4000000000, 0, 0]", 1).encode()})
        parameters = next(other for other in subject.files if other.endswith(".params"))
        yield Case("parameters of 2 GiB", {**subject.files, parameters: (subject.files[parameters], 2 * GIGABYTE + 64)})
    elif name.endswith(".xml"):
        text = subject.files[name].decode()
        yield Case("an unknown operator", {**subject.files, name: text.replace('type="ReLU"', 'type="Frob"').encode()})
        yield Case("weights at another offset", {**subject.files, name: text.replace('offset="0"', f'offset="{1 << 40}"').encode()})
        yield Case("weights of 2^62 bytes", {**subject.files, name: text.replace('size="4"', f'size="{1 << 62}"').encode()}, True)
    elif name.endswith(".tflite"):
        yield Case("2 GiB behind its end", {name: (subject.files[name], 2 * GIGABYTE + 64)}, True)


def cases(subject, subjects):
    numbers = random.Random(f"{subject.framework} {subject.name}")
    share = SHARES.get(subject.framework, 1)
    yield from damaged(subject, numbers, share)
    yield from swapped(subject, subjects)
    yield from asked_wrongly(subject)
    yield from by_hand(subject)


# ---- the sweep ---------------------------------------------------------------------------------------------------------
def write(folder, files):
    for name, content in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        content, size = content if isinstance(content, tuple) else (content, len(content))
        path.write_bytes(content)
        os.truncate(path, size)  # a hole takes no room


def processes_of(mark):
    """Those that were started with it in their environment."""
    found = []
    for path in pathlib.Path("/proc").glob("[0-9]*"):
        try:
            if mark.encode() in (path / "environ").read_bytes() and int(path.name) != os.getpid():
                found.append((path.name, (path / "comm").read_text().strip()))
        except OSError:
            pass
    return found


class BadModels(unittest.TestCase):
    subjects: typing.ClassVar[list] = []
    missing: typing.ClassVar[dict] = {}

    @classmethod
    def setUpClass(cls):
        for name, make in MAKERS.items():
            try:
                cls.subjects += make()
            except unittest.SkipTest as problem:
                cls.missing[name] = problem

    def run_case(self, subject, case, folder):
        """(what is wrong, or None; how it went)"""
        shutil.rmtree(folder, ignore_errors=True)
        model = folder / "model"
        work = folder / "work"
        model.mkdir(parents=True)
        work.mkdir()
        write(model, case.files)
        output = folder / "out.xsp"
        mark = f"XSP_TEST_CASE={uuid.uuid4()}"
        variable, value = mark.split("=")
        process = subprocess.Popen(
            [XSP, "profile", model / subject.name, "--framework", subject.framework, "--levels", "M/L", "--runs", "1",
             "--warmup", "0", "--quiet", *subject.options, *case.options, "-o", output],
            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, errors="replace", cwd=folder,
            env={**os.environ, "VIRTUAL_ENV": str(subject.environment), "TMPDIR": str(work), variable: value})
        try:
            stdout, stderr = process.communicate(timeout=300)
        except subprocess.TimeoutExpired:
            process.kill()
            process.communicate()
            return "it hangs", ""
        line = stderr.strip()
        if process.returncode == 0:
            wrong = None if case.may_run else "it is taken for a good model"
        elif process.returncode not in (2, 3):
            wrong = f"status {process.returncode}"
        elif process.returncode == 3 and "memory" not in line:
            wrong = "status 3 where the machine has everything"
        elif len(stderr.splitlines()) != 1 or not line.startswith("xsp: "):
            wrong = "more than one line, or none"
        elif stdout or output.exists():
            wrong = "it leaves something on stdout, or a file"
        else:
            wrong = None
        left = processes_of(mark) or [str(path) for path in [*work.iterdir(), *sessions_of(process.pid)]]
        return wrong or (f"left behind: {left}" if left else None), f"status {process.returncode}: {line}"

    def sweep(self, framework):
        if framework in self.missing:
            raise self.missing[framework]
        wrong, counts = [], {}
        with tempfile.TemporaryDirectory() as name:
            for subject in [one for one in self.subjects if one.framework == framework]:
                self.assertEqual(self.run_case(subject, Case("as it is", subject.files, True), pathlib.Path(name) / "case"),
                                 (None, "status 0: "))
                for case in cases(subject, self.subjects):
                    problem, how = self.run_case(subject, case, pathlib.Path(name) / "case")
                    kind = "crash of the framework" if "framework crashed" in how else how.split(":")[0]
                    counts[kind] = counts.get(kind, 0) + 1
                    if os.environ.get("XSP_TEST_VERBOSE"):
                        print(f"{subject.framework} {subject.name}: {case.what}: {problem or 'good'}: {how}", flush=True)
                    if problem is not None:
                        wrong.append(f"{subject.name}: {case.what}: {problem}: {how}")
        print(f"{framework}: {counts}", file=sys.stderr)
        self.assertEqual(wrong, [], "\n".join(wrong))

    def test_onnxruntime(self):
        self.sweep("onnxruntime")

    def test_openvino(self):
        self.sweep("openvino")

    def test_litert(self):
        self.sweep("litert")

    def test_mxnet(self):
        self.sweep("mxnet")

    def test_tensorflow(self):
        self.sweep("tensorflow")


if __name__ == "__main__":
    unittest.main()
