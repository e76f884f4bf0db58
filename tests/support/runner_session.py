# SPDX-License-Identifier: Apache-2.0
"""Drives xsp-runner over its control socket, and reads its session folder with an independent reader, so
that these tests depend on capture's bytes alone, not on collect."""
import os
import pathlib
import socket
import struct
import subprocess
import sys
import tempfile

BUILD = pathlib.Path(os.environ["XSP_BUILD"])
SOURCE = pathlib.Path(os.environ["XSP_SOURCE"])
WAIT_S = 600


def test_models():
    """The folder of the test models, made once."""
    folder = BUILD / "test-models"
    subprocess.run([sys.executable, SOURCE / "tools/models.py", folder, "--set", "test"], check=True,
                   stderr=subprocess.DEVNULL)
    return folder


def unescape(field):
    return field.replace("\\\\", "\0").replace("\\t", "\t").replace("\\n", "\n").replace("\0", "\\")


class Runner:
    """One xsp-runner. `ready` is its first line: ["ready", …], ["error", …], or None where it died."""

    def __init__(self, model, levels="M/L", options=(), session=None, environment=None):
        self.folder = tempfile.TemporaryDirectory()
        self.session = session if session is not None else pathlib.Path(self.folder.name) / "session"
        work = pathlib.Path(self.folder.name) / "work"
        work.mkdir()
        self.work = work
        ours, theirs = socket.socketpair()
        ours.settimeout(WAIT_S)
        self.socket, self.buffer = ours, b""
        command = [BUILD / "xsp-runner", "--control-fd", theirs.fileno(), "--model", model, "--levels", levels,
                   "--tracer-directory", BUILD / "tracers", "--work-directory", work, *options]
        variables = {**os.environ, "VIRTUAL_ENV": sys.prefix, "XSP_SESSION": str(self.session), **(environment or {})}
        self.process = subprocess.Popen([str(part) for part in command], pass_fds=[theirs.fileno()], env=variables,
                                        stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        theirs.close()
        self.ready = self.read()

    def read(self):
        while b"\n" not in self.buffer:
            try:
                more = self.socket.recv(65536)
            except ConnectionResetError:
                more = b""
            if not more:
                return None
            self.buffer += more
        line, self.buffer = self.buffer.split(b"\n", 1)
        return [unescape(field) for field in line.decode().split("\t")]

    def send(self, *fields):
        self.socket.sendall(("\t".join(map(str, fields)) + "\n").encode())

    def ask(self, *fields):
        self.send(*fields)
        return self.read()

    def close(self, quit_first=True):
        """(status, stdout, stderr)"""
        try:
            if quit_first:
                self.send("quit")
        except OSError:
            pass
        self.socket.close()
        try:
            output, errors = self.process.communicate(timeout=WAIT_S)
        finally:
            self.process.kill()
        return self.process.returncode, output, errors

    def __enter__(self):
        return self

    def __exit__(self, *_):
        if self.process.poll() is None:
            self.process.kill()
            self.process.communicate()
        for stream in (self.process.stdout, self.process.stderr):
            stream.close()
        self.socket.close()
        self.folder.cleanup()


class Span:
    def __init__(self, **fields):
        self.__dict__.update(fields)

    def __repr__(self):
        return f"Span({self.name!r}, {self.start_ns}+{self.duration_ns}, {self.tags})"


SPAN, TAG_INT, TAG_DOUBLE, TAG_STRING, PARENT = 1, 2, 3, 4, 7
INT, DOUBLE, STRING = 1, 2, 3
REALTIME = 1


class Session:
    """All finished spans of a session folder, by start, with their tags; times in ns since the first clock reading."""

    def __init__(self, folder):
        folder = pathlib.Path(folder)
        self.head = (folder / "session").read_bytes()
        self.catalog = (folder / "catalog").read_bytes()
        self.calibrations = []
        for slot in range(112):
            ticks, realtime, _, sequence = struct.unpack_from("<QqqQ", self.head, 128 + 32 * slot)
            if sequence:
                self.calibrations.append((ticks, realtime))
        self.calibrations.sort()
        self.spans, self.dropped = [], 0
        for ring in sorted(folder.glob("ring-*"), key=lambda path: int(path.name[5:])):
            with ring.open("rb") as file:  # sparse behind the slots in use
                backed, = struct.unpack_from("<I", file.read(4096), 1224)
                file.seek(0)
                self.read_ring(file.read(4096 + 32 * backed))
        self.spans.sort(key=lambda span: (span.start_ns, -span.duration_ns))

    def entry(self, number, form):
        return struct.unpack_from(form, self.catalog, number * 8 + 8)

    def string(self, number):
        if number == 0:
            return None
        length, _ = self.entry(number, "<II")
        return self.catalog[number * 8 + 16:number * 8 + 16 + length].decode()

    def value(self, kind, bits):
        if kind == STRING:
            return self.string(bits)
        return struct.unpack("<d" if kind == DOUBLE else "<q", struct.pack("<Q", bits))[0]

    def site(self, number):
        level, tracer, name, category, _, tag = self.entry(number, "<IIIIII")
        tracer_name = self.head[4096 + 256 + 40 * tracer:][:32].split(b"\0")[0].decode()
        tags = {}
        while tag:
            next_tag, key, kind, _, bits = self.entry(tag, "<IIIIQ")
            tags[self.string(key)] = self.value(kind, bits)
            tag = next_tag
        return level, tracer_name, self.string(name), self.string(category), tags

    def since_begin(self, ticks):
        (ticks_a, real_a), (ticks_b, real_b) = self.calibrations[0], self.calibrations[-1]
        if ticks_b == ticks_a:  # the process died early: what it did is known, not how long it took
            return ticks - ticks_a
        return (ticks - ticks_a) * (real_b - real_a) / (ticks_b - ticks_a)

    def read_ring(self, data):
        number, = struct.unpack_from("<I", data, 16)
        sizes, = struct.unpack_from("<I", data, 1232)
        # Nobody drained: the ring only grew, and no record has another slot than now.
        record_count, = struct.unpack_from("<Q", data, 1248 + 24 * ((sizes - 1) % 32) + 16)
        head, _, _, _, dropped = struct.unpack_from("<QQIIQ", data, 128)
        self.dropped += dropped
        spans = {}
        for position in range(head):
            start, duration, site, identity, kind, kind_clock, track, commit = struct.unpack_from(
                "<QQIIBBHI", data, 4096 + 32 * (position % record_count))
            if commit != (position + 1) & 0xffffffff:
                continue
            if kind == SPAN:
                level, tracer, name, category, tags = self.site(site)
                if kind_clock >> 4 == REALTIME:
                    begin = start - self.calibrations[0][1]
                    end = begin + duration
                else:
                    begin, end = self.since_begin(start), self.since_begin(start + duration)
                spans[identity] = Span(ring=number, id=identity, level=level, tracer=tracer, name=name, tags=tags,
                                       category=category, start_ns=begin, duration_ns=end - begin, end_ns=end, parent=None)
        for position in range(head):
            start, _, key, identity, kind, _, _, commit = struct.unpack_from(
                "<QQIIBBHI", data, 4096 + 32 * (position % record_count))
            if commit != (position + 1) & 0xffffffff or identity not in spans:
                continue
            if kind in (TAG_INT, TAG_DOUBLE, TAG_STRING):
                spans[identity].tags[self.string(key)] = self.value(kind - 1, start)
            elif kind == PARENT:
                spans[identity].parent = (start >> 32, start & 0xffffffff)
        self.spans += spans.values()

    def level(self, number):
        return [span for span in self.spans if span.level == number]

    def models(self):
        return self.level(1)

    def layers(self, model=None):
        spans = self.level(2)
        if model is None:
            return spans
        if spans and spans[0].parent is not None:  # explicit parents: down from the model span
            inside = {(model.ring, model.id)}
            for span in spans:  # parents start earlier
                if span.parent in inside:
                    inside.add((span.ring, span.id))
            return [span for span in spans if (span.ring, span.id) in inside]
        return [span for span in spans if model.start_ns <= span.start_ns and span.end_ns <= model.end_ns]
