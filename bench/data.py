# SPDX-License-Identifier: Apache-2.0
"""Reading small pictures: 10,000 files in folders of classes against one .xspd file, cold (the page cache dropped for these files) and
warm, without decoding. The floor is the same bytes from one file by one sequential read. Prints one JSON line per case.
XSP_BENCH_FOLDER: where the files are made; default: the folder of temporary files."""
import json
import os
import pathlib
import random
import statistics
import struct
import subprocess
import tempfile
import time

XSP = pathlib.Path(os.environ["XSP_BUILD"]).resolve() / "xsp"
ITEMS, ROUNDS = 10_000, 5


def forget(paths):
    """Drops these files from the page cache; their folders' entries and inodes stay in the kernel's own caches."""
    for path in paths:
        file = os.open(path, os.O_RDONLY)
        os.fsync(file)
        os.posix_fadvise(file, 0, 0, os.POSIX_FADV_DONTNEED)
        os.close(file)


def timed(function):
    start = time.perf_counter()
    total = function()
    return (time.perf_counter() - start) * 1e6 / ITEMS, total


def read_files(paths):
    total = 0
    for path in paths:
        file = os.open(path, os.O_RDONLY)
        total += len(os.read(file, os.fstat(file).st_size))
        os.close(file)
    return total


def read_parts(path, parts):
    file, total = os.open(path, os.O_RDONLY), 0
    for offset, size in parts:
        total += len(os.pread(file, size, offset))
    os.close(file)
    return total


def read_whole(path):
    with open(path, "rb") as file:
        return len(file.read())


def parts_of(path):
    data = path.read_bytes()
    count, index, _ = struct.unpack_from("<QQQ", data, 16)
    return [struct.unpack_from("<QQ", data, index + 32 * number) for number in range(count)]


def main():
    with tempfile.TemporaryDirectory(prefix="xsp-bench-data-", dir=os.environ.get("XSP_BENCH_FOLDER")) as name:
        folder = pathlib.Path(name)
        whole = folder / "set.xspd"
        subprocess.run([XSP, "data", "generate", whole, "--items", str(ITEMS), "--size", "32x32", "-q"], check=True, stderr=subprocess.DEVNULL)
        subprocess.run([XSP, "data", "extract", whole, "-o", folder / "set"], check=True)
        paths = sorted((folder / "set").rglob("*.png"))
        parts = parts_of(whole)
        orders = {"in order": (paths, parts), "shuffled": (random.Random(1).sample(paths, ITEMS), random.Random(1).sample(parts, ITEMS))}
        for order, (files, places) in orders.items():
            for is_cold in (True, False):
                figures = {"folder": [], "file": [], "floor": []}
                for _ in range(ROUNDS):
                    for way, function in (("folder", lambda: read_files(files)), ("file", lambda: read_parts(whole, places)),
                                          ("floor", lambda: read_whole(whole))):
                        if is_cold:
                            forget(paths if way == "folder" else [whole])
                        figures[way].append(timed(function)[0])
                value = {way: statistics.median(times) for way, times in figures.items()}
                print(json.dumps({"bench": "data/read", "case": f"{'cold' if is_cold else 'warm'}, {order}, against a folder", "value": round(value["file"], 2),
                                  "unit": "us/picture", "floor": round(value["floor"], 2), "ratio": round(value["file"] / value["folder"], 3),
                                  "target": 1, "peers": {"folder": round(value["folder"], 2)}}), flush=True)


if __name__ == "__main__":
    main()
