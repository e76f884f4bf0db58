# SPDX-License-Identifier: Apache-2.0
"""The OpenTelemetry Collector, for the long tests and the bench: built by its own builder from collector.yaml, in four minutes on
two cores, once in XSP_TEST_CACHE or the build folder. Starting it, and what it exported.

`python3 collector.py` builds it and prints its path."""
import fcntl
import json
import os
import pathlib
import shutil
import socket
import subprocess
import time
import unittest

from ports import unused_port

VERSION = "0.161.0"
START_S = 600


def make(folder):
    """Go's own folders are below `folder`: nothing goes to the home folder, and the sources can be removed."""
    go = folder / "go"
    environment = {**os.environ, "GOPATH": str(go), "GOCACHE": str(go / "cache"), "GOFLAGS": "-modcacherw", "GOTOOLCHAIN": "local",
                   "GOBIN": str(folder), "CGO_ENABLED": "0"}
    for command in (["go", "install", f"go.opentelemetry.io/collector/cmd/builder@v{VERSION}"],
                    [folder / "builder", "--config", pathlib.Path(__file__).with_name("collector.yaml")]):
        subprocess.run(command, cwd=folder, env=environment, check=True, timeout=1800, stdout=subprocess.DEVNULL,
                       stderr=subprocess.DEVNULL)
    shutil.move(folder / "made" / "otelcol-xsp", folder / "collector")
    (folder / "builder").unlink()
    shutil.rmtree(go)
    shutil.rmtree(folder / "made")


def cached():
    cache = pathlib.Path(os.environ.get("XSP_TEST_CACHE") or os.environ["XSP_BUILD"]).resolve()
    return cache / f"collector-{VERSION}" / "collector"


def collector_program():
    """Its path; raises unittest.SkipTest where it cannot be built."""
    program = cached()
    program.parent.parent.mkdir(parents=True, exist_ok=True)
    with open(f"{program.parent}.lock", "w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if program.exists():
            return program
        if shutil.which("go") is None:
            raise unittest.SkipTest("Go is needed to build the OpenTelemetry Collector")
        shutil.rmtree(program.parent, ignore_errors=True)
        program.parent.mkdir()
        try:
            make(program.parent)
        except (OSError, subprocess.SubprocessError) as error:
            shutil.rmtree(program.parent, ignore_errors=True)
            raise unittest.SkipTest(f"the OpenTelemetry Collector {VERSION} cannot be built here: {error}") from error
        return program


class Collector:
    """Receives OTLP/HTTP at `url`: traces, or another `signal`. `exporters` and `processors` are parts of its configuration, which is YAML: JSON is YAML, too.
    Use it in `with`: what is left then is killed."""

    def __init__(self, folder, exporters, processors=None, port=0, signal="traces"):
        processors = {} if processors is None else processors
        self.port = port or unused_port()
        self.url = f"http://127.0.0.1:{self.port}"
        config = {"receivers": {"otlp": {"protocols": {"http": {"endpoint": f"127.0.0.1:{self.port}"}}}},
                  "processors": processors, "exporters": exporters,
                  "service": {"telemetry": {"metrics": {"level": "none"}, "logs": {"encoding": "json"}},
                              "pipelines": {signal: {"receivers": ["otlp"], "processors": list(processors),
                                                     "exporters": list(exporters)}}}}
        (folder / "collector.json").write_text(json.dumps(config))
        self.log = folder / "collector.log"
        with open(self.log, "ab") as log:
            self.process = subprocess.Popen([collector_program(), "--feature-gates=service.profilesSupport", "--config",
                                             f"file:{folder / 'collector.json'}"],
                                            stdout=log, stderr=log, stdin=subprocess.DEVNULL)
        end = time.monotonic() + START_S
        while not self.answers():
            if self.process.poll() is not None or time.monotonic() > end:
                self.kill()
                raise AssertionError(f"the collector does not start:\n{self.log.read_text()}")
            time.sleep(0.02)

    def answers(self):
        try:
            socket.create_connection(("127.0.0.1", self.port), timeout=1).close()
            return True
        except OSError:
            return False

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.kill()

    def kill(self):
        if self.process.poll() is None:
            self.process.kill()
            self.process.wait()

    def stop(self):
        """Ends it after it has sent what it holds; returns its exit status."""
        self.process.terminate()
        return self.process.wait(START_S)

    def messages(self):
        """What it logged: [{level, msg, …}]."""
        return [json.loads(line) for line in self.log.read_text().splitlines() if line.startswith("{")]


if __name__ == "__main__":
    os.environ.setdefault("XSP_BUILD", "build")
    print(collector_program())
