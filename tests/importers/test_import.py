# SPDX-License-Identifier: Apache-2.0
"""xsp import: its command line, what it does with files it cannot take, ONNX Runtime profiles and generic Chrome traces."""
import array
import collections
import concurrent.futures
import decimal
import fcntl
import gzip
import hashlib
import json
import marshal
import os
import pathlib
import pickle
import resource
import shutil
import signal
import sqlite3
import stat
import struct
import subprocess
import termios
import threading
import time
import unittest

import trace_reader
from scripted import STEP, XSP, temporary_folder, xsp, xsp_json

DATA = trace_reader.data_folder()
TIMEOUT_S = 600


def event(**fields):
    return {"ph": "X", "name": "work", "ts": 1, "dur": 1, "pid": 1, "tid": 1, **fields}


def end(**fields):
    """Of the innermost span: without a name."""
    return {"ph": "E", "ts": 1, "pid": 1, "tid": 1, **fields}


def ort_event(category, name, start, duration, **arguments):
    """As ONNX Runtime lays it out."""
    return (f'{{"cat" : "{category}","pid" :7,"tid" :8,"dur" :{duration},"ts" :{start},"ph" : "X","name" :"{name}",'
            f'"args" : {json.dumps(arguments)}}}')


NODE = {"op_name": "Conv", "node_index": "3", "provider": "CPUExecutionProvider", "mem_in_use_delta": "-64", "mem_requested_in_use_delta": "-40",
        "output_type_shape": [{"float": [1, 2, 3]}, {"int64": [4]}], "parameter_size": "8", "activation_size": "4",
        "input_type_shape": [{"float": [1, 3]}, {"int64": []}], "output_size": "24",
        "thread_scheduling_stats": {"main_thread": {"block_size": [1]}}}
ORT = "[\n" + ",\n".join([
    ort_event("Session", "session_initialization", 1, 5), ort_event("Node", "conv_kernel_time", 10, 5, **NODE),
    ort_event("Session", "model_run", 8, 12)]) + "\n]\n"
CHROME = json.dumps({"traceEvents": [event(name="aten::mm"), event(ph="B", ts=5), event(ph="E", ts=6.5)]})


def marshalled():
    """As cProfile dumps what it has: places and their sums."""
    return marshal.dumps({("a.py", 1, "f"): (1, 1, 0.5, 0.5, {})})


class ImportTest(unittest.TestCase):
    def setUp(self):
        self.temporary = temporary_folder()
        self.folder = pathlib.Path(self.temporary.name)
        self.out = self.folder / "out.xsp"

    def tearDown(self):
        self.temporary.cleanup()

    def file(self, content, name="trace.json"):
        path = self.folder / name
        if isinstance(content, (list, dict)):
            content = json.dumps(content)
        path.write_bytes(content.encode() if isinstance(content, str) else content)
        return path

    def take(self, content, *options, name="trace.json"):
        """Imports one file; returns the account of it."""
        return xsp_json("import", self.file(content, name), "-o", self.out, "--force", "--json", *options)

    def rows(self, query, file=None):
        return [tuple(row.values()) for row in xsp_json("sql", file or self.out, query, "--json")]

    def everything(self, file):
        """All that a file says about its spans, but for ids of tracks and times of day."""
        return (self.rows("select span_id, parent_id, level, kind, category, tracer, name, start_ns, duration_ns, basis, "
                          "depth from span order by run_id, span_id", file),
                self.rows("select * from tag order by run_id, span_id, key", file),
                self.rows("select * from track order by run_id, track_id", file),
                self.rows("select run_id, levels, batch_size, epoch, layer from run", file))

    def refuse(self, *arguments, status=2, mentions=(), **options):
        """One line on stderr, nothing on stdout, no output and nothing beside it."""
        before = self.contents()
        result = xsp("import", *arguments, check=status, **options)
        error = result.stderr.decode()
        self.assertEqual(result.stdout, b"")
        self.assertRegex(error, r"\Axsp: [^:]+: .+; try: .+\n\Z")
        for part in mentions:
            self.assertIn(part, error)
        self.assertEqual(self.contents(), before)
        return error

    def contents(self):
        return sorted((str(path), hashlib.sha1(path.read_bytes()).hexdigest() if path.is_file() else None)
                      for path in self.folder.rglob("*"))


class CommandLineTest(ImportTest):
    def test_wrong_use(self):
        trace = self.file(CHROME)
        self.refuse(mentions=["xsp import FILE"])
        self.refuse(trace, mentions=["-o OUT.xsp"])
        self.refuse(trace, "-o", "", mentions=["empty"])
        self.refuse(trace, "-o", self.out, "--format", "klingon", mentions=["klingon", "xsp help import"])
        self.refuse(trace, "-o", self.out, "--layer", "upper", mentions=["upper", "outermost"])
        self.refuse(trace, "-o", self.out, "--threads", "3", mentions=["--threads"])
        for limit in ("0", "-1", "x", "", "5X", "1KK", "99999999999999999999", "99999999999G"):
            self.refuse(trace, "-o", self.out, "--limit-bytes", limit, mentions=["--limit-bytes"])

    def test_an_existing_output_is_refused_before_anything_is_read(self):
        self.out.write_text("precious")
        self.refuse(self.folder / "missing.json", "-o", self.out, mentions=["out.xsp", "the output exists", "--force"])
        xsp("import", self.file(CHROME), "-o", self.out, "--force", check=0)
        self.assertEqual(self.rows("select count(*) from span"), [(2,)])

    def test_the_output_is_never_an_input(self):
        trace = self.file(CHROME)
        (self.folder / "link.json").symlink_to(trace)
        for output in (trace, self.folder / "link.json"):
            self.refuse(trace, "-o", output, "--force", mentions=["input"])

    def test_an_old_output_survives_an_error(self):
        self.take(CHROME)
        broken = self.file("[{\"ph\":", "broken.json")
        self.refuse(broken, "-o", self.out, "--force", "--format", "chrome", mentions=["broken.json, byte 7"])
        good = self.file(CHROME)
        self.refuse(good, broken, "-o", self.out, "--force", "--format", "chrome", mentions=["broken.json"])
        self.assertEqual(self.rows("select count(*) from span"), [(2,)])

    def test_places_that_cannot_be_written(self):
        trace = self.file(CHROME)
        self.refuse(trace, "-o", self.folder / "missing" / "out.xsp", status=3, mentions=["missing/out.xsp"])
        self.refuse(trace, "-o", trace / "out.xsp", status=3)
        if os.getuid() != 0:  # nothing stops root
            closed = self.folder / "closed"
            closed.mkdir(mode=stat.S_IRUSR | stat.S_IXUSR)
            self.refuse(trace, "-o", closed / "out.xsp", status=3)

    def test_what_stands_where_it_is_written_is_not_followed(self):
        trace, partial = self.file(CHROME), self.folder / "out.xsp.partial"
        (self.folder / "victim").write_text("precious")
        for target in ("victim", "nothing"):  # anybody may put a link into a folder like /tmp
            partial.symlink_to(target)
            self.refuse(trace, "-o", self.out, status=3, mentions=["out.xsp.partial", "regular file"])
            partial.unlink()
        os.mkfifo(partial)
        self.refuse(trace, "-o", self.out, status=3, mentions=["out.xsp.partial", "regular file"])
        partial.unlink()
        partial.write_bytes(b"")  # of one that died before it wrote anything
        xsp("import", trace, "-o", self.out, check=0)

    def test_a_disk_that_is_full(self):
        def no_room():  # a write beyond this fails as on a full disk
            signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
            resource.setrlimit(resource.RLIMIT_FSIZE, (200_000, 200_000))
        events = [event(name=f"range {i * 7919 % 1000003}", ts=i, args={"i": f"text {i}"}) for i in range(20000)]
        for threads in "12":
            self.refuse(self.file(events), "-o", self.out, "--threads", threads, status=3, preexec_fn=no_room)

    def test_an_account_that_cannot_be_written(self):
        with open("/dev/full", "wb") as full:
            before = self.contents() + [(str(self.file(CHROME)), hashlib.sha1(CHROME.encode()).hexdigest())]
            result = subprocess.run([XSP, "import", self.folder / "trace.json", "-o", self.out, "--json"], stdout=full,
                                    stderr=subprocess.PIPE, check=False)
        self.assertEqual((result.returncode, result.stderr.count(b"\n")), (3, 1))
        self.assertEqual(self.contents(), before)
        # a reader that leaves early is no error
        reader, writer = os.pipe()
        os.close(reader)
        result = subprocess.run([XSP, "import", self.folder / "trace.json", "-o", self.out, "--json"], stdout=writer,
                                stderr=subprocess.PIPE, check=False)
        os.close(writer)
        self.assertEqual(result.returncode, 0)
        self.assertEqual(self.rows("select count(*) from span"), [(2,)])

    def test_an_interrupted_import_leaves_nothing(self):
        pipe = self.folder / "pipe.json"
        os.mkfifo(pipe)
        process = subprocess.Popen([XSP, "import", pipe, "-o", self.out], stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        chunk = b",".join(json.dumps(event(name=f"range {i}")).encode() for i in range(20000))

        def feed():
            with open(pipe, "wb", buffering=0) as out:
                out.write(b"[" + chunk)  # returns when all but a pipe's worth of it has been read
                process.send_signal(signal.SIGINT)
                try:
                    for _ in range(2000):
                        out.write(b"," + chunk)
                except BrokenPipeError:
                    pass
        feeder = threading.Thread(target=feed)
        feeder.start()
        process.communicate(timeout=TIMEOUT_S)
        feeder.join(timeout=TIMEOUT_S)
        self.assertEqual(process.returncode, -signal.SIGINT)
        self.assertEqual([path.name for path in self.folder.iterdir()], ["pipe.json"])

    def interrupt_while_waiting(self, signal_number, content, *options):
        """The import has read `content` from a pipe that stays open, and waits for more."""
        pipe = self.folder / "pipe.json"
        os.mkfifo(pipe)
        process = subprocess.Popen([XSP, "import", pipe, "-o", self.out, *options], stdout=subprocess.PIPE,
                                   stderr=subprocess.PIPE)
        with open(pipe, "wb", buffering=0) as out:
            out.write(content)
            deadline = time.monotonic() + TIMEOUT_S
            left = array.array("i", [1])
            state = ""
            while left[0] > 0 or state != "S":  # all is read, and the next read waits
                self.assertLess(time.monotonic(), deadline)
                fcntl.ioctl(out, termios.FIONREAD, left)
                state = pathlib.Path(f"/proc/{process.pid}/stat").read_text().rsplit(")", 1)[1].split()[0]
            process.send_signal(signal_number)
            process.communicate(timeout=TIMEOUT_S)
        self.assertEqual(process.returncode, -signal_number)
        self.assertEqual([path.name for path in self.folder.iterdir()], ["pipe.json"])
        pipe.unlink()

    def test_an_import_that_waits_for_a_pipe_is_interrupted(self):
        for signal_number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
            with self.subTest(signal_number):
                self.interrupt_while_waiting(signal_number, b"[")
                self.interrupt_while_waiting(signal_number, b"[" + b" " * 3_000_000, "--format", "chrome")

    def test_help_names_every_format(self):
        text = xsp("help", "import", check=0).stdout.decode()
        for name in ("kineto", "ort", "nsys", "otlp", "otlp-proto", "chrome"):
            self.assertRegex(text, rf"(?m)^  {name} ")


class AccountTest(ImportTest):
    def test_json(self):
        account = self.take([event(name="aten::mm"), event(name="epoch"), {"ph": "i", "name": "now", "ts": 1}],
                            "--model-range", "epoch")
        path = str(self.folder / "trace.json")
        self.assertEqual(account, {
            "files": [{"path": path, "format": "chrome", "version": None, "events": 3, "kept": 2,
                       "skipped": {"instant": 1}, "notes": [], "run_ids": [1]}],
            "spans": {"model": 1, "layer": 1},
            "parents": {"explicit": 0, "correlation": 0, "containment": 1, "ambiguous": 0, "none": 1},
            "unattributed": {"count": 0, "duration_ns": 0, "reasons": {}},
            "output": str(self.out)})

    def test_text(self):
        result = xsp("import", self.file([event(ts=i) for i in range(1234)] + [{"ph": "C", "name": "c", "ts": 1}]),
                     "-o", self.out, check=0)
        text = result.stdout.decode()
        self.assertIn("chrome; 1,235 events, 1,234 kept\n", text)
        self.assertIn("skipped  1 counter\n", text)
        self.assertIn("spans    1,234 application\n", text)
        self.assertIn("parents ", text)
        self.assertEqual(result.stderr.decode().splitlines()[0], f"xsp: wrote {self.out}")

    def test_the_file_itself_keeps_the_account(self):
        first, second = self.file("[]", "first.json"), self.file([event(), {"ph": "i"}, {"ph": "C"}], "second.json")
        xsp("import", first, second, "-o", self.out, check=0)
        self.assertEqual(self.rows("select run_id, key, value from note"), [
            (1, "time_resolution_ns", "1"), (1, "import", "first.json: chrome; 0 events, 0 kept"),
            (1, "import", "it holds no events"), (2, "time_resolution_ns", "1"),
            (2, "import", "second.json: chrome; 3 events, 1 kept, skipped: 1 instant, 1 counter")])

    def test_hostile_names_are_escaped_in_text(self):
        path = self.file(CHROME, "a\x1b[31m\n.json")
        text = xsp("import", path, "-o", self.out, check=0).stdout
        self.assertNotIn(b"\x1b", text)
        self.assertIn(b"a\\x1b[31m", text)

    def kernels(self):
        """ONNX Runtime's kernels: one whose node is known, two that have none."""
        return "[" + ",".join([ort_event("Node", "conv_kernel_time", 10, 5, **NODE),
                               ort_event("Kernel", "gemm", 12, 30, parent_name="conv_kernel_time", stream="7",
                                         grid_x="1", grid_y="2", grid_z="3", block_x="64", block_y="1", block_z="1"),
                               ort_event("Kernel", "lost", 50, 3, parent_name="elsewhere_kernel_time"),
                               ort_event("Kernel", "lost", 60, 4), ort_event("Kernel", "Memcpy HtoD", 70, 4)]) + "]"

    def test_kernels_without_a_parent(self):
        account = self.take(self.kernels())
        self.assertEqual(account["unattributed"], {"count": 2, "duration_ns": 7000, "reasons": {"no launch": 2}})
        text = xsp("import", self.folder / "trace.json", "-o", self.out, "--force", check=0).stdout.decode()
        self.assertIn("kernels  3, 2 without a parent (0.007 ms): 2 no launch\n", text)

    def test_why_kernels_have_no_parent(self):
        """One launched in an operator, one outside, one where two operators cross, one without a launch."""
        launch = {"cat": "cuda_runtime", "name": "cudaLaunchKernel"}
        kernel = {"cat": "kernel", "pid": 0, "tid": 7}
        events = [event(cat="cpu_op", name="aten::a", ts=0, dur=10), event(cat="cpu_op", name="aten::b", ts=20, dur=10),
                  event(cat="cpu_op", name="aten::c", ts=25, dur=10)]
        events += [event(**launch, ts=at, dur=1, args={"correlation": at}) for at in (5, 15, 27)]
        events += [event(**kernel, ts=40 + at, dur=at, args={"correlation": at, "device": 0, "stream": 7})
                   for at in (5, 15, 27, 27, 99)]
        account = self.take({"schemaVersion": 1, "deviceProperties": [], "traceEvents": events})
        self.assertEqual(account["files"][0]["format"], "kineto")
        self.assertEqual(account["unattributed"], {"count": 4, "duration_ns": 168000, "reasons": {
            "no launch": 1, "launched outside any range": 1, "ambiguous": 2}})

    def test_files_of_one_call_are_one_experiment(self):
        first, second = self.file(ORT, "first.json"), self.file(CHROME, "second.json")
        account = xsp_json("import", first, second, first, "-o", self.out, "--json")
        self.assertEqual([file["format"] for file in account["files"]], ["ort", "chrome", "ort"])
        self.assertEqual([file["run_ids"] for file in account["files"]], [[1], [2], [3]])
        experiment, = xsp_json("info", self.out, "--json")["experiments"]
        self.assertEqual(experiment["name"], "first.json")
        self.assertEqual(experiment["framework"], "onnxruntime")
        self.assertIsNone(experiment["command"])
        self.assertEqual([run["run_id"] for run in experiment["runs"]], [1, 2, 3])
        self.assertEqual([run["levels"] for run in experiment["runs"]],
                         [["application", "model", "layer"], ["application", "layer"], ["application", "model", "layer"]])
        self.assertEqual({run["epoch"] for run in experiment["runs"]}, {"trace"})

    def test_layer_is_stored_with_the_run(self):
        self.take(CHROME)
        self.assertEqual(self.rows("select layer from run"), [(None,)])
        self.take(CHROME, "--layer", "innermost")
        self.assertEqual(self.rows("select layer from run"), [("innermost",)])


class RecognitionTest(ImportTest):
    def test_content_decides_not_the_name(self):
        for content, name, expected in ((ORT, "trace.sqlite", "ort"), (CHROME, "profile.xsp", "chrome"),
                                        ("  \n\t" + CHROME, "a", "chrome"), ("\ufeff" + CHROME, "b", "chrome"),
                                        (json.dumps([event()]), "c", "chrome"),
                                        (json.dumps({"traceEvents": [event()]}), "d", "chrome"),
                                        (json.dumps(json.loads(ORT)), "e", "ort"),
                                        (json.dumps({"traceEvents": json.loads(ORT)}), "f", "ort")):
            with self.subTest(name):
                self.assertEqual(self.take(content, name=name)["files"][0]["format"], expected)

    def test_format_forces(self):
        self.assertEqual(self.take(ORT, "--format", "chrome")["spans"], {"application": 3})
        self.out.unlink()
        self.refuse(self.file("not JSON at all"), "-o", self.out, "--format", "ort", mentions=["byte 0"])

    def test_compression_is_known_by_content(self):
        compress = shutil.which("zstd")
        self.take(ORT)
        plain = self.everything(self.out)
        self.take(gzip.compress(ORT.encode()), name="trace")
        self.assertEqual(self.everything(self.out), plain)
        half = len(ORT) // 2
        self.take(gzip.compress(ORT[:half].encode()) + gzip.compress(ORT[half:].encode()), name="members")
        self.assertEqual(self.everything(self.out), plain)
        if compress:
            packed = subprocess.run([compress, "-c"], input=ORT.encode(), capture_output=True, check=True).stdout
            self.take(packed, name="trace.json")
            self.assertEqual(self.everything(self.out), plain)

    def test_what_nobody_takes_is_named(self):
        self.take(CHROME)
        known = self.out.rename(self.folder / "known.xsp")
        database = sqlite3.connect(self.folder / "plain.db")
        database.execute("create table t(x)")
        database.commit()
        database.close()
        for content, mentions in ((b"\x7fELF\x02\x01\x01", "program"), (b"PK\x03\x04xxxx", "zip"),
                              (b"\xfd7zXZ\0abc", "xz"), (b"BZh91AY", "bzip2"), (b"\x89PNG\r\n", "picture"),
                              (b"x" * 257 + b"ustar\0", "tar"), (b"NVIDIA Nsight whatever", "nsys export --type sqlite"),
                              (known.read_bytes(), ".xsp"),
                              ((self.folder / "plain.db").read_bytes(), "SQLite"), (b"{\"a\": 1}", "JSON"),
                              (b"[1, 2]", "JSON"), (b" \n\n ", "white space"), (b"hello\n", "not known"),
                              (gzip.compress(b"hello"), "not known"),
                              (b"MOJ\x04\x01mode\0wall\0", "austin2pprof"), (b"# austin: 3.7.0\n# interval: 100\nP7;T7;a.py:f:1 100\n", "austin2pprof"),
                              (b"f (a.py:1) 3\nf (a.py:1);g (a.py:2) 12\nf (a.py:1);h", "folded"), (marshalled(), "cProfile"),
                              (b'{"$schema":"https://www.speedscope.app/file-format-schema.json","profiles":[]}', "speedscope"),
                              (b'{"files": {"a.py": {"lines": [{"n_cpu_percent_python": 3.5}]}}}', "Scalene"),
                              (b'{"meta":{"interval":1,"preprocessedProfileVersion":48}}', "samply"),
                              (b'{"nodes":[{"id":1,"callFrame":{"functionName":"(root)"}}]}', "Node.js"),
                              (b"layerName;execStatus;layerType;execType;realTime (ms);cpuTime (ms);\n", "xsp profile"),
                              (b"name,src_file,src_line,total_ns,total_perc,counts\n", "Tracy"), (b"memray\0\x0b", "memray"),
                              (struct.pack("<5Q", 0, 3, 0, 10_000, 0), "pprof -proto"), (b"# mode: wall\n\nP7;T0x7f:Main;a.py:f:1 100\n", "Austin"),
                              *((pickle.dumps({"segments": []}, protocol), "pickle") for protocol in (2, 3, 4, 5)),
                              (b"Time (%),Total Time (ns),Instances\n", "nsys stats"),
                              (b'"Kind","Agent_Id","Queue_Id"\n', "rocprofv3"), (b'"Domain","Function","Process_Id"\n', "rocprofv3"),
                              (b"python3 7\n\t    7f3a10 main+0x1 (/usr/bin/python3)\n", "perf script -F"),
                              (b"hello;you there\nand 3\n", "not known"), (b"a b (c)\n\td (e)\n", "not known"),
                              (b"", "empty"), (gzip.compress(b""), "empty"), (gzip.compress(CHROME.encode())[:-9], "")):
            with self.subTest(content[:20]):
                self.refuse(self.file(content, "what"), "-o", self.out, mentions=["what", mentions])
        for name, mentions in (("report.nsys-rep", "nsys export"), ("report.ncu-rep", "Nsight Compute"), ("a.qdrep", "nsys"),
                               ("events.out.tfevents.17.host", "xplane.pb"), ("a.tracy", "Tracy")):
            self.refuse(self.file(b"\x01\x02\x03", name), "-o", self.out, mentions=[name, mentions])
        self.refuse(self.folder, "-o", self.out, mentions=[str(self.folder)])
        self.refuse(self.folder / "missing", "-o", self.out, mentions=["missing"])
        error = self.refuse(self.file("hello", "what"), "-o", self.out)
        self.assertIn("--from", error)


class BadInputTest(ImportTest):
    def test_every_beginning_of_a_file(self):
        """Each gives a file or one clear line, and never half of anything."""
        samples = {"ort": ORT, "bare": json.dumps([event(), event(ph="B"), event(ph="E", ts=3)]), "chrome": CHROME,
                   "kineto": json.dumps({"schemaVersion": 1, "traceEvents": [
                       event(cat="cpu_op", name="aten::mm", args={"External id": 1}),
                       event(cat="cuda_runtime", name="cudaLaunchKernel", args={"correlation": 5}),
                       event(cat="kernel", pid=0, tid=7, ts=3, args={"correlation": 5, "device": 0, "stream": 7})]}),
                   "gzip": gzip.compress(CHROME.encode())}

        def attempt(sample, name, length):
            path, out = self.folder / f"{name}-{length}", self.folder / f"{name}-{length}.xsp"
            path.write_bytes(sample[:length])
            result = subprocess.run([XSP, "import", path, "-o", out, "--json"], capture_output=True, timeout=TIMEOUT_S)
            leftovers = [other.name for other in self.folder.glob(f"{name}-{length}.*")]
            return name, length, result, leftovers

        def good(name, length, result, leftovers):
            if result.returncode == 0:
                return leftovers == [f"{name}-{length}.xsp"] and json.loads(result.stdout)["files"]
            lines = result.stderr.decode().splitlines()
            return result.returncode == 2 and not leftovers and not result.stdout and len(lines) == 1 and \
                f"{name}-{length}" in lines[0]

        with concurrent.futures.ThreadPoolExecutor(2) as pool:
            tasks = []
            for name, sample in samples.items():
                sample = sample.encode() if isinstance(sample, str) else sample
                lengths = [*range(0, len(sample), STEP), len(sample)]
                tasks += [pool.submit(attempt, sample, name, length) for length in lengths]
            statuses = collections.defaultdict(set)
            for task in tasks:
                name, length, result, leftovers = task.result()
                statuses[name].add(result.returncode)
                self.assertTrue(good(name, length, result, leftovers), (name, length, result, leftovers))
        self.assertEqual(dict(statuses), {name: {0, 2} for name in samples})  # neither all taken nor all refused

    def test_numbers_that_cannot_be_represented(self):
        for field in ("ts", "dur"):
            for number in ("9223372036854775808", "1e300", "-9e18", "9223372036854775.808"):
                text = '[{"ph":"X","name":"x","ts":1,"dur":1}]'.replace(f'"{field}":1', f'"{field}":{number}')
                with self.subTest(text):
                    self.refuse(self.file(text), "-o", self.out, mentions=["trace.json, byte 1", "64 bits"])
        self.refuse(self.file('[{"ph":"B","ts":-9223372036854775,"name":"a"},{"ph":"E","ts":9223372036854775}]'),
                    "-o", self.out, mentions=["byte 46", "64 bits"])
        self.take('[{"ph":"X","name":"x","ts":9223372036854775.806,"dur":0.001,"args":{"n":9223372036854775808}}]')
        self.assertEqual(self.rows("select start_ns, duration_ns from span"), [(2**63 - 2, 1)])
        self.assertEqual(self.rows("select value, typeof(value) from tag"), [("9223372036854775808", "text")])

    def test_numbers_that_are_none(self):
        """As json.dump of Python writes them."""
        nan, infinite = float("nan"), float("inf")
        for extra, layout in (({"cat": "cpu_op"}, "kineto"), ({}, "chrome"), ({"cat": "Node"}, "ort")):
            events = [event(**extra, name="a_kernel_time", args={"op_name": "a", "rate": infinite, "list": [1, nan, {"x": -infinite}],
                                                                 "text": "NaN"}), event(**extra, ts=nan), event(**extra, dur=-infinite)]
            file, = self.take(json.dumps(events), "--format", layout)["files"]
            self.assertEqual((file["kept"], sum(file["skipped"].values())), (1, 2))
            self.assertIn("5 values are NaN or infinite: read as null", file["notes"])
            if layout != "ort":
                tags = dict(self.rows("select key, value from tag where key in ('rate', 'list', 'text')"))
                self.assertEqual({key: value.replace(" ", "") for key, value in tags.items()},
                                 {"list": '[1,null,{"x":null}]', "text": "NaN"})

    def test_advice_fits_the_fault(self):
        text = json.dumps([event(name="x"), event()])
        cut = self.refuse(self.file(text[:40]), "-o", self.out)
        self.assertIn("copying it again", cut)
        for wrong in (text.replace('"x"', '"\\x"'), text.replace(": 1,", ": 01,", 1), text.replace('"ts"', "ts")):
            error = self.refuse(self.file(wrong), "-o", self.out)
            self.assertNotIn("again", error)
            self.assertIn("at this byte", error)

    def test_deep_nesting(self):
        for text in ("[" * 10**6, '[{"ph":"X","args":' * 10**6, '{"traceEvents":[{"args":{"a":' + "[" * 10**6,
                     '[{"ph":"X","ts":1,"name":"x","args":{"a":' + "[" * 10**6 + "]" * 10**6 + "}}]"):
            with self.subTest(text[:20]):
                self.refuse(self.file(text), "-o", self.out, "--format", "chrome", mentions=["trace.json"])

    def test_bombs(self):
        bomb = self.file(gzip.compress(b"[" + b" " * 50_000_000), "bomb.json.gz")
        self.refuse(bomb, "-o", self.out, "--limit-bytes", "1M", "--format", "chrome", mentions=["bomb.json.gz", "1048576"])
        self.refuse(self.file(CHROME), "-o", self.out, "--limit-bytes", "10", mentions=["--limit-bytes"])
        xsp("import", self.file(CHROME), "-o", self.out, "--limit-bytes", str(len(CHROME)), check=0)

    def test_bombs_that_give_nothing_out(self):
        """Empty members without end, and zeros behind the last: what comes out never reaches the limit."""
        empty = gzip.compress(b"") * 200_000
        for content in (CHROME.encode(), b""):
            whole = gzip.compress(content) + empty
            self.refuse(self.file(gzip.compress(whole), "empty.json.gz"), "-o", self.out, "--limit-bytes", "1M",
                        "--format", "chrome", mentions=["empty.json.gz", "compressed", "--limit-bytes"])
        zeros = gzip.compress(gzip.compress(CHROME.encode()) + b"\0" * 8_000_000)
        self.refuse(self.file(zeros, "zeros.json.gz"), "-o", self.out, "--limit-bytes", "1M", mentions=["zeros.json.gz"])
        xsp("import", self.file(zeros, "zeros.json.gz"), "-o", self.out, "--limit-bytes", "16M", check=0)

    def ask_everything(self):
        for name in ("L0", *(f"A{number}" for number in range(1, 16))):
            for layer in ("outermost", "innermost"):
                result = xsp("analyze", name, self.out, "--layer", layer, "--json")
                self.assertIn(result.returncode, (0, 1), result.stderr)
        for kind in ("perfetto", "chrome", "otlp", "otlp-proto", "csv", "sqlite"):
            xsp("export", self.out, "--to", kind, "-o", self.folder / "exported", "--force", check=0)
        xsp("check", "--links", self.out)
        xsp("info", self.out, check=0)

    def test_times_that_add_up_beyond_64_bits(self):
        """Each can be represented, their sums cannot: sanitizers see what becomes of them."""
        half = 4 * 10**15  # microseconds
        events = []
        for step, start in enumerate((0, -half)):
            events.append(event(cat="user_annotation", name=f"ProfilerStep#{step}", ts=start, dur=half))
            for number in range(4):
                events.append(event(cat="cpu_op", name="aten::mm", ts=start + number, dur=half - 10, args={
                    "External id": number + 1, "Input Dims": [[10**6, 10**6]] * 2, "Input type": ["float", "float"]}))
                launch = {"correlation": 10 * step + number + 1}
                events.append(event(cat="cuda_runtime", name="cudaLaunchKernel", ts=start + number + 5, args=launch))
                for kernel in range(3):
                    events.append(event(cat="kernel", name=f"k{kernel % 2}", ts=start + kernel, dur=half - 100, pid=0,
                                        tid=7 + number, args={**launch, "External id": 1, "flops": 9e18}))
        self.take({"schemaVersion": 1, "traceEvents": events})
        self.ask_everything()
        # parents that are named need not enclose
        far = 9 * 10**18
        spans = []
        for number, (level, start, end, parent) in enumerate((
                ("model", -far, -1, 0), ("layer", -far, -far + 5, 1), ("layer", far, far + 10**17, 2), ("layer", far, far, 3),
                ("layer", -far, -far + 1, 3), ("kernel", 0, far, 2), ("kernel", -far, 0, 4), ("kernel", 1, far, 4))):
            attributes = {"xsp.level": {"stringValue": level}, "xsp.start_ns": {"intValue": str(start)},
                          "xsp.end_ns": {"intValue": str(end)}, "xsp.track": {"intValue": "1"}}
            if level == "kernel":
                attributes["xsp.kind"] = {"stringValue": "execution"}
            spans.append({"traceId": "01" * 16, "spanId": f"{number + 1:016x}", "name": level,
                          "parentSpanId": f"{parent:016x}" if parent else "",
                          "attributes": [{"key": key, "value": value} for key, value in attributes.items()]})
        self.take({"resourceSpans": [{"scopeSpans": [{"spans": spans}]}]})
        self.assertEqual(self.rows("select count(*) from span where start_ns < 0"), [(4,)])
        self.ask_everything()

    def test_invalid_utf8_is_replaced(self):
        self.take(b'[{"ph":"X","name":"a\xffb","ts":1,"dur":1,"args":{"k\xc3":"\xed\xa0\x80 \\ud800"}}]')
        self.assertEqual(self.rows("select name from span"), [("a\ufffdb",)])
        key, value = self.rows("select key, value from tag")[0]
        self.assertEqual(key, "k\ufffd")
        self.assertEqual(set(value.replace(" ", "")), {"\ufffd"})


class OnnxRuntimeTest(ImportTest):
    def test_events_and_tags(self):
        nodes = [ort_event("Node", "conv_kernel_time", 10, 5, **NODE), ort_event("Node", "conv_fence_before", 9, 0),
                 ort_event("Node", "_kernel_time", 15, 1, op_name="Relu"), ort_event("Session", "model_run", 8, 12),
                 ort_event("Session", "SequentialExecutor::Execute", 8, 11)]
        account = self.take("[" + ",".join(nodes) + "]")
        self.assertEqual(account["files"][0]["kept"], 5)
        self.assertEqual(self.rows("select name, level, start_ns, duration_ns from span order by span_id"), [
            ("conv", "layer", 10000, 5000), ("conv_fence_before", "application", 9000, 0),
            ("Relu", "layer", 15000, 1000), ("model_run", "model", 8000, 12000),
            ("SequentialExecutor::Execute", "application", 8000, 11000)])
        self.assertEqual(dict(self.rows("select key, value from tag where span_id = 1")), {
            "layer_index": 3, "layer_type": "Conv", "layer_shape": "[1,2,3]", "provider": "CPUExecutionProvider",
            "alloc_bytes": -40, "input_shape": "[1,3] []", "parameter_bytes": 8, "activation_bytes": 4,
            "output_bytes": 24})
        self.assertEqual(self.rows("select process_id, thread_id from track"), [(7, 8)])
        self.assertEqual(self.rows("select observation, start_ns, duration_ns from observation"), [(0, 8000, 12000)])

    def test_memory_is_that_of_a_nodes_first_run(self):
        """Which later runs reuse, for each output shape; a node without a name is known by its number."""
        def node(name, start, shape, number, **arguments):
            return ort_event("Node", f"{name}_kernel_time", start, 1, op_name="Conv", node_index=str(number),
                             output_type_shape=[{"float": shape}], **arguments)
        arena = {"mem_in_use_delta": "256"}
        account = self.take("[" + ",".join([
            node("a", 1, [1], 0, mem_requested_in_use_delta="100", **arena), node("a", 3, [1], 0, mem_requested_in_use_delta="0", **arena),
            node("a", 5, [2], 0, mem_requested_in_use_delta="200", **arena), node("a", 7, [2], 0, **arena),
            node("", 9, [1], 1, **arena), node("", 11, [1], 2, mem_in_use_delta="64"), node("b", 13, [1], 3)]) + "]")
        self.assertEqual(self.rows("select (select value from tag t where t.run_id = s.run_id and t.span_id = s.span_id and key = 'alloc_bytes') "
                                   "from span s order by span_id"), [(100,), (100,), (200,), (200,), (None,), (None,), (None,)])
        self.assertIn("2 runs of nodes have no alloc_bytes", account["files"][0]["notes"][0])

    def test_kernels_of_a_gpu(self):
        self.take(AccountTest.kernels(self))
        self.assertEqual(self.rows("select s.name, s.kind, s.category, p.name, s.basis from span s left join span p on "
                                   "p.run_id = s.run_id and p.span_id = s.parent_id where s.level = 'kernel' "
                                   "order by s.span_id"),
                         [("gemm", "execution", "kernel", "conv", "explicit"), ("lost", "execution", "kernel", None, "none"),
                          ("lost", "execution", "kernel", None, "none"),
                          ("Memcpy HtoD", "execution", "memcpy", None, "none")])
        self.assertEqual(self.rows("select key, value from tag where span_id = 2 order by key"),
                         [("block", "[64,1,1]"), ("grid", "[1,2,3]")])
        self.assertEqual(self.rows("select name, stream_id from track where process_id is null"),
                         [("stream 7", 7), ("stream", None)])

    def test_calls_of_a_gpus_runtime(self):
        self.take("[" + ",".join([
            ort_event("Node", "conv_kernel_time", 10, 50, **NODE), ort_event("Api", "cudaLaunchKernel", 20, 30),
            ort_event("Api", "hipModuleLaunchKernel", 25, 5), ort_event("Session", "model_run", 8, 60)]) + "]")
        self.assertEqual(self.rows("select s.name, s.kind, s.category, p.name from span s left join span p on p.run_id = "
                                   "s.run_id and p.span_id = s.parent_id where s.level = 'kernel' order by s.span_id"),
                         [("cudaLaunchKernel", "sync", "api", "conv"), ("hipModuleLaunchKernel", "sync", "api", "conv")])

    def test_what_makes_no_sense_is_skipped(self):
        account = self.take("[" + ",".join([
            ort_event("Node", "a_kernel_time", 10, -5, **NODE), ort_event("Session", "model_run", 1, 2),
            '{"cat":"Node","ph":"X","name":"b","ts":1}', '{"cat":"Node","ph":"X","name":"b","dur":1}',
            '{"cat":"Node","ph":"B","name":"b","ts":1}', "{}"]) + "]")
        self.assertEqual(account["files"][0]["events"], 6)
        self.assertEqual(account["files"][0]["kept"], 1)
        self.assertEqual(account["files"][0]["skipped"], {
            "negative duration": 1, "no duration": 1, "no start": 1, "not a complete event": 2})

    def test_a_session_that_was_never_ended(self):
        account = self.take(ORT.rstrip().rstrip("]").rstrip() + ",\n")
        self.assertEqual(account["files"][0]["kept"], 3)
        self.assertIn("closing bracket", account["files"][0]["notes"][0])

    def test_names_with_raw_control_bytes(self):
        self.take(ORT.replace("conv_kernel_time", "co\tnv\x01_kernel_time"))
        self.assertEqual(self.rows("select name from span where level = 'layer'"), [("co\tnv\x01",)])

    def test_a_million_events_are_suspect(self):
        line = ort_event("Session", "model_run", 1, 2).encode() + b",\n"
        account = self.take(b"[" + line * 999_999 + line[:-2] + b"]")
        self.assertEqual(account["files"][0]["kept"], 1_000_000)
        self.assertIn("million", "".join(account["files"][0]["notes"]))


@unittest.skipIf(DATA is None, "no real traces: set XSP_TEST_DATA")
class RealOnnxRuntimeTest(ImportTest):
    FILES = {"ort1.30_ppocr_det_320_session.json": (3, 1200, [37195000, 29208000, 15655000]),
             "ort1.30_ppocr_cls_session.json": (3, 705, None),
             "ort1.30_ppocr_cls_run0.json": (1, 235, None),
             "ort1.30_ppocr_cls_customalloc_session.json": (3, 705, None)}

    def read(self, path):
        """An independent reading: {operator: (count, ns)} and the predictions' times."""
        events = json.loads(path.read_text(), parse_float=decimal.Decimal)
        operators = collections.defaultdict(lambda: [0, 0])
        for each in events:
            if each["cat"] == "Node" and each["name"].endswith("_kernel_time"):
                operators[each["args"]["op_name"]][0] += 1
                operators[each["args"]["op_name"]][1] += int(each["dur"] * 1000)
        models = [int(each["dur"] * 1000) for each in events if each["name"] == "model_run"]
        return len(events), {name: tuple(entry) for name, entry in operators.items()}, models

    def test_what_they_hold(self):
        for name, (runs, layers, durations) in self.FILES.items():
            with self.subTest(name):
                path = pathlib.Path(DATA) / "ort" / name
                account = xsp_json("import", path, "-o", self.out, "--force", "--json")
                events, operators, models = self.read(path)
                file, = account["files"]
                self.assertEqual((file["format"], file["events"], file["kept"], file["skipped"]),
                                 ("ort", events, events, {}))
                self.assertEqual((account["spans"]["model"], account["spans"]["layer"]), (runs, layers))
                found = self.rows("select t.value, count(*), sum(s.duration_ns) from span s join tag t using (run_id, "
                                  "span_id) where t.key = 'layer_type' and s.level = 'layer' group by 1")
                self.assertEqual({row[0]: row[1:] for row in found}, operators)
                times = self.rows("select duration_ns from observation order by start_ns")
                self.assertEqual([row[0] for row in times], models)
                if durations is not None:
                    self.assertEqual(models, durations)
                    self.assertEqual(operators["Conv"][1], 30675000)
                # every layer lies in its prediction, and as many in each
                self.assertEqual(self.rows("select count(*) from span where level = 'layer' group by model_id"),
                                 [(layers // runs,)] * runs)

    def test_memory_is_known_where_it_was_recorded(self):
        path = pathlib.Path(DATA) / "ort" / "ort1.30_ppocr_cls_customalloc_session.json"
        xsp("import", path, "-o", self.out, check=0)
        self.assertEqual(self.rows("select count(*) from tag where key = 'alloc_bytes'"), [(0,)])
        row = xsp_json("analyze", "A4", self.out, "--json")["rows"][0]
        self.assertEqual(row["alloc_from"], "outputs")  # not what was allocated
        xsp("import", path.with_name("ort1.30_ppocr_cls_session.json"), "-o", self.out, "--force", check=0)
        self.assertEqual(self.rows("select count(*) from tag where key = 'alloc_bytes'"), [(705,)])

    def test_sessions_together(self):
        paths = [pathlib.Path(DATA) / "ort" / f"ort1.30_ppocr_cls_{name}.json" for name in ("session", "run0")]
        xsp("import", *paths, "-o", self.out, check=0)
        answer = xsp_json("analyze", "A2", self.out, "--json")
        self.assertEqual(len(answer["rows"]), 235)
        self.assertEqual(answer["run_set"]["observations"], 4)


class ChromeTest(ImportTest):
    def spans(self, columns="name, start_ns, duration_ns"):
        return self.rows(f"select {columns} from span order by span_id")

    def test_operators_by_category(self):
        """As MXNet's profiler writes them; a step that --model-range names stays one."""
        self.take([event(name="Convolution", cat="operator", ph="B", ts=10), event(name="Convolution", cat="operator", ph="E", ts=25),
                   event(name="MXInvoke", cat="MXNET_C_API"), event(name="step 1", cat="operator")], "--model-range", "step *")
        self.assertEqual(self.spans("name, level, duration_ns"), [("Convolution", "layer", 15000), ("MXInvoke", "application", 1000),
                                                                 ("step 1", "model", 1000)])
        self.assertEqual(dict(self.rows("select key, value from tag where span_id = 1")), {"layer_type": "Convolution"})

    def test_levels_are_told_from_names(self):
        self.take([event(name="aten::mm"), event(name="custom, seq = 5, op_id = 6, sizes = [[1, 2], []]"),
                   event(name="cv::dnn::forwardLayer"), event(name="step 1"), event(name="load, seq = x")],
                  "--model-range", "step *")
        self.assertEqual(self.spans("name, level"), [("aten::mm", "layer"), ("custom", "layer"),
                                                     ("cv::dnn::forwardLayer", "layer"), ("step 1", "model"),
                                                     ("load, seq = x", "application")])
        self.assertEqual(dict(self.rows("select key, value from tag where span_id = 2")),
                         {"sequence": 5, "op_id": 6, "input_shape": "[[1, 2], []]", "layer_index": 1})

    def test_steps_are_the_observations(self):
        events = [event(name="ProfilerStep", ts=0, dur=100)]
        events += [event(name=f"step {i}", ts=10 * i, dur=9) for i in range(3)]
        self.take(events, "--model-range", "step *")
        self.assertEqual(self.rows("select observation, start_ns from observation"), [(0, 0), (1, 10000), (2, 20000)])
        self.take(events)
        self.assertEqual(self.rows("select span_id, start_ns, duration_ns from observation"), [(None, 0, 100000)])

    def test_begin_and_end_pair_up_on_their_thread(self):
        account = self.take([end(ts=0), event(ph="B", ts=1, name="a", args={"x": 1}), event(ph="B", ts=2, name="b"),
                             event(ph="B", ts=2.5, name="other", tid=2), end(ts=3),
                             end(ts=4.0005, args={"y": 2, "z": "text", "none": None, "list": [1]}), end(ts=5),
                             end(ts=9, tid=2), event(ph="B", ts=7, name="short"), event(ph="B", ts=8, name="open"),
                             end(ts=7.5)])
        file, = account["files"]
        self.assertEqual((file["events"], file["kept"]), (11, 9))
        self.assertEqual(file["skipped"], {"end without a beginning": 2})
        self.assertEqual(file["notes"], ["1 span never ended"])
        self.assertEqual(self.spans(), [("a", 1000, 3000), ("b", 2000, 1000), ("other", 2500, 6500), ("short", 7000, 500),
                                        ("open", 8000, None)])
        self.assertEqual(self.rows("select key, value from tag where span_id = 1"),
                         [("x", 1), ("y", 2), ("z", "text"), ("list", "[1]")])
        self.assertEqual(self.spans("parent_id"), [(None,), (1,), (None,), (None,), (None,)])

    def test_begin_and_end_stand_in_any_order(self):
        pairs = [("outer", 10, 90), ("first", 20, 40), ("leaf", 25, 30), ("second", 40, 80)]
        events = [event(ph="B", ts=start, name=name) for name, start, _ in pairs]
        events += [end(ts=stop) for _, _, stop in pairs]
        expected = [("first", 20000, 20000, "outer"), ("leaf", 25000, 5000, "first"), ("outer", 10000, 80000, None),
                    ("second", 40000, 40000, "outer")]
        query = ("select s.name, s.start_ns, s.duration_ns, p.name as parent from span s left join span p "
                 "on p.span_id = s.parent_id order by s.name")
        for order in (sorted(events, key=lambda each: (each["ts"], each["ph"] == "B")), events[::-1],
                      events[4:] + events[:4]):
            order.sort(key=lambda each: each["ts"] == 40 and each["ph"] == "B")  # at a tie the file's order counts
            self.assertEqual(self.take(order)["files"][0]["skipped"], {})
            self.assertEqual(self.rows(query), expected)

    def test_an_end_with_a_name_ends_a_span_of_that_name(self):
        file, = self.take([event(ph="B", ts=0, name="a"), event(ph="B", ts=1, name="b"), event(ph="E", ts=2, name="c"),
                           event(ph="B", ts=3, name="b"), event(ph="E", ts=5, name="a"), end(ts=6),
                           event(ph="E", ts=9, name="b"), event(ph="E", ts=10, name="a")])["files"]
        self.assertEqual(self.spans(), [("a", 0, 5000), ("b", 1000, 8000), ("b", 3000, 3000)])
        self.assertEqual(file["skipped"], {"end without a beginning": 2})
        self.assertEqual(file["notes"], ["1 end event has no open span's name"])

    def test_pairs_without_length_keep_their_nesting(self):
        events = []
        for each in ("B outer 0", "B inner 0", "E inner 5", "B tick 5", "E tick 5", "B next 5", "E next 9", "B last 9",
                     "E last 9", "E outer 9", "B alone 9", "E alone 9"):
            phase, name, time_us = each.split()
            events.append(event(ph=phase, name=name, ts=int(time_us)))
        self.take(events)
        names = dict(self.rows("select span_id, name from span"))
        parents = {name: names.get(parent) for name, parent in self.spans("name, parent_id")}
        self.assertEqual(parents, {"outer": None, "inner": "outer", "tick": "outer", "next": "outer", "last": "outer",
                                   "alone": None})
        self.take([{**each, "ts": each["ts"] * 2 + (each["ts"] == 5)} for each in events])  # equal times apart: as before
        self.assertEqual({name: names.get(parent) for name, parent in self.spans("name, parent_id")}, parents)

    def test_who_begins_first_is_the_outer_of_equals(self):
        self.take([event(ph="B", ts=5, name="aten::a"), event(ph="B", ts=5, name="aten::b"),
                   event(name="aten::x", ts=5, dur=4), event(name="aten::zero", ts=5, dur=0),
                   event(ph="B", ts=5, name="aten::c"), end(ts=9), end(ts=9), end(ts=9)])
        self.assertEqual(self.spans("name, parent_id"), [("aten::a", None), ("aten::b", 1), ("aten::x", 2),
                                                         ("aten::zero", 3), ("aten::c", 3)])

    def test_asynchronous_events_have_tracks_of_their_own(self):
        account = self.take([
            event(ph="b", id="0x1", cat="net", name="aten::request", ts=1), event(ph="b", id="0x1", cat="net", name="aten::part", ts=2),
            event(ph="b", id="0x2", cat="net", name="aten::second", ts=2), event(ph="n", id="0x1", cat="net", name="mark", ts=2),
            end(ph="e", id="0x1", cat="net", ts=3), end(ph="e", id="0x2", cat="net", ts=4),
            end(ph="e", id="0x1", cat="net", ts=5), event(ph="S", id=7, cat="old", name="aten::old", ts=1),
            end(ph="F", id=7, cat="old", ts=2), event(ph="b", name="lost", ts=1), event(name="aten::thread", ts=0, dur=9)])
        self.assertEqual(self.spans("name, duration_ns, parent_id"), [
            ("aten::request", 4000, None), ("aten::part", 1000, 3), ("aten::second", 2000, 1), ("aten::old", 1000, 1),
            ("aten::thread", 9000, None)])
        self.assertEqual(account["files"][0]["skipped"], {"instant": 1, "no id": 1})
        self.assertEqual(self.rows("select name from track where thread_id is null order by track_id"),
                         [("net 0x1",), ("net 0x2",), ("old 7",)])

    def test_requests_within_another_are_predictions(self):
        """They run side by side on no thread; a part of a request is none, whatever its name."""
        pairs = [("request 1", 1, 0, 100), ("request 2", 2, 10, 20), ("request 12", 3, 30, 50), ("part request", 1, 60, 90)]
        self.take([event for name, number, start, end in pairs for event in (
            {"ph": "b", "id": number, "cat": "net", "name": name, "ts": start, "pid": 1, "tid": 1},
            {"ph": "e", "id": number, "cat": "net", "name": name, "ts": end, "pid": 1, "tid": 1})],
                  "--model-range", "*request*")
        self.assertEqual(self.rows("select observation, start_ns from observation order by 1"),
                         [(0, 0), (1, 10000), (2, 30000)])
        self.assertEqual(self.spans("name, observation"),
                         [("request 1", 0), ("request 2", 1), ("request 12", 2), ("part request", 0)])

    def test_asynchronous_events_pair_up_by_name(self):
        for begin, stop in ("be", "SF"):
            common = {"id": 3, "cat": "requests"}
            self.take([event(ph=begin, name="wait", ts=0, **common), event(ph=begin, name="run", ts=50, **common),
                       event(ph=stop, name="wait", ts=70, **common), event(ph="n", name="mark", ts=80, **common),
                       event(ph=begin, name="wait", ts=90, **common), event(ph=stop, name="run", ts=200, **common),
                       event(ph=stop, name="wait", ts=210, **common), event(ph=stop, name="wait", ts=220, id=4, cat="requests")])
            self.assertEqual(self.spans(), [("wait", 0, 70000), ("run", 50000, 150000), ("wait", 90000, 120000)])

    def test_asynchronous_events_pair_up_within_what_their_id_counts_in(self):
        """As Chromium writes them: a local id is one process's, a scope keeps equal ids apart."""
        for here, there in (({"pid": 1, "id2": {"local": "0x1"}}, {"pid": 2, "id2": {"local": "0x1"}}),
                            ({"id": "0x1", "scope": "a"}, {"id": "0x1", "scope": "b"})):
            common = {"cat": "net", "name": "get"}
            self.take([event(ph="b", ts=0, **common, **here), event(ph="b", ts=10, **common, **there),
                       event(ph="e", ts=40, **common, **here), event(ph="e", ts=100, **common, **there)])
            self.assertEqual(self.spans(), [("get", 0, 40000), ("get", 10000, 90000)])
        self.take([event(ph="b", ts=0, pid=1, id2={"global": "0x1"}), event(ph="e", ts=9, pid=2, id2={"global": "0x1"})])
        self.assertEqual(self.spans("duration_ns"), [(9000,)])

    def test_asynchronous_events_without_an_id_do_not_pair_up(self):
        """An `id2` without a text that is local or global is none."""
        others = [{"id2": id2} for id2 in ("0x1", 1, {}, {"local": 1}, {"other": "0x1"})]
        account = self.take([event(ph=phase, cat="net", ts=ts, **other) for ts, phase in ((0, "b"), (9, "e")) for other in ({}, *others)] + [event()])
        self.assertEqual((account["files"][0]["skipped"], account["files"][0]["kept"]), ({"no id": 12}, 1))

    def test_other_phases_are_counted(self):
        phases = {"i": "instant", "I": "instant", "R": "instant", "C": "counter", "s": "flow", "t": "flow", "f": "flow",
                  "P": "sample", "N": "object", "O": "object", "D": "object", "v": "memory dump", "V": "memory dump",
                  "c": "clock", "M": "metadata", "?": "unknown phase", "XX": "no phase"}
        account = self.take([event(ph=phase, id=1) for phase in phases] + [{"name": "x"}, event()])
        expected = collections.Counter(phases.values()) + collections.Counter(["no phase"])
        file, = account["files"]
        self.assertEqual(file["skipped"], dict(expected))
        self.assertEqual((file["events"], file["kept"]), (len(phases) + 2, 1))

    def test_events_that_make_no_sense(self):
        account = self.take([event(dur=-1), event(dur="1 s"), {"ph": "X", "name": "x", "dur": 1}, event(ts="now"), event()])
        self.assertEqual(account["files"][0]["skipped"], {"negative duration": 1, "no duration": 1, "no start": 2})
        self.assertEqual(account["files"][0]["kept"], 1)

    def test_names_of_threads_and_processes(self):
        self.take([event(pid=1, tid=2), event(ph="M", name="thread_name", pid=1, tid=2, args={"name": "main"}),
                   event(ph="M", name="process_name", pid=1, args={"name": "python"}), event(pid=1, tid=3),
                   event(pid="GPU 0", tid="stream 7"), event(pid="GPU 0", tid=4), event(pid="12", tid="13"),
                   event(pid=12, tid=13), event(pid=None, tid=None)])
        self.assertEqual(self.rows("select name, process_id, thread_id from track order by track_id"),
                         [("main", 1, 2), ("python", 1, 3), ("stream 7", None, None), ("GPU 0", None, 4), (None, 12, 13),
                          (None, None, None)])

    def test_arguments_become_tags(self):
        text = ('[{"ph":"X","ts":1,"dur":1,"name":"x","args":{"i":-3,"d":1.50,"e":1e3,"s":"text","t":true,"f":false,'
                '"n":null,"o":{"a": [1,2]},"l":[ 1 ],"big":18446744073709551615,"huge":1e999,"empty":"","u":"\\u00e9"}}]')
        self.take(text)
        tags = {key: (kind, value) for key, kind, value in self.rows("select key, typeof(value), value from tag")}
        self.assertEqual(tags, {"i": ("integer", -3), "d": ("real", 1.5), "e": ("real", 1000.0), "s": ("text", "text"),
                                "t": ("integer", 1), "f": ("integer", 0), "o": ("text", '{"a": [1,2]}'),
                                "l": ("text", "[ 1 ]"), "big": ("text", "18446744073709551615"), "huge": ("text", "1e999"),
                                "empty": ("text", ""), "u": ("text", "é")})

    def test_times_are_exact(self):
        self.take('[{"ph":"X","ts":1700000000000000.001,"dur":0.0019,"name":"a"},{"ph":"X","ts":0.9999,"dur":0.0002,"name":"b"}]')
        self.assertEqual(self.spans(), [("a", 1700000000000000001, 1), ("b", 999, 1)])

    def test_one_thread_and_two_write_the_same(self):
        events = []
        for i in range(30000):
            events.append(event(name=f"aten::op{i % 777}", ts=i // 3, dur=i % 50, tid=i % 5, args={"i": i, "t": f"v{i % 999}"}))
            events.append(event(ph="BE"[i % 2], ts=i, tid=9, name=f"range {i // 2}"))
        operators = [{**each, "cat": "cpu_op"} for each in events if each["ph"] == "X"]
        for content, format, kept in ((events, "chrome", 60000), ({"schemaVersion": 1, "traceEvents": operators}, "kineto", 30000)):
            trace = self.file(content)
            files = [self.folder / "one.xsp", self.folder / "two.xsp"]
            accounts = [xsp_json("import", trace, "-o", file, "--force", "--threads", threads, "--json") for file, threads in zip(files, "12")]
            self.assertEqual(accounts[0]["files"], accounts[1]["files"])
            self.assertEqual((accounts[0]["files"][0]["format"], accounts[0]["files"][0]["kept"]), (format, kept))
            self.assertEqual(self.everything(files[0]), self.everything(files[1]))

    def test_one_thread_and_two_refuse_alike(self):
        text = json.dumps([event(name=f"op{i}", ts=i) for i in range(50000)])
        for place in (text.index("}, {", len(text) // 3) + 1, len(text) - 1):
            broken = self.file(text[:place] + "\x01" + text[place + 1:])
            lines = [xsp("import", broken, "-o", self.out, "--threads", threads, check=2).stderr for threads in "12"]
            self.assertIn(b"byte ", lines[0])
            self.assertEqual(lines[0], lines[1])

    def test_parents_of_a_large_run_are_found_on_as_many_threads(self):
        trace = self.file(b"[" + b",".join([json.dumps(event()).encode()] * 10**6) + b"]")
        for options, has_two in (((), len(os.sched_getaffinity(0)) > 1), (("--threads", "1"), False)):
            result = xsp("import", trace, "-o", self.out, "--force", *options, environment={"XSP_DEBUG": "correlate"})
            self.assertIn(b"1000000 spans", result.stderr)
            self.assertEqual(b"two threads" in result.stderr, has_two)

    def test_an_empty_trace_next_to_another(self):
        empty, full = self.file("[]", "empty.json"), self.file(CHROME, "full.json")
        account = xsp_json("import", empty, full, "-o", self.out, "--json")
        self.assertEqual([file["kept"] > 0 for file in account["files"]], [False, True])
        self.assertEqual(account["files"][0]["notes"], ["it holds no events"])
        self.assertEqual(len(xsp_json("info", self.out, "--json")["experiments"][0]["runs"]), 2)

    def test_nothing_but_empty_traces(self):
        for content, words in (("[]", "0 events"), ([event(ph="i"), event(dur=-1)], "2 events, 0 kept, skipped: 1 instant")):
            files = [self.file(content, name) for name in ("a.json", "b.json")]
            for paths in (files[:1], files):
                line = xsp("import", *paths, "-o", self.out, check=2).stderr.decode()
                self.assertIn(str(files[0]), line)
                self.assertIn(words, line)
                self.assertFalse(self.out.exists())

    @unittest.skipIf(DATA is None, "no real traces: set XSP_TEST_DATA")
    def test_the_trace_of_an_older_profiler(self):
        path, = (pathlib.Path(DATA) / "torch").glob("*.json")
        account = xsp_json("import", path, "-o", self.out, "--json")
        events = json.loads(path.read_text())
        self.assertEqual(account["files"][0]["format"], "chrome")
        self.assertEqual(account["files"][0]["kept"], len(events))
        self.assertNotIn("kernel", account["spans"])
        self.assertEqual(self.rows("select count(*), sum(duration_ns) from span where level = 'layer' and name like 'aten::%'"),
                         [(sum(each["name"].startswith("aten::") for each in events),
                           sum(each["dur"] * 1000 for each in events if each["name"].startswith("aten::")))])
        nested = self.rows("select count(*) from span s join span p on p.span_id = s.parent_id where s.name = "
                           "'aten::_convolution' and p.name = 'aten::convolution'")
        self.assertEqual(nested, [(1,)])


if __name__ == "__main__":
    unittest.main()
