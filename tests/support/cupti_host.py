# SPDX-License-Identifier: Apache-2.0
"""cupti_host.py LIBRARY: asks the host half of a CUPTI, which needs no driver, which metrics it knows and how many passes
sets of them take. Questions are lines of JSON: the name of a function of `Library` and its arguments. The first line printed is
the list of chips. `Host` runs it in a process of its own, since the vendor's library ends some processes."""
import ctypes
import json
import pathlib
import subprocess
import sys

C = ctypes


def struct(*fields):
    """Parameters: size_t structSize, void *pPriv, then these."""
    return type("Params", (C.Structure,), {"_fields_": [("size", C.c_size_t), ("private", C.c_void_p), *fields]})


POINTER, SIZE = C.c_void_p, C.c_size_t
NAMES = C.POINTER(C.c_char_p)
CHIPS = struct(("count", SIZE), ("names", NAMES))
INITIALIZE = struct(("type", C.c_int), ("chip", C.c_char_p), ("availability", POINTER), ("host", POINTER))
DEINITIALIZE = struct(("host", POINTER))
ADD = struct(("host", POINTER), ("names", NAMES), ("count", SIZE))
IMAGE_SIZE = struct(("host", POINTER), ("image_size", SIZE))
IMAGE = struct(("host", POINTER), ("image_size", SIZE), ("image", POINTER))
PASSES = struct(("image_size", SIZE), ("image", POINTER), ("passes", SIZE))
RANGES, SAMPLING = 0, 1  # CUpti_ProfilerType


class Failed(Exception):
    """Of a call: its name and result."""


class Library:
    """In this process."""

    def __init__(self, path):
        metrics = pathlib.Path(path).parent / "libnvperf_host.so"
        if metrics.exists():  # the vendor's opens it by this name, and does not look in its own folder
            C.CDLL(str(metrics))
        self.library = C.CDLL(str(path))

    def call(self, name, params, **given):
        """The parameters after cuptiProfilerHost… has succeeded."""
        filled = params(size=C.sizeof(params), **given)
        result = self.library[f"cuptiProfilerHost{name}"](C.byref(filled))
        if result != 0:
            raise Failed(name, result)
        return filled

    def chips(self):
        given = self.call("GetSupportedChips", CHIPS)
        return [given.names[i].decode() for i in range(given.count)]

    def passes(self, chip, metrics, profiler=RANGES):
        names = (C.c_char_p * len(metrics))(*[metric.encode() for metric in metrics])
        host = self.call("Initialize", INITIALIZE, type=profiler, chip=chip.encode()).host
        try:
            self.call("ConfigAddMetrics", ADD, host=host, names=names, count=len(metrics))
            size = self.call("GetConfigImageSize", IMAGE_SIZE, host=host).image_size
            image = C.create_string_buffer(size)
            self.call("GetConfigImage", IMAGE, host=host, image_size=size, image=C.addressof(image))
            return self.call("GetNumOfPasses", PASSES, image_size=size, image=C.addressof(image)).passes
        finally:
            self.call("Deinitialize", DEINITIALIZE, host=host)

    def wrong_size(self, by):
        """The result of cuptiProfilerHostInitialize with parameters whose size is wrong by so many bytes; None: without any."""
        given = INITIALIZE(size=C.sizeof(INITIALIZE) + (by or 0), chip=b"GH100")
        return self.library.cuptiProfilerHostInitialize(None if by is None else C.byref(given))


class Host:
    """A library in a process of its own; `chips` are those that it supports."""

    def __init__(self, path):
        self.process = subprocess.Popen([sys.executable, __file__, str(path)], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                        text=True)
        self.chips = json.loads(self.process.stdout.readline())

    def ask(self, *question):
        self.process.stdin.write(json.dumps(question) + "\n")
        self.process.stdin.flush()
        return json.loads(self.process.stdout.readline())

    def passes(self, chip, metrics, profiler=RANGES):
        """A number; {CALL: RESULT} of the call that failed."""
        return self.ask("passes", chip, metrics, profiler)

    def wrong_size(self, by):
        return self.ask("wrong_size", by)

    def close(self):
        self.process.stdin.close()
        self.process.stdout.close()
        self.process.wait(timeout=600)


def main():
    library = Library(sys.argv[1])
    print(json.dumps(library.chips()), flush=True)
    for line in sys.stdin:
        function, *arguments = json.loads(line)
        try:
            answer = getattr(library, function)(*arguments)
        except Failed as failed:
            answer = dict([failed.args])
        print(json.dumps(answer), flush=True)


if __name__ == "__main__":
    main()
