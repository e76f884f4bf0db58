# SPDX-License-Identifier: Apache-2.0
"""Runs the functions of a manifest's `preprocess` and `postprocess` for xsp-runner (programs/runner/code.c).

    manifest_code.py SOCKET MEMORY [STEP CODE]...

A request is a line of JSON: step, type and shape of the values, files. The values are in the file MEMORY, where the result goes, too. A reply
is "ok TYPE SIZE...", or "error " and the reason."""
import ctypes
import json
import os
import socket
import sys
import traceback

ctypes.CDLL(None).prctl(1, 9)  # PR_SET_PDEATHSIG: end with the runner


def explain(step, error):
    lines = [frame.lineno for frame in traceback.extract_tb(error.__traceback__) if frame.filename == step]
    if isinstance(error, SyntaxError) and error.filename == step:
        lines = [error.lineno]
    where = f"line {lines[-1]} of {step}: " if lines else ""
    return f"{where}{type(error).__name__}: {' '.join(str(error).split())}"[:800]


def load(step, text):
    scope = {"__name__": step}
    exec(compile(text, step, "exec"), scope)
    own = [value for value in scope.values() if getattr(getattr(value, "__code__", None), "co_filename", None) == step]
    if not own:
        raise ValueError("it defines no function")
    return own[-1]


def transfer(move, memory, values):
    view, done = memoryview(values.reshape(-1)).cast("B"), 0
    while done < len(view):
        done += move(memory, [view[done:]], done)


def run(function, request, memory):
    values = numpy.empty(request["shape"], request["type"])
    transfer(os.preadv, memory, values)
    result = function({key: request[key] for key in ("step", "files")}, values)
    result = numpy.ascontiguousarray(result, request["type"] if request["step"] == "preprocess" else "float32")
    os.ftruncate(memory, result.nbytes)
    transfer(os.pwritev, memory, result)
    return " ".join(["ok", *map(str, result.shape)])


def main():
    channel, memory = socket.socket(fileno=int(sys.argv[1])), int(sys.argv[2])
    functions = {}

    def send(reply):
        channel.sendall(reply.encode("utf-8", "replace") + b"\n")

    for step, text in zip(sys.argv[3::2], sys.argv[4::2]):
        try:
            functions[step] = load(step, text)
        except BaseException as error:  # whatever strangers' code raises
            send(f"error {explain(step, error)}")
            return
    send("ok")
    for line in channel.makefile("rb"):
        request = json.loads(line)
        try:
            reply = run(functions[request["step"]], request, memory)
        except BaseException as error:
            reply = f"error {explain(request['step'], error)}"
        send(reply)


try:
    import numpy
except ImportError:
    os.write(int(sys.argv[1]), b"error NumPy is not installed\n")
else:
    main()
