# SPDX-License-Identifier: Apache-2.0
"""What the tests of tracers on simulated devices share: a program runs with and without xsp, and what was recorded is read."""
import json
import os
import pathlib
import re
import shutil
import subprocess
import tempfile
import unittest

BUILD = pathlib.Path(os.environ["XSP_BUILD"]).resolve()
XSP = BUILD / "xsp"
TIMEOUT = 600
SANITIZED = bool(os.environ.get("XSP_SANITIZE"))
# Of tests that need `xsp run` itself, or its lines about the run.
UNSANITIZED = unittest.skipIf(SANITIZED, "the sanitizer's runtime must be preloaded before libxsp.so")


def patient(tracers, tracer):
    """A list of -t whose tracer gives exit a minute for the last records: a busy machine needs more than the usual two seconds."""
    return ",".join(f"{one}:exit_wait_ms=60000" if pathlib.Path(one.split(":")[0]).stem == tracer and "exit_wait_ms" not in one else one
                    for one in str(tracers).split(","))


class DeviceTest(unittest.TestCase):
    tracer = None  # its name
    hidden = ()  # what variables begin with that the program must not see

    def setUp(self):
        temporary = tempfile.TemporaryDirectory(prefix=f"xsp-{self.tracer}-")
        self.addCleanup(temporary.cleanup)
        self.folder = pathlib.Path(temporary.name)
        self.out, self.truth, self.counts = (self.folder / name for name in ("out.xsp", "truth", "counts"))

    def plain_environment(self):
        hidden = ("XSP_SESSION", *self.hidden)
        return {**{key: value for key, value in os.environ.items() if not key.startswith(hidden)},
                "ASAN_OPTIONS": "detect_leaks=0", "TSAN_OPTIONS": "atexit_sleep_ms=0"}

    def run_program(self, command, environment):
        """Status (as a shell has it) and output of the program; what was said is in self.said."""
        self.truth.unlink(missing_ok=True)
        self.counts.unlink(missing_ok=True)
        command = [patient(word, self.tracer) if before == "-t" else word for before, word in zip(("", *command), command)]
        done = subprocess.run(command, env=environment, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                              stderr=subprocess.PIPE, timeout=TIMEOUT)
        self.said = done.stderr.decode()
        return done.returncode if done.returncode >= 0 else 128 - done.returncode, done.stdout.decode()

    def start(self, command, mode, environment):
        """run_program of the test's program after `command`."""
        raise NotImplementedError

    def loading(self, tracer, options):
        """The environment in which the vendor's library loads the tracer without `xsp run`."""
        raise NotImplementedError

    def trace(self, mode, environment, options="", run_options=(), variables=None):
        """Runs the program with and without xsp: it must not notice. Sanitized, without `xsp run`, since the sanitizers' runtime
        is the program's: `variables` then stand for `run_options`."""
        plain = self.start((), mode, environment)
        if SANITIZED:
            self.record_without_run(mode, options, {**environment, **(variables or {})}, plain)
        else:
            command = (XSP, "run", "-f", "-t", f"{self.tracer}{options}", *run_options, "-o", self.out, "--")
            self.assertEqual(self.start(command, mode, environment), plain, self.said)
        self.assertNotRegex(self.said, r"[1-9]\d* (overwritten|torn)")
        return plain

    def record_without_run(self, mode, options, environment, plain):
        session, tracer = self.folder / "session", BUILD / "tracers" / f"{self.tracer}.so"
        shutil.rmtree(session, ignore_errors=True)
        options = patient(f"{tracer}{options}", self.tracer).removeprefix(str(tracer))
        environment = {**environment, "XSP_SESSION": str(session), "XSP_TRACERS": f"{tracer}{options}",
                       **self.loading(tracer, options)}
        self.assertEqual(self.start((), mode, environment), plain, self.said)
        said = self.said
        done = subprocess.run([XSP, "recover", session, "--force", "-o", self.out], stderr=subprocess.PIPE, timeout=TIMEOUT)
        self.said = said + done.stderr.decode()
        self.assertEqual(done.returncode, 0, self.said)

    def truth_rows(self):
        """What the program wrote down."""
        return [json.loads(line) for line in self.truth.read_text().splitlines()] if self.truth.exists() else []

    def said_count(self, pattern):
        """The sum of numbers before these words of the tracer's report, over all processes."""
        return sum(int(number) for number in re.findall(rf"{self.tracer}: (\d+) {pattern}", self.said))

    def sql(self, query):
        done = subprocess.run([XSP, "sql", self.out, query, "--json"], check=True, timeout=TIMEOUT, stdout=subprocess.PIPE)
        return json.loads(done.stdout)

    def check_times(self):
        self.assertEqual(self.sql("select name from span where end_ns < start_ns or start_ns <= 0"), [])
        self.assertEqual(self.sql(
            "select name, before, start_ns from (select s.name, s.start_ns, max(s.end_ns) over (partition by s.track_id "
            "order by s.start_ns, s.end_ns rows between unbounded preceding and 1 preceding) as before from span s "
            "where kind = 'execution') where start_ns < before limit 3"), [], "executions of a track do not overlap")
