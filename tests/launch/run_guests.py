# SPDX-License-Identifier: Apache-2.0
"""Runs a program with and without `xsp run` and compares what can be observed from outside. test_run.py runs each case
once, long_run_guests.py until there are 1,000 runs."""
import contextlib
import difflib
import itertools
import os
import pathlib
import resource
import select
import signal
import struct
import subprocess
import sys
import tempfile
import time

BUILD = pathlib.Path(os.environ["XSP_BUILD"])
SANITIZED = bool(os.environ.get("XSP_SANITIZE"))
XSP = BUILD / "xsp"
GUESTS = BUILD / "test-programs"
BEGAN_S = time.time() - 1
WAIT_S = int(os.environ.get("XSP_TEST_WAIT_S", "600"))
# Variables that docs/internals/launch.md documents.
DOCUMENTED = {"XSP_SESSION", "XSP_SESSION_JOIN", "XSP_TRACERS", "LD_PRELOAD", "XSP_MODEL_RANGE", "XSP_CAPTURE_RANGE", "XSP_CALL_PATHS", "XSP_SHAPES", "XSP_CUDA", "XSP_COUNTERS", "XSP_METRICS", "XSP_SERIALIZE",
              "NVTX_INJECTION64_PATH", "INTEL_LIBITTNOTIFY64", "CUDA_INJECTION64_PATH", "ROCP_TOOL_LIBRARIES", "OPENCL_LAYERS", "ZE_ENABLE_TRACING_LAYER",
              "LD_AUDIT", "XSP_FUNCTIONS", "XSP_CPU_RATE", "XSP_CPU_MODE",
              "OPENCV_TRACE_DEPTH_OPENCV", "OPENCV_TRACE_MAX_CHILDREN_OPENCV", "OPENCV_TRACE_MAX_CHILDREN"}
if SANITIZED:  # a sanitized libxsp.so in a program that is not
    wanted = ["verify_asan_link_order=0", "detect_leaks=0"]
    wanted += [f"handle_{name}=0" for name in ("segv", "sigbus", "abort", "sigill", "sigfpe")]
    os.environ["ASAN_OPTIONS"] = ":".join(filter(None, [os.environ.get("ASAN_OPTIONS"), *wanted]))


def guest(name, *arguments):
    return [str(GUESTS / name), *map(str, arguments)]


def sessions(collector):
    """The session folders of an xsp, known by the process number in their heads (others may run at the same
    time, and a reused number may have left older ones)."""
    found = []
    for folder in {"/dev/shm", tempfile.gettempdir()}:
        for path in pathlib.Path(folder).glob(f"xsp-{os.getuid()}-*/session"):
            try:
                head = path.read_bytes()[:84]
                is_ours = path.stat().st_ctime >= BEGAN_S
            except OSError:
                continue
            if is_ours and len(head) == 84 and struct.unpack_from("<I", head, 80)[0] == collector:
                found.append(path.parent)
    return found


def own_children():
    """Processes that this one has to wait for, and zombies among them."""
    return {int(pid) for task in pathlib.Path("/proc/self/task").iterdir()
            for pid in (task / "children").read_text(encoding="ascii").split()}


def children(pid):
    """The name of each child, by its number. Those that end meanwhile are left out."""
    found = {}
    try:
        for child in pathlib.Path(f"/proc/{pid}/task/{pid}/children").read_text(encoding="ascii").split():
            with contextlib.suppress(FileNotFoundError, ProcessLookupError):
                found[int(child)] = pathlib.Path(f"/proc/{child}/comm").read_text(encoding="utf-8").strip()
    except (FileNotFoundError, ProcessLookupError):
        pass
    return found


def wait_until(condition, what):
    deadline = time.monotonic() + WAIT_S
    while not condition():
        if time.monotonic() > deadline:
            raise TimeoutError(what)
        select.select([], [], [], 0.002)


def end_all(process):
    """Ends a process that a failed test leaves, and what it has started: a program outlives the xsp that was killed."""
    for child in children(process.pid) if process.poll() is None else ():
        with contextlib.suppress(ProcessLookupError):
            os.kill(child, signal.SIGKILL)
    try:
        process.wait(WAIT_S)  # an xsp removes its session when its program has ended
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()
    for stream in filter(None, (process.stdin, process.stdout, process.stderr)):
        stream.close()


class Outcome:
    def __init__(self, status, output, errors):
        self.status, self.output, self.errors = status, output, errors

    def __eq__(self, other):
        return (self.status, self.output, self.errors) == (other.status, other.output, other.errors)

    def lines(self):
        return [f"status {self.status}", *(f"{name} {line!r}" for name, text in (("stdout", self.output), ("stderr", self.errors))
                                           for line in text.splitlines(keepends=True))]


class Case:
    """One program and how it is started. `talk(process)` is called while it runs; `prepare()` in the child before it."""

    def __init__(self, name, command, *, stdin=b"", prepare=None, messages=None, environment=None, options=(), after=None,
                 clean=None, group=None, closed=(), same_output=True):
        self.name, self.command, self.stdin, self.prepare, self.messages = name, command, stdin, prepare, messages
        self.environment, self.options, self.after, self.group = environment or {}, options, after, group
        self.clean = clean or (lambda output: output)
        self.closed, self.same_output = closed, same_output

    def start(self, folder, with_xsp):
        command = list(map(os.fspath, self.command(folder) if callable(self.command) else self.command))
        if with_xsp:
            command = [str(XSP), "run", "-q", "-f", "-o", f"{folder}/{self.name.replace('/', '-')}.xsp", *self.options,
                       "--", *command]

        def prepare():
            if self.prepare:
                self.prepare()
            for number in self.closed:
                os.close(number)

        return subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                                env={**os.environ, **self.environment}, preexec_fn=prepare, process_group=self.group,
                                cwd=folder)

    def run(self, folder, with_xsp):
        with self.start(folder, with_xsp) as process:
            try:
                early = self.messages(process) if self.messages else b""
                output, errors = process.communicate(self.stdin, timeout=WAIT_S)
            except BaseException:
                end_all(process)
                raise
        if self.after:
            self.after(folder)
        self.process_id = process.pid
        # A shell sees 128 + signal for both.
        status = process.returncode if process.returncode >= 0 else 128 - process.returncode
        return Outcome(status, self.clean((early or b"") + output), errors)

    def compare(self, folder):
        """None, or what is different."""
        children = own_children()
        plain, traced = self.run(folder, False), self.run(folder, True)
        if not plain == traced:
            lines = difflib.unified_diff(plain.lines(), traced.lines(), "without xsp", "with xsp", n=1, lineterm="")
            return "\n".join([self.name, *(line[:1000] for line in itertools.islice(lines, 50))])
        if own_children() != children:
            return f"{self.name}: children are left: {own_children() - children}"
        left = sessions(self.process_id)
        if left:
            return f"{self.name}: sessions are left: {left}"
        return None


# ---- dialogues with a running program ------------------------------------------------------------------------------------
def read_line(process):
    ready, _, _ = select.select([process.stdout], [], [], WAIT_S)
    if not ready:
        raise TimeoutError("the program says nothing")
    line = b""
    while not line.endswith(b"\n"):
        byte = os.read(process.stdout.fileno(), 1)
        if not byte:
            break
        line += byte
    return line


def talk_signals(steps):
    """Each step (signal, whom): answered before the next one is sent, so that nothing is merged."""
    def messages(process):
        reported = read_line(process)
        for number, whom in steps:
            if whom == "group":
                os.killpg(process.pid, number)
            else:
                os.kill(process.pid, number)
            reported += read_line(process)
        return reported
    return messages


def talk_at_once(process):
    """All are pending in xsp when it takes the first; it takes SIGUSR2, of the highest number, last."""
    reported = read_line(process)
    numbers = (signal.SIGHUP, signal.SIGINT, signal.SIGQUIT, signal.SIGUSR1)
    for number in numbers:
        os.killpg(process.pid, number)
    reported += b"".join(sorted(read_line(process) for _ in numbers))
    os.kill(process.pid, signal.SIGUSR2)
    return reported


def talk_stop_group(process):
    """As ^Z and fg of a shell do."""
    reported = read_line(process)
    os.killpg(process.pid, signal.SIGTSTP)
    _, how = os.waitpid(process.pid, os.WUNTRACED)
    reported += f"stopped by {os.WSTOPSIG(how)}\n".encode() if os.WIFSTOPPED(how) else f"no: {how}\n".encode()
    os.killpg(process.pid, signal.SIGCONT)
    reported += read_line(process)
    os.killpg(process.pid, signal.SIGUSR2)
    return reported


def talk_kill_whole_group(process):
    reported = read_line(process)
    os.killpg(process.pid, signal.SIGQUIT)
    reported += read_line(process)
    os.kill(process.pid, signal.SIGUSR2)
    return reported


def waits_for(path):
    def after(folder):
        file = pathlib.Path(folder) / path
        wait_until(file.exists, f"{path} does not appear")
        file.unlink()
    return after


def only_undocumented(output):
    """The environment that a program sees, without the documented variables."""
    return b"\n".join(sorted(line for line in output.split(b"\n")
                             if line.removeprefix(b"variable ").split(b"=")[0].decode() not in DOCUMENTED))


def ignore(*numbers):
    return lambda: [signal.signal(number, signal.SIG_IGN) for number in numbers]


def block(*numbers):
    return lambda: signal.pthread_sigmask(signal.SIG_BLOCK, numbers)


def limit(which, amount):
    return lambda: resource.setrlimit(which, (amount, amount))


def soft_limit(which, amount):
    return lambda: resource.setrlimit(which, (amount, resource.getrlimit(which)[1]))


def facts(_=None):
    return guest("run-guest", "facts", os.getpid())


def make_script(folder):
    script = pathlib.Path(folder) / "script.sh"
    script.write_text("#!/bin/sh\necho $0 \"$@\" | tr a-z A-Z\nexit 15\n", encoding="utf-8")
    script.chmod(0o755)
    return [script, "one", "two words", ""]


def make_plain_script(folder):
    """No #!: execvp gives it to the shell."""
    script = pathlib.Path(folder) / "plain"
    script.write_text("echo plain $1\nexit 16\n", encoding="utf-8")
    script.chmod(0o755)
    return ["sh", "-c", "exec \"$0\" one", script]


def guest_cases(name):
    """Cases for the guest without and the guest with spans of its own."""
    cases = [Case(f"{name}/{mode}-{'-'.join(map(str, rest))}", guest(name, mode, *rest)) for mode, *rest in (
        ("exit", 0), ("exit", 1), ("exit", 255), ("_exit", 42), ("at-exit",), ("fork",), ("vfork",), ("double-fork",),
        ("fork-in-threads",), ("thread", "exit"), ("thread", "_exit"), ("thread", "leave"), ("crash", "null"),
        ("crash", "abort"), ("crash", "trap"), ("crash", "kill"), ("crash", "term"), ("close-all",), ("libraries",),
        ("clear-environment",), ("session",), ("stop-itself",))]
    cases += [
        Case(f"{name}/daemon", lambda folder: guest(name, "daemon", f"{folder}/daemon-was-here"),
             after=waits_for("daemon-was-here")),
        Case(f"{name}/signals-to-group", guest(name, "signals"), group=0,
             messages=talk_signals([(signal.SIGINT, "group"), (signal.SIGTERM, "group"), (signal.SIGHUP, "group"),
                                (signal.SIGUSR1, "group"), (signal.SIGWINCH, "group"), (signal.SIGUSR2, "group")])),
        Case(f"{name}/signals-to-it-alone", guest(name, "signals"), group=0,
             messages=talk_signals([(signal.SIGTERM, "it"), (signal.SIGINT, "it"), (signal.SIGHUP, "it"),
                                (signal.SIGQUIT, "it"), (signal.SIGUSR1, "it"), (signal.SIGUSR2, "it")])),
        Case(f"{name}/signals-to-both", guest(name, "signals"), group=0,
             # xsp takes pending signals by number: the answer to one says that those of lower numbers were taken, too,
             # so that none of the same number is merged with one that is still pending.
             messages=talk_signals([(signal.SIGINT, "group"), (signal.SIGTERM, "it"), (signal.SIGINT, "it"),
                                (signal.SIGTERM, "group"), (signal.SIGWINCH, "it"), (signal.SIGTERM, "it"),
                                (signal.SIGUSR2, "it")])),
        Case(f"{name}/signals-at-once", guest(name, "signals"), group=0, messages=talk_at_once),
        Case(f"{name}/stopped-by-its-group", guest(name, "signals"), group=0, messages=talk_stop_group),
        Case(f"{name}/quit", guest(name, "signals"), group=0, messages=talk_kill_whole_group),
        Case(f"{name}/copy", guest(name, "copy"), stdin=os.urandom(300000)),
    ]
    if SANITIZED and name == "run-guest-traced":  # the environment has the sanitizer's options
        cases = [case for case in cases if "clear-environment" not in case.name]
    return cases


def all_cases():
    python = sys.executable
    cases = guest_cases("run-guest") + guest_cases("run-guest-traced")
    many = [f"argument {i} " + "x" * 100 for i in range(8000)]
    cases += [
        Case("facts", facts(), clean=only_undocumented),
        Case("facts-levels", facts(), clean=only_undocumented, options=["--levels", "M"]),
        Case("facts-flight", facts(), clean=only_undocumented, options=["--flight-recorder", "1M"]),
        Case("facts-delay", facts(), clean=only_undocumented, options=["--delay", "0.001", "--duration", "0.001"]),
        Case("facts-wait", facts(), clean=only_undocumented, options=["--wait", "all"]),
        Case("facts-ignored", facts(), clean=only_undocumented,
             prepare=ignore(signal.SIGPIPE, signal.SIGINT, signal.SIGHUP, signal.SIGCHLD, signal.SIGBUS)),
        Case("facts-blocked", facts(), clean=only_undocumented,
             prepare=block(signal.SIGTERM, signal.SIGUSR1, signal.SIGCHLD, signal.SIGALRM)),
        Case("facts-umask", facts(), clean=only_undocumented, prepare=lambda: os.umask(0o077)),
        Case("facts-nice", facts(), clean=only_undocumented, prepare=lambda: os.nice(5)),
        Case("facts-batch", facts(), clean=only_undocumented,
             prepare=lambda: os.sched_setscheduler(0, os.SCHED_BATCH, os.sched_param(0))),
        Case("facts-files", facts(), clean=only_undocumented, prepare=limit(resource.RLIMIT_NOFILE, 64)),
        Case("facts-file-size", facts(), clean=only_undocumented, prepare=soft_limit(resource.RLIMIT_FSIZE, 4096)),
        Case("facts-memory", facts(), clean=only_undocumented, prepare=soft_limit(resource.RLIMIT_AS, 300 << 20)),
        Case("arguments", guest("run-guest", "arguments", "", "-x", "--", "a b", "\n", "é", *many)),
        Case("environment", facts(), clean=only_undocumented,
             environment={**{f"LONG_{i}": "y" * 1000 for i in range(500)}, "ODD": "a=b\nc"}),
        Case("pipeline", ["sh", "-c", "seq 1 2000 | sort -r | head -3; exit 14"]),
        Case("background", ["sh", "-c", "sleep 0.01 & wait; echo waited"]),
        Case("substitution", ["bash", "-c", "cat <(echo one) <(echo two); exit 3"]),
        Case("group-kill", ["sh", "-c", "trap 'echo trapped; exit 5' TERM; kill -TERM 0; sleep 5"], group=0),
        Case("script", make_script, clean=lambda output: output),
        Case("plain-script", make_plain_script),
        Case("static", guest("run-guest-static", "facts", os.getpid()), clean=only_undocumented),
        Case("static-fork", guest("run-guest-static", "fork")),
        Case("static-crash", guest("run-guest-static", "crash", "abort")),
        Case("python", [python, "-c", "import multiprocessing as m\nwith m.Pool(2) as p: print(sum(p.map(abs, range(50))))"]),
        Case("python-error", [python, "-c", "import sys; print('x'); sys.exit('no')"]),
        # stdin is closed after the signal: Python may note it just before read, which then would not end.
        Case("python-interrupted", [python, "-uc", "import os; print('ready'); os.read(0, 1)"], group=0,
             messages=lambda process: (read_line(process), os.killpg(process.pid, signal.SIGINT))[0]),
        Case("stdin-closed", ["sh", "-c", "read x <&0; echo $?"], closed=[0]),
        Case("stdout-closed", ["sh", "-c", "echo x; echo $? >&2"], closed=[1]),
        Case("all-closed", ["sh", "-c", "exit 19"], closed=[0, 1, 2]),
        Case("not-found", ["sh", "-c", "nosuchprogram"]),
        Case("env-i", ["env", "-i", "A=b", "env"]),
        Case("timeout", ["timeout", "0.05", "sleep", "20"]),
        Case("alarm", ["perl", "-e", "alarm 1; exec 'sleep', '20'"]),
    ]
    if SANITIZED:
        cases = [case for case in cases if case.name != "facts-memory"]
    else:  # its shadow memory is address space
        cases.append(Case("address-space", guest("run-guest-traced", "fork"),
                          prepare=limit(resource.RLIMIT_AS, 600 << 20)))
    return cases
