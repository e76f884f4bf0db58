# SPDX-License-Identifier: Apache-2.0
"""Starts `xsp serve`, sends to it, and reads what it stored."""
import contextlib
import gzip
import http.client
import json
import os
import pathlib
import select
import signal
import struct
import subprocess
import time

import otlp
from scripted import TIMEOUT_S, XSP, xsp_json

JSON = {"Content-Type": "application/json"}
PROTO = {"Content-Type": "application/x-protobuf"}


def wait_for(condition, what):
    """Waits until `condition` is true; returns what it gave."""
    end = time.monotonic() + TIMEOUT_S
    while time.monotonic() < end:
        found = condition()
        if found:
            return found
        time.sleep(0.01)
    raise AssertionError(f"waited in vain for {what}")


def zstd(data):
    """A frame of raw blocks: no compressor is needed to write it."""
    frame = b"\x28\xb5\x2f\xfd\xa0" + struct.pack("<I", len(data))
    for at in range(0, max(len(data), 1), 1 << 17):
        block = data[at:at + (1 << 17)]
        frame += struct.pack("<I", (at + (1 << 17) >= len(data)) | len(block) << 3)[:3] + block
    return frame


class Server:
    """A server on a free port of this machine. Use it in `with`: what is left then is killed."""

    def __init__(self, folder, *options, listen="127.0.0.1:0", program=XSP, **popen):
        self.folder = folder
        self.process = subprocess.Popen([program, "serve", "--listen", listen, "--dir", folder, "--json", *options],
                                        stdout=subprocess.PIPE, stderr=subprocess.PIPE, **popen)
        ready, _, _ = select.select([self.process.stdout], [], [], TIMEOUT_S)
        line = self.process.stdout.readline() if ready else b""
        if not line:
            self.process.kill()
            raise AssertionError(f"the server does not start: {self.process.communicate()[1].decode()}")
        self.about = json.loads(line)
        self.port = self.about["port"]

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.kill()

    def kill(self):
        if self.process.returncode is None:
            self.process.kill()
            self.process.wait()
        self.process.stdout.close()
        self.process.stderr.close()

    def stop(self, signal_number=signal.SIGTERM):
        """Ends it; returns its exit status and what it wrote to stderr."""
        self.process.send_signal(signal_number)
        errors = self.process.communicate(timeout=TIMEOUT_S)[1]
        return self.process.returncode, errors.decode()

    def connect(self):
        return http.client.HTTPConnection("127.0.0.1", self.port, timeout=TIMEOUT_S)

    def ask(self, body, headers=None, path="/v1/traces", method="POST", connection=None):
        """Status, headers and body of the reply."""
        own = connection is None
        connection = connection or self.connect()
        try:
            connection.request(method, path, body, headers or {})
            reply = connection.getresponse()
            return reply.status, reply.headers, reply.read()
        finally:
            if own:
                connection.close()

    def send(self, request, connection=None):
        """A request as JSON that must be acknowledged."""
        status, _, body = self.ask(json.dumps(request), JSON, connection=connection)
        if status != 200 or json.loads(body) != {}:
            raise AssertionError(f"status {status}: {body}")


def stopped_child(server, but=None):
    """A process that the server started and that stands still, by XSP_STOP in the server's environment; not `but`."""
    return wait_for(lambda: next((child for child in children_of(server.process.pid)
                                  if child != but and state_of(child) == "T"), None), "a process that stands still")


def children_of(process):
    children = []
    for task in pathlib.Path(f"/proc/{process}/task").glob("*/children"):
        with contextlib.suppress(OSError):  # the thread has ended
            children += map(int, task.read_text().split())
    return children


def state_of(process):
    try:
        return pathlib.Path(f"/proc/{process}/stat").read_text().rsplit(")", 1)[1].split()[0]
    except OSError:
        return None


def files(folder, ending=".xsp"):
    return sorted(folder / name for name in os.listdir(folder) if name.endswith(ending))


def rows(folder, text):
    """The answer of all files of a folder, together."""
    return [tuple(row.values()) for file in files(folder) for row in xsp_json("sql", file, text, "--json")]


def names(folder):
    """The names of all spans, in order."""
    return sorted(name for name, in rows(folder, "select name from span"))


def in_all_forms(request):
    """(what, body, headers) of a request in both encodings, plain and compressed."""
    forms = []
    for what, body, headers in (("json", json.dumps(request).encode(), JSON), ("protobuf", otlp.to_proto(request), PROTO)):
        forms.append((what, body, headers))
        for coding, press in (("gzip", gzip.compress), ("zstd", zstd)):
            forms.append((f"{what} {coding}", press(body), {**headers, "Content-Encoding": coding}))
    return forms
