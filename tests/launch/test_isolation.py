# SPDX-License-Identifier: Apache-2.0
"""xsp evaluate --isolate: with a real runc, on the host's files and in containers. Figures are those of the same evaluation without it;
limits, what is out of reach, what is left behind, and images that are not to be trusted."""
import hashlib
import io
import json
import os
import pathlib
import re
import shutil
import signal
import socket
import subprocess
import sys
import tarfile
import tempfile
import time
import unittest

import numpy
import onnx
import yaml
from onnx import TensorProto, helper, numpy_helper
from PIL import Image

from containers import FRAMEWORK_IN_IT, framework_layer, layer, layout, member, system_layer, why_not
from run_guests import sessions

BUILD = pathlib.Path(os.environ["XSP_BUILD"])
XSP = BUILD / "xsp"
SIDE, CLASSES = 16, 5
CALLS = {"clone": 56, "unshare": 272, "setns": 308, "open_by_handle_at": 304, "io_uring_setup": 425, "clone3": 435, "keyctl": 250,
         "socket": 41}  # x86-64
if os.uname().machine == "aarch64":
    CALLS = {"clone": 220, "unshare": 97, "setns": 268, "open_by_handle_at": 265, "io_uring_setup": 425, "clone3": 435, "keyctl": 219,
             "socket": 198}


def left_behind(folder):
    """Cgroups, mounts and folders of containers, without those of other evaluations that run at the time: their temporary folder is another."""
    # os.walk: those of others may go while they are listed.
    groups = [pathlib.Path(parent) / name for place in ("/sys/fs/cgroup", "/sys/fs/cgroup/memory") for parent, names, _ in os.walk(place)
              for name in names if re.match("xsp-[0-9]", name)]
    found = [str(path) for path in groups if not is_of_another(path.name[4:], folder)]
    found += [line for line in pathlib.Path("/proc/self/mounts").read_text().splitlines() if f"{folder}/xsp-isolation-" in line]
    found += [str(path) for pattern in ("xsp-isolation-*", "xsp-work-*") for path in folder.glob(pattern)]
    return set(found)


def is_of_another(keeper, folder):
    try:
        return f"TMPDIR={folder}".encode() not in pathlib.Path(f"/proc/{keeper}/environ").read_bytes().split(b"\0")
    except OSError:  # it has ended
        return False


def model(path, constant_bytes=0):
    """A linear classifier; with `constant_bytes` it also adds up a constant of so many bytes, which is made when it is loaded."""
    random = numpy.random.default_rng(3)
    values = [numpy_helper.from_array(random.normal(size=(3 * SIDE * SIDE, CLASSES)).astype(numpy.float32), "weights")]
    nodes = [helper.make_node("Flatten", ["data"], ["flat"]), helper.make_node("MatMul", ["flat", "weights"], ["product"])]
    if constant_bytes:
        values.append(numpy_helper.from_array(numpy.array([constant_bytes // 4], numpy.int64), "size"))
        nodes += [helper.make_node("ConstantOfShape", ["size"], ["large"]), helper.make_node("ReduceSum", ["large"], ["sum"], keepdims=0),
                  helper.make_node("Add", ["product", "sum"], ["scores"])]
    else:
        nodes.append(helper.make_node("Identity", ["product"], ["scores"]))
    graph = helper.make_graph(nodes, "linear", [helper.make_tensor_value_info("data", TensorProto.FLOAT, ["N", 3, SIDE, SIDE])],
                              [helper.make_tensor_value_info("scores", TensorProto.FLOAT, ["N", CLASSES])], values)
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 13)], ir_version=8), path)


class IsolationTest(unittest.TestCase):
    def setUp(self):
        if why_not():
            self.skipTest(why_not())
        folder = tempfile.TemporaryDirectory(prefix="xsp-isolated-")
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)
        self.temporary = self.folder / "tmp"
        self.temporary.mkdir()
        self.before = left_behind(self.temporary)
        self.addCleanup(lambda: self.assertEqual(self.left(), set()))
        model(self.folder / "net.onnx")
        random = numpy.random.default_rng(5)
        for number in range(10):
            place = self.folder / "set" / str(number % CLASSES)
            place.mkdir(parents=True, exist_ok=True)
            Image.fromarray(random.integers(0, 256, (SIDE, SIDE, 3), numpy.uint8)).save(place / f"{number}.png")

    def left(self):
        return left_behind(self.temporary) - self.before

    def manifest(self, **more):
        path = self.folder / "net.yml"
        path.write_text(yaml.safe_dump({
            "name": "net", "version": "1.0", "task": "image classification", "framework": {"name": "onnxruntime"},
            "model": {"path": "net.onnx"}, "inputs": [{"type": "image", "parameters": {"dimensions": [3, SIDE, SIDE]}}],
            "outputs": [{"type": "feature"}], **more}))
        return path

    def command(self, *options, output="isolated.xsp"):
        data = () if "--data" in options else ("--data", self.folder / "set")
        return [str(part) for part in (XSP, "evaluate", self.folder / "net.yml", *data, "-q", "-f", "-o", self.folder / output, *options)]

    def evaluate(self, *options, status=0, output="isolated.xsp", **variables):
        environment = {**os.environ, "XSP_IMAGE_CACHE": str(self.folder / "cache"), "TMPDIR": str(self.temporary), **variables}
        done = subprocess.run(self.command(*options, output=output), capture_output=True, text=True, timeout=600, check=False,
                              env={key: value for key, value in environment.items() if value is not None})
        self.assertEqual(done.returncode, status, done.stderr)
        return done

    def sql(self, output, query):
        return json.loads(subprocess.run([XSP, "sql", self.folder / output, query, "--json"], capture_output=True, check=True).stdout)

    def facts(self, output):
        return {row["key"]: row["value"] for row in self.sql(output, "select key, value from system")}

    def differences(self, a, b):
        done = subprocess.run([XSP, "compare", self.folder / a, self.folder / b, "--json"], capture_output=True, text=True, check=False)
        return {row["key"] for row in json.loads(done.stdout)["systems"]}

    def probed(self, text, *options, model=None, **variables):
        """What `text`, Python code in the isolated process, puts into the list `found`."""
        code = "\n".join(["import os, socket", "def f(env, data):", "  found = []", *("  " + line for line in text.splitlines()),
                          "  raise ValueError('|'.join(map(str, found)))"])
        self.manifest(postprocess=code, **({"model": model} if model else {}))
        message = self.evaluate("--isolate", *options, status=2, **variables).stderr
        return re.search(r"ValueError: ([^;]*)", message).group(1).strip().split("|")


class OnTheHostsFiles(IsolationTest):
    def test_figures_are_those_without(self):
        self.manifest()
        tables = [json.loads(self.evaluate("--items", "--keep-outputs", "--levels", "M/L", "--json", *options, output=output).stdout)
                  for options, output in (((), "native.xsp"), (("--isolate",), "isolated.xsp"))]
        native, isolated = ([{**row, "latency_ms": 0} for row in table[1]["rows"]] for table in tables)
        self.assertEqual(native, isolated)
        self.assertEqual(*(table[0]["rows"][0]["top1_pct"] for table in tables))
        self.assertEqual(*(self.sql(output, "select * from output") for output in ("native.xsp", "isolated.xsp")))
        layers = "select name, level, count(*) as n from span where level in ('model', 'layer') group by 1, 2 order by 1, 2"
        self.assertEqual(self.sql("native.xsp", layers), self.sql("isolated.xsp", layers))
        self.assertEqual(self.differences("native.xsp", "isolated.xsp"), {"command", "isolation"})

    def test_two_models_without_a_recording(self):
        """Of inputs, layers and outputs that are compared there are no spans, and hence no folder of them."""
        self.manifest()
        model(self.folder / "other.onnx", constant_bytes=8)
        other = self.folder / "other.yml"
        other.write_text((self.folder / "net.yml").read_text().replace("net.onnx", "other.onnx"))
        native, isolated = (json.loads(self.evaluate(other, "--first-difference", "--json", *options).stdout) for options in ((), ("--isolate",)))
        self.assertEqual(native, isolated)

    def test_network_files_and_processes_are_out_of_reach(self):
        outside = self.folder / "outside"
        outside.write_text("mine")
        listener = socket_listening()
        self.addCleanup(listener.close)
        found = self.probed(f"""
try:
  socket.create_connection(('127.0.0.1', {listener.getsockname()[1]}), 5); found.append('connected')
except OSError as error: found.append(error.strerror)
for path in ({str(outside)!r}, '/etc/xsp-test', '/sys/kernel/xsp-test', '/proc/sys/kernel/hostname'):
  try: open(path, 'a').write('theirs'); found.append('written')
  except OSError as error: found.append(type(error).__name__)
found.append(len([name for name in os.listdir('/proc') if name.isdigit()]) < 6)
found.append(os.listdir('/sys/class/net'))
found.append(socket.gethostname())
found.append(open('/proc/self/status').read().split('CapEff:')[1].split()[0])
try: os.mknod('/run/disk', 0o60600, os.makedev(8, 0)); found.append('made')
except OSError as error: found.append(type(error).__name__)""".strip())
        self.assertEqual(found[0], "Connection refused")
        for what in found[1:5]:
            self.assertIn(what, ("OSError", "PermissionError", "FileNotFoundError"))
        self.assertEqual(found[5:], ["True", "['lo']", "xsp", f"{1 << 2:016x}", "PermissionError"])
        self.assertEqual(outside.read_text(), "mine")

    def test_sockets_and_pipes_of_the_host_are_out_of_reach(self):
        """A listener and a pipe in each folder that users and services share, and a listener without a path."""
        home = self.folder / "home"
        home.mkdir()
        folders = ["/tmp", "/var/tmp", "/dev/shm", home, self.temporary]
        sockets, pipes = [], []
        for number, folder in enumerate(folders):
            place = pathlib.Path(tempfile.mkdtemp(prefix="xsp-outside-", dir=folder))
            self.addCleanup(shutil.rmtree, place)
            sockets.append(str(place / "socket"))
            pipes.append(str(place / "pipe"))
            os.mkfifo(pipes[-1])
            reader = os.open(pipes[-1], os.O_RDONLY | os.O_NONBLOCK)  # so that a writer would find one
            self.addCleanup(os.close, reader)
        sockets.append(f"\0xsp-test-{os.getpid()}")
        for path in sockets:
            listener = socket.socket(socket.AF_UNIX)
            self.addCleanup(listener.close)
            listener.bind(path)
            listener.listen()
            with socket.socket(socket.AF_UNIX) as probe:
                probe.connect(path)
        found = self.probed(f"""
for path in {sockets!r}:
  try: socket.socket(socket.AF_UNIX).connect(path); found.append('connected')
  except OSError as error: found.append('no')
for path in {pipes!r}:
  try: os.open(path, os.O_WRONLY | os.O_NONBLOCK); found.append('opened')
  except OSError as error: found.append('no')""".strip(), HOME=str(home))
        self.assertEqual(found, ["no"] * (len(sockets) + len(pipes)))

    def test_system_calls_that_lead_out_are_refused(self):
        """Namespaces in which it has rights, Unix sockets wherever they are, and files by their handles."""
        stream, packets = outside = [str(self.folder / name) for name in ("stream", "packets")]  # next to the model: their paths are seen
        for path, kind in zip(outside, (socket.SOCK_STREAM, socket.SOCK_SEQPACKET), strict=True):
            listener = socket.socket(socket.AF_UNIX, kind)
            self.addCleanup(listener.close)
            listener.bind(path)
            listener.listen()
        found = self.probed(f"""
import ctypes, errno
libc = ctypes.CDLL(None, use_errno=True)
def call(*arguments):
  return 'done' if libc.syscall(*arguments) >= 0 else errno.errorcode[ctypes.get_errno()]
found.append(call({CALLS["unshare"]}, 0x10000000))
found.append(call({CALLS["unshare"]}, 0x10020000))
found.append(call({CALLS["clone"]}, 0x10000011, 0, 0, 0, 0))
found.append(call({CALLS["clone3"]}, 0, 0))
found.append(call({CALLS["setns"]}, 0, 0))
found.append(call({CALLS["io_uring_setup"]}, 1, 0))
found.append(call({CALLS["open_by_handle_at"]}, 0, 0, 0))
found.append(call({CALLS["keyctl"]}, 0, -4, 0))
found.append(call({CALLS["socket"]}, ctypes.c_ulong(0x100000001), 1, 0))
found.append(call({CALLS["socket"]}, 40, 1, 0))
found.append(os.path.exists({stream!r}))
for make, path in ((lambda: socket.socket(socket.AF_UNIX), {stream!r}), (lambda: socket.socketpair(socket.AF_UNIX, socket.SOCK_DGRAM)[0], {stream!r}),
                   (lambda: socket.socketpair(socket.AF_UNIX, socket.SOCK_RAW)[0], {stream!r}),
                   (lambda: socket.socketpair()[0], {stream!r}), (lambda: socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)[0], {packets!r})):
  try: make().connect(path); found.append('connected')
  except OSError as error: found.append(errno.errorcode[error.errno])
import subprocess, threading
threading.Thread(target=found.append, args=['thread']).start()
found.append(subprocess.run(['true']).returncode)""".strip())
        self.assertEqual(found, ["EPERM", "EPERM", "EPERM", "ENOSYS", "EPERM", "ENOSYS", "EPERM", "ENOSYS", "EAFNOSUPPORT", "EAFNOSUPPORT",
                                 "True", "EAFNOSUPPORT", "EAFNOSUPPORT", "EAFNOSUPPORT",
                                 "EISCONN", "EISCONN", "thread", "0"])

    def test_private_folders_of_the_host_are_empty(self):
        """Also where a file of the model is in them: it is seen, and nothing next to it."""
        home = self.folder / "home"
        home.mkdir()
        folders = ["/tmp", "/var/tmp", "/dev/shm", str(home), str(self.temporary)]
        for folder in folders:
            place = pathlib.Path(tempfile.mkdtemp(prefix="xsp-outside-", dir=folder))
            self.addCleanup(shutil.rmtree, place)
        model(home / "net.onnx")
        found = self.probed(f"""
for folder in {folders!r}:
  try:
    open(folder + '/xsp-inside', 'w').write('mine')
    found.append(','.join(name for name in sorted(os.listdir(folder)) if 'xsp-isolated-' not in name))
  except OSError as error: found.append(error)
found.append(os.path.isfile('/etc/passwd'))""".strip(), HOME=str(home), model={"path": str(home / "net.onnx")})
        for folder, seen, own in zip([*folders, "/etc"], found, ("", "", r"xsp-0-\w{16},", r"net\.onnx,", "", ""), strict=True):
            if BUILD.is_relative_to(folder):  # xsp itself is seen, too
                names, itself = seen.split(","), BUILD.relative_to(folder).parts[0]
                self.assertIn(itself, names)
                seen = ",".join(name for name in names if name != itself)
            self.assertRegex(seen, f"^({own}xsp-inside(,xsp-work-\\w{{6}})?|True)$")
        self.assertEqual([name for folder in folders for name in os.listdir(folder) if name == "xsp-inside"], [])

    def test_what_it_writes_is_bounded_and_removed(self):
        """Files, folders and links in the folders of its spans and of its work; no folder of the host has more than the bound."""
        outside = self.folder / "outside"
        outside.mkdir()
        (outside / "kept").write_text("mine")
        found = self.probed(f"""
session, = ('/dev/shm/' + name for name in os.listdir('/dev/shm'))
work, = ({str(self.temporary)!r} + '/' + name for name in os.listdir({str(self.temporary)!r}))
for folder in (session, work):
  os.makedirs(folder + '/a/b/c')
  os.symlink({str(outside)!r}, folder + '/a/link')
  open(folder + '/a/b/file', 'w').write('x')
written = 0
try:
  with open(session + '/ballast', 'wb', buffering=0) as file:
    while written < 1 << 30: written += file.write(bytes(1 << 20))
except OSError as error: found.append(error.strerror)
found += [written < 66 << 20, os.path.ismount(session), session, work]""".strip(), XSP_SESSION_LIMIT_BYTES=str(1 << 20))
        self.assertEqual(found[:3], ["No space left on device", "True", "True"])
        session, work = map(pathlib.Path, found[3:])
        self.assertRegex(session.name, r"^xsp-\d+-\w{16}$")
        self.assertFalse(session.exists())
        self.assertFalse(work.exists())
        self.assertNotIn(str(session), pathlib.Path("/proc/self/mounts").read_text())
        self.assertEqual((outside / "kept").read_text(), "mine")

    def test_inputs_in_private_folders_are_found(self):
        """In a folder there, and directly there, where each file is seen alone."""
        for parent in ("/dev/shm", "/var/tmp", "/run"):
            place = pathlib.Path(tempfile.mkdtemp(prefix="xsp-inputs-", dir=parent))
            self.addCleanup(shutil.rmtree, place)
            model(place / "net.onnx")
            shutil.copytree(self.folder / "set", place / "set")
            for home in (self.folder, place / "set" / "0"):
                with self.subTest(parent=parent, home=home):
                    self.manifest(model={"path": str(place / "net.onnx")})
                    self.evaluate("--isolate", "--data", place / "set", HOME=str(home))

    def test_software_in_a_home_is_found(self):
        """The environment with framework and interpreter, named by a link in a home, and a model in another folder of it."""
        home = self.folder / "home"
        (home / "project").mkdir(parents=True)
        (home / "environment").symlink_to(pathlib.Path(sys.executable).parents[1])
        model(home / "project" / "net.onnx")
        found = self.probed("found.append(','.join(sorted(os.listdir(os.environ['HOME']))))", model={"path": str(home / "project" / "net.onnx")},
                            HOME=str(home), VIRTUAL_ENV=str(home / "environment"))
        self.assertEqual(found, ["environment,project"])

    def test_memory(self):
        self.manifest()
        model(self.folder / "net.onnx", constant_bytes=300 << 20)
        message = self.evaluate("--memory", 150 << 20, status=3).stderr
        self.assertIn(f"the runner was killed: it needed more than the {150 << 20} bytes of --memory", message)
        self.evaluate("--memory", 1500 << 20)
        self.assertEqual(float(self.facts("isolated.xsp")["limit_memory_bytes"]), 1500 << 20)

    def test_memory_of_a_process_that_the_runner_started(self):
        self.manifest(preprocess="def f(env, data):\n  return data if len(bytes([1]) * (300 << 20)) == 0 else data\n")
        self.assertIn("it needed more than the", self.evaluate("--memory", 150 << 20, status=3).stderr)

    def test_time(self):
        self.manifest(preprocess="import threading\ndef f(env, data):\n  threading.Event().wait()\n")
        self.assertIn("it ran longer than the 2 s of --time-limit", self.evaluate("--time-limit", 2, status=3).stderr)

    def test_cpus(self):
        """A second of CPU time takes more than three at a quarter of a CPU."""
        code = "t = __import__('time')\nwall, begin = t.monotonic(), t.process_time()\nwhile t.process_time() - begin < 1: pass\nfound.append(t.monotonic() - wall)"
        self.assertGreater(float(self.probed(code, "--cpus", "0.25")[0]), 3)

    def test_a_timeout_ends_it(self):
        self.manifest(preprocess="import time\ndef f(env, data):\n  time.sleep(60)\n  return data\n")
        self.assertIn("no answer within 2 s", self.evaluate("--isolate", "--timeout", 2, status=3).stderr)

    def test_nothing_is_left_when_xsp_is_killed(self):
        self.manifest(preprocess="import time\ndef f(env, data):\n  time.sleep(60)\n  return data\n")
        process = subprocess.Popen(self.command("--isolate"), stderr=subprocess.DEVNULL, env={**os.environ, "TMPDIR": str(self.temporary)})
        self.wait_for(lambda: list(self.temporary.glob("xsp-isolation-*/state/runner")))
        [session] = sessions(process.pid)
        states = {path: state for path, state in self.listed().items() if path.startswith((str(self.temporary), str(session)))}
        self.assertEqual((len(states), set(states.values())), (3, {"in use"}), states)
        process.send_signal(signal.SIGKILL)
        process.wait()
        self.wait_for(lambda: not self.left())
        self.assertIsNone(self.listed()[str(session)])
        subprocess.run([XSP, "recover", session, "-o", self.folder / "recovered.xsp"], check=True, capture_output=True)
        self.assertFalse(session.exists())  # a file system of its own till then

    def listed(self):
        """The states of what `xsp recover` lists, by path. Where none has a state, there is no such column."""
        done = subprocess.run([XSP, "recover", "--json"], check=True, capture_output=True, text=True, cwd=self.folder,
                              env={**os.environ, "TMPDIR": str(self.temporary)})
        return {row["path"]: row.get("state") for row in json.loads(done.stdout)["rows"]}

    def test_what_cannot_be_removed_is_listed(self):
        """Folders of a killed keeper and a killed runner, and a session folder without a session."""
        gone = pathlib.Path(tempfile.mkdtemp(prefix=f"xsp-{os.getuid()}-", dir="/dev/shm"))
        self.addCleanup(gone.rmdir)
        folders = [self.temporary / "xsp-work-abcdef", self.temporary / "xsp-isolation-abcdef"]
        for folder in folders:
            folder.mkdir()
            self.addCleanup(folder.rmdir)
        listed = self.listed()
        for folder in (gone, *folders):
            self.assertIn("nothing to recover", listed[str(folder)])

    def wait_for(self, condition):
        end = time.monotonic() + 600
        while not condition():
            self.assertLess(time.monotonic(), end, self.left())
            time.sleep(0.05)

    def test_without_runc(self):
        """In a mount namespace in which the places of runc are no programs."""
        self.manifest()
        found = {str(path) for path in (shutil.which("runc", path=each) for each in (*os.environ["PATH"].split(":"), "/usr/sbin", "/usr/local/sbin")) if path}
        hide = "".join(f"mount --bind /dev/null {path} && " for path in sorted(found))
        done = subprocess.run(["unshare", "--mount", "sh", "-c", f'{hide}exec "$@"', "sh", *self.command("--isolate")], capture_output=True, text=True, check=False)
        self.assertEqual(done.returncode, 3, done.stderr)
        self.assertIn("try: apt-get install runc", done.stderr)

    def test_without_root(self):
        self.manifest()
        self.folder.chmod(0o755)
        done = subprocess.run(["setpriv", "--reuid=65534", "--clear-groups", *self.command("--isolate")], capture_output=True, text=True, check=False)
        self.assertEqual(done.returncode, 3, done.stderr)
        self.assertIn("namespaces and limits need root", done.stderr)

    def test_a_runtime_that_fails(self):
        self.manifest()
        fake = self.folder / "runc"
        fake.write_text("#!/bin/sh\necho 'no cgroups on this machine' >&2\nexit 1\n")
        fake.chmod(0o755)
        message = self.evaluate("--isolate", status=3, PATH=f"{self.folder}:{os.environ['PATH']}").stderr
        self.assertRegex(message, "the runner could not be isolated: no cgroups on this machine")


def socket_listening():
    return socket.create_server(("127.0.0.1", 0))


# ---- containers ----------------------------------------------------------------------------------------------------------


class InContainers(IsolationTest):
    def test_an_image(self):
        """Its own system and framework, none of the host's files, and the same answers."""
        self.manifest(container={"amd64": {"cpu": "registry.example/xsp/net:1.0-cpu"}, "arm64": {"cpu": "registry.example/xsp/net:1.0-cpu"}})
        images = self.folder / "images"
        image = layout(images / "registry.example_xsp_net_1.0-cpu", system_layer("A small system"), framework_layer())
        library = {"XSP_LIBRARY_ONNXRUNTIME": FRAMEWORK_IN_IT}
        native = json.loads(self.evaluate("--items", "--json", output="native.xsp").stdout)
        for options, variables in ((("--container", image), library), (("--isolate",), {**library, "XSP_IMAGES": str(images)})):
            with self.subTest(options):
                done = self.evaluate(*options, "--items", "--json", **variables)
                isolated = json.loads(done.stdout)
                self.assertEqual(*([(row["file"], row["place"], row["score"]) for row in table[1]["rows"]] for table in (native, isolated)))
                facts = self.facts("isolated.xsp")
                self.assertEqual((facts["os"], facts["framework_library"]), ("A small system", library["XSP_LIBRARY_ONNXRUNTIME"]))
                self.assertRegex(facts["container_digest"], "^sha256:[0-9a-f]{64}$")
                self.assertEqual("unpacking" in done.stderr, options[0] == "--container") # once
        root, = (path for path in (self.folder / "cache").iterdir() if path.is_dir())
        self.assertFalse((root / "tmp" / "gone").exists())
        self.assertEqual({path.name for path in root.iterdir()}, {"etc", "lib", "lib64", "usr", "opt", "tmp"}) # as the image has it
        self.assertEqual(self.differences("native.xsp", "isolated.xsp") & {"os", "isolation", "container", "container_digest", "framework_library"},
                         {"os", "isolation", "container", "container_digest", "framework_library"})

    def test_a_folder(self):
        self.manifest()
        image = layout(self.folder / "image", system_layer("Another system"), framework_layer())
        library = {"XSP_LIBRARY_ONNXRUNTIME": FRAMEWORK_IN_IT}
        self.evaluate("--container", image, **library, output="image.xsp")
        root, = (path for path in (self.folder / "cache").iterdir() if path.is_dir())
        (root / "etc" / "os-release").write_text('PRETTY_NAME="A third system"\n')
        self.evaluate("--container", root, **library, output="folder.xsp")
        self.assertEqual(self.differences("image.xsp", "folder.xsp"), {"command", "os", "container", "container_digest"})

    def test_a_dockerfile(self):
        """Built once, by a stand-in for a builder that checks what it is asked for: no real one runs here."""
        self.manifest()
        library = {"XSP_LIBRARY_ONNXRUNTIME": FRAMEWORK_IN_IT}
        self.evaluate("--container", layout(self.folder / "image", system_layer("A built system"), framework_layer()), **library)
        cache, tools, file = self.folder / "cache", self.folder / "tools", self.folder.resolve() / "Dockerfile"
        root, = (path for path in cache.iterdir() if path.is_dir())
        file.write_text("FROM debian:12\n")
        tools.mkdir()
        (tools / "runc").symlink_to(shutil.which("runc", path=os.environ["PATH"] + ":/usr/sbin"))
        self.assertIn("no builder here", self.evaluate("--container", file, status=3, PATH=str(tools), **library).stderr)
        builder = tools / "buildah"
        builder.write_text(f"""#!/bin/sh
[ "$# $1 $2 $3 $4" = "6 build --file {file} --output" ] || exit 1
[ -d "$6" ] && [ -z "$(ls -A "$6")" ] || exit 2
folder=${{5#type=local,dest=}}
[ "$folder" != "$5" ] && [ -d "$folder" ] && [ -z "$(ls -A "$folder")" ] || exit 3
grep -q debian "$3" || {{ echo "no such stage" >&2; exit 4; }}
cp -a "{root}/." "$folder"
echo once >> "{self.folder}/builds"
""")
        builder.chmod(0o755)
        path = f"{tools}:{os.environ['PATH']}"
        for _ in range(2):
            self.evaluate("--container", file, PATH=path, **library)
        self.assertEqual((self.folder / "builds").read_text(), "once\n")
        facts = self.facts("isolated.xsp")
        digest = hashlib.sha256(file.read_bytes()).hexdigest()
        self.assertEqual((facts["os"], facts["container"], facts["container_digest"]), ("A built system", str(file), f"sha256:{digest}"))
        file.write_text("FROM nothing\n")
        self.assertIn("no such stage", self.evaluate("--container", file, status=3, PATH=path, **library).stderr)
        file.write_text("FROM debian:13\n")
        builder.write_text(builder.read_text() + 'echo "# saved meanwhile" >> "$3"\n')
        self.assertIn("changed", self.evaluate("--container", file, status=2, PATH=path, **library).stderr)
        archive = self.folder / "image.sif"
        archive.write_bytes(b"#!/usr/bin/env run-singularity\n\0SIF_MAGIC")
        self.assertIn("OCI image layout", self.evaluate("--container", archive, status=2, PATH=path, **library).stderr)
        self.assertEqual({place.name for place in cache.iterdir() if place.is_dir()}, {root.name, digest})

    def test_facts_are_those_of_the_container(self):
        """Where links of the container lead to the host's files, and where there are pipes and absurd sizes."""
        self.manifest()
        outside = self.folder / "outside"
        outside.mkdir()
        (outside / "os-release").write_text('PRETTY_NAME="of the host"\n')
        (outside / "status").write_text("Package: of the host\nVersion: 1\n")
        root = self.folder / "root"
        for image in (system_layer("A small system"), framework_layer()):
            with tarfile.open(fileobj=io.BytesIO(image)) as archive:
                archive.extractall(root)
        (root / "var" / "lib").mkdir(parents=True)
        release, status = root / "etc" / "os-release", root / "var" / "lib" / "dpkg"

        def link(up):
            release.symlink_to(f"{up}{outside}/os-release")
            status.symlink_to(f"{up}{outside}")

        def pipes():
            os.mkfifo(release)
            status.mkdir()
            os.mkfifo(status / "status")

        def large():
            status.mkdir()
            for path in (release, status / "status"):
                path.write_text('PRETTY_NAME="large"\nPackage: large\n')
                os.truncate(path, 1 << 40)

        def links_inside():
            release.symlink_to("/usr/lib/os-release")
            (root / "usr" / "lib" / "os-release").write_text('PRETTY_NAME="of the container"\n')

        for make, expected in ((lambda: link(""), "unknown"), (lambda: link("../" * 40), "unknown"), (pipes, "unknown"),
                               (large, "unknown"), (links_inside, "of the container")):
            for path in (release, status):
                subprocess.run(["rm", "-rf", path], check=True)
            make()
            self.evaluate("--container", root, "--time-limit", 60, XSP_LIBRARY_ONNXRUNTIME=FRAMEWORK_IN_IT)
            facts = self.facts("isolated.xsp")
            self.assertEqual((facts["os"], facts.get("dpkg_packages")), (expected, None))

    def test_packages_of_two_images(self):
        """What is installed, by name and version; compare has those that differ."""
        self.manifest()
        for name, version in (("a", "2.36-9"), ("b", "2.39-1")):
            root = self.folder / name
            for image in (system_layer("A small system"), framework_layer()):
                with tarfile.open(fileobj=io.BytesIO(image)) as archive:
                    archive.extractall(root)
            (root / "var" / "lib" / "dpkg").mkdir(parents=True)
            (root / "var" / "lib" / "dpkg" / "status").write_text("".join(
                f"Package: {package}\nStatus: {status}\nVersion: {of}\n\n" for package, status, of in (
                    ("apt", "install ok installed", "2.6.1"), ("libc6", "install ok installed", version), ("gone", "deinstall ok config-files", "1"))))
            self.evaluate("--container", root, "--time-limit", 60, output=f"{name}.xsp", XSP_LIBRARY_ONNXRUNTIME=FRAMEWORK_IN_IT)
            self.assertEqual(self.facts(f"{name}.xsp")["dpkg_packages"], f"apt=2.6.1, libc6={version}")
        self.assertEqual(self.differences("a.xsp", "b.xsp"), {"command", "container", "dpkg_packages", "dpkg: libc6"})

    def test_links_of_a_layout_stay_in_it(self):
        self.manifest()
        for part in ("index.json", "blobs"):
            image = layout(self.folder / f"image of {part}", layer(member("usr/x")))
            os.rename(image / part, self.folder / part)
            (image / part).symlink_to(self.folder / part)
            self.assertIn("No such file", self.evaluate("--container", image, status=2).stderr)
        os.unlink(image / "index.json")
        os.mkfifo(image / "index.json")
        self.assertIn("it is not a file", self.evaluate("--container", image, status=2).stderr)

    def test_a_missing_image(self):
        self.manifest(container={each: {"cpu": "net:1"} for each in ("amd64", "arm64")})
        self.assertRegex(self.evaluate("--isolate", status=2, XSP_IMAGES=str(self.folder)).stderr, "container: net:1: .*/net_1 is missing")
        self.assertIn("neither oci-layout nor", self.evaluate("--container", self.folder, status=2).stderr)

    def test_an_image_for_another_device(self):
        """Never the host's files instead; where images are not looked for, the device decides."""
        machines = ("amd64", "arm64")
        images = {"XSP_IMAGES": str(self.folder)}
        for device, there, other in (("gpu", "cpu", "gpu"), ("CUDA:1", "cpu", "gpu"), ("TensorRT", "cpu", "gpu"), ("cpu", "gpu", "cpu"),
                                     ("XNNPACK", "gpu", "cpu")):
            with self.subTest(device):
                self.manifest(container={each: {there: "net:1"} for each in machines})
                said = self.evaluate("--isolate", "--device", device, status=2, **images).stderr
                self.assertRegex(said, f"container: net:1: .* no image for {other} .*--container FOLDER")
                self.manifest(container={each: {other: "net:1"} for each in machines})
                self.assertIn("net_1 is missing", self.evaluate("--isolate", "--device", device, status=2, **images).stderr)
        self.manifest(container={each: {"gpu": "net:1"} for each in machines})
        self.evaluate("--isolate", XSP_IMAGES=None)

    def test_hostile_layers(self):
        self.manifest()
        outside = self.folder / "outside"
        outside.mkdir()
        (outside / "kept").write_text("mine")
        up = "../" * 40
        cases = [
            ("a path leads out", [member("../evil")]), ("a path leads out", [member("/evil")]), ("a path leads out", [member("a/../../evil")]),
            ("a link leads out", [member("a", kind=tarfile.SYMTYPE, link=f"{up}{outside}")]),
            ("a link leads out", [member("a", kind=tarfile.LNKTYPE, link="/etc/passwd")]),
            ("a link leads out", [member("a", kind=tarfile.LNKTYPE, link="../../etc/passwd")]),
            ("a device", [member("a", kind=tarfile.CHRTYPE)]), ("a device", [member("a", kind=tarfile.BLKTYPE)]),
            ("a device", [member("a", kind=tarfile.FIFOTYPE)]), ("names no file", [member(".wh...")]), ("names no file", [member(".wh.")])]
        for number, (reason, members) in enumerate(cases):
            with self.subTest(members[0][0].name):
                message = self.evaluate("--container", layout(self.folder / f"bad{number}", layer(*members)), status=2).stderr
                self.assertIn(reason, message)
        deep = layer(member("a/" * 2000 + "b", b"x"), member("usr/x"))
        self.assertIn("the runner ended by itself", self.evaluate("--container", layout(self.folder / "deep", deep), status=2).stderr) # has no C library
        subprocess.run(["rm", "-rf", self.folder / "cache"], check=True) # deeper than Python removes
        # A link of one layer, through which a later one writes and removes: it is a link inside of the image.
        link = layer(member("link", kind=tarfile.SYMTYPE, link=str(outside)), member("usr/x"))
        self.evaluate("--container", layout(self.folder / "through", link, layer(member("link/kept", b"theirs"), member("link/.wh.kept2"))), status=3)
        self.evaluate("--container", layout(self.folder / "opaque", link, layer(member("link/.wh..wh..opq"))), status=2)
        self.assertEqual([(path.name, path.read_text()) for path in outside.iterdir()], [("kept", "mine")])
        self.assertEqual((pathlib.Path(str(self.folder / "evil")).exists(), list((self.folder / "cache").glob("*.part"))), (False, []))

    def test_broken_layouts(self):
        self.manifest()
        good = layer(member("usr/x"))

        def other_digest(manifest):
            manifest["layers"][0]["digest"] = "sha256:" + "0" * 64

        def other_size(manifest):
            manifest["layers"][0]["size"] += 1

        def climbing(manifest):
            manifest["layers"][0]["digest"] = "sha256:" + "../" * 21 + "x"

        cases = [("0{64}", good, other_digest), ("its size is another", good, other_size), ("a digest is not", good, climbing),
                 ("cut short or not gzip", good[:60], None), ("not a tar archive", b"x" * 2048, None)]
        for number, (reason, content, change) in enumerate(cases):
            with self.subTest(reason):
                message = self.evaluate("--container", layout(self.folder / f"bad{number}", content, change=change), status=2).stderr
                self.assertRegex(message, reason)
        image = layout(self.folder / "changed", good)
        for path in (image / "blobs" / "sha256").iterdir():
            if path.read_bytes() == good:
                path.write_bytes(b"\0" * len(good))
        self.assertIn("does not have its digest", self.evaluate("--container", image, status=2).stderr)
        for text in ("", "[]", '{"manifests": 7}', '{"manifests": [{}]}', '{"manifests": []}', "x" * (5 << 20)):
            (image / "index.json").write_text(text)
            self.evaluate("--container", image, status=2)


if __name__ == "__main__":
    unittest.main()
