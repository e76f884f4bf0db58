# SPDX-License-Identifier: Apache-2.0
"""The simulated NVIDIA GPU of tests/tracers/cuda is like the vendor's: its buffers are walked by the vendor's libcupti
(13.1 answers without a driver), names and layouts are the vendor's, results are right, and its faults happen."""
import ctypes
import json
import os
import pathlib
import struct
import subprocess
import sys
import tempfile
import unittest

import cuda_simulator as gpu

SIZES = {  # of records, by kind: sizeof in the headers of each version
    "11.8": {10: 200, 1: 88, 2: 88, 17: 40, 38: 40, 49: 120}, "12.4": {10: 208, 1: 88, 2: 88, 17: 56, 38: 40, 49: 120},
    "12.9": {10: 208, 1: 96, 2: 88, 17: 56, 38: 56, 49: 128}, "13.0": {10: 216, 1: 96, 2: 88, 17: 56, 38: 56, 49: 128},
    "13.1": {10: 224, 1: 96, 2: 88, 17: 56, 38: 56, 49: 128}, "13.5": {10: 248, 1: 112, 2: 104, 17: 56, 38: 56, 49: 128}}
SAME = {4: 40, 5: 40, 22: 96, 39: 24}  # in all of them
KERNEL, MEMCPY, MEMSET, DRIVER, PEER, OVERHEAD, SYNC = 10, 1, 2, 4, 22, 17, 38

# Prints [kind, offset] of each record of the dump as the library sees them, and names. In a process of its own: the
# vendor's library ends some.
WALK = """
import ctypes, json, struct, sys
library, data, at, found = ctypes.CDLL(sys.argv[1]), open(sys.argv[2], "rb").read(), 0, []
while at < len(data):
    size = struct.unpack_from("<Q", data, at)[0]
    buffer, record, here = ctypes.create_string_buffer(data[at + 8:at + 8 + size], size), ctypes.c_void_p(0), []
    while library.cuptiActivityGetNextRecord(buffer, ctypes.c_size_t(size), ctypes.byref(record)) == 0:
        here.append((ctypes.cast(record, ctypes.POINTER(ctypes.c_int))[0], record.value - ctypes.addressof(buffer)))
    found.append(here)
    at += 8 + size
names, name = [], ctypes.c_char_p()
for domain in (1, 2):
    for cbid in range(1100):
        name.value = None
        result = library.cuptiGetCallbackName(domain, cbid, ctypes.byref(name))
        names.append((domain, cbid, result, name.value.decode() if result == 0 else ""))
print(json.dumps([found, names]))
"""


@unittest.skipIf(gpu.WHY_NOT, gpu.WHY_NOT)
class SimulatorTest(unittest.TestCase):
    def setUp(self):
        temporary = tempfile.TemporaryDirectory(prefix="xsp-cuda-")
        self.addCleanup(temporary.cleanup)
        self.folder = pathlib.Path(temporary.name)
        self.dump, self.counts = self.folder / "dump", self.folder / "counts"

    def client(self, version="13.1", faults="", **more):
        """Records of the client, buffer by buffer; what else it printed is in self.said."""
        self.counts.unlink(missing_ok=True)
        done = subprocess.run([gpu.CLIENT, gpu.VERSIONS[version][1], self.dump], stdout=subprocess.PIPE, timeout=600,
                              env={**os.environ, **gpu.environment(version, faults, counts=self.counts, **more)})
        rows = [json.loads(line) for line in done.stdout.splitlines()]
        self.said, self.status = {}, done.returncode
        buffers = []
        for row in rows:
            if "buffer" not in row:
                self.said.update(row)
                continue
            while len(buffers) < row["buffer"]:
                buffers.append([])
            buffers[row["buffer"] - 1].append(row)
        self.counted = gpu.read_counts(self.counts)
        return buffers

    def records(self, *arguments, **more):
        return [record for buffer in self.client(*arguments, **more) for record in buffer]

    def sizes_in_dump(self):
        data, at, sizes = self.dump.read_bytes(), 0, []
        while at < len(data):
            sizes.append(struct.unpack_from("<Q", data, at)[0])
            at += 8 + sizes[-1]
        return sizes

    def walk(self, library):
        done = subprocess.run([sys.executable, "-c", WALK, library, self.dump], check=True, stdout=subprocess.PIPE, timeout=600)
        return json.loads(done.stdout)

    @unittest.skipUnless(gpu.vendors_library(), "the vendor's libcupti is not installed (nvidia-cuda-cupti)")
    def test_the_vendors_library_finds_the_same_records_and_names(self):
        mine = [[[record["kind"], record["offset"]] for record in buffer] for buffer in self.client()]
        self.assertGreaterEqual({kind for buffer in mine for kind, _ in buffer}, {1, 2, 4, 10, 17, 22, 38, 39, 49})
        found, names = self.walk(gpu.vendors_library())
        self.assertEqual(found, mine)
        _, my_names = self.walk(gpu.VERSIONS["13.1"][1])
        self.assertEqual(my_names, names)
        self.assertIn([1, 307, 0, "cuLaunchKernel"], names)

    @unittest.skipUnless(gpu.vendors_library(), "the vendor's libcupti is not installed (nvidia-cuda-cupti)")
    def test_the_vendors_library_does_not_show_a_record_that_is_cut(self):
        mine = [[[record["kind"], record["offset"]] for record in buffer] for buffer in self.client(faults="cut", seed=3)]
        self.assertGreater(self.counted["cut"], 0)
        found, _ = self.walk(gpu.vendors_library())
        self.assertEqual(found, mine)

    def test_layouts_of_each_version(self):
        for version, (number, _) in gpu.VERSIONS.items():
            with self.subTest(version):
                sizes = {**SIZES[version], **SAME}
                buffers = self.client(version)
                self.assertEqual((self.status, self.said["version"]), (0, number))
                for buffer, size in zip(buffers, self.sizes_in_dump(), strict=True):
                    ends = [record["offset"] for record in buffer[1:]] + [size]
                    self.assertEqual([end - record["offset"] for record, end in zip(buffer, ends)],
                                     [sizes[record["kind"]] for record in buffer])

    def test_functions_of_each_version(self):
        lacking = {"11.8": {"cuptiSubscribe_v2", "cuptiActivityEnableDriverApi", "cuptiActivityEnableRuntimeApi",
                            "cuptiGetErrorMessage", "cuptiGetGraphExecId"},
                   "12.4": {"cuptiSubscribe_v2", "cuptiActivityEnableDriverApi", "cuptiActivityEnableRuntimeApi"},
                   "12.9": {"cuptiSubscribe_v2"}, "13.0": set(), "13.1": set(), "13.5": set()}
        for version, (_, path) in gpu.VERSIONS.items():
            library = ctypes.CDLL(str(path))
            self.assertEqual({name for name in lacking["11.8"] if not hasattr(library, name)}, lacking[version], version)

    def test_work_is_recorded_as_it_was(self):
        for version in gpu.VERSIONS:
            with self.subTest(version):
                records = self.records(version)
                kernels = sorted((record for record in records if record["kind"] == KERNEL), key=lambda k: k["start"])
                calls = {record["correlation"]: record for record in records if record["kind"] == DRIVER}
                self.assertEqual([(k["name"], k["grid"], k["block"], k["shared"]) for k in kernels],
                                 [("_Z3addPf", [i, 2, 3], [32, 4, 1], 256) for i in (1, 2, 3)] +
                                 [("_Z3addPf", [9, 1, 1], [64, 1, 1], 0)] * 2 + [("_Z3addPf", [5, 5, 5], [8, 8, 8], 0)])
                self.assertEqual([calls[k["correlation"]]["name"] for k in kernels],
                                 ["cuLaunchKernel"] * 3 + ["cuGraphLaunch"] * 2 + ["cuLaunchKernel"])
                self.assertEqual(len({k["node"] for k in kernels[3:5]}), 2)
                for before, after in zip(kernels, kernels[1:]):  # one stream
                    self.assertLessEqual(before["end"], after["start"])
                for record in records:
                    if record["kind"] in (KERNEL, MEMCPY, MEMSET):
                        self.assertGreater(record["start"], calls[record["correlation"]]["start"])
                self.assertEqual([(r["bytes"], r["copy"]) for r in records if r["kind"] == MEMCPY], [(64, 2)])
                self.assertEqual([(r["bytes"], r["value"]) for r in records if r["kind"] == MEMSET], [(64, 7)])
                self.assertEqual([r["type"] for r in records if r["kind"] == SYNC], [3, 4])
                self.assertEqual({c["thread"] for c in calls.values()}, {self.said["thread"]})
                self.assertEqual([(r["external"], calls[r["correlation"]]["name"]) for r in records if r["kind"] == 39],
                                 [(77, "cuLaunchKernel")] * 3)
                self.assertEqual(self.said["back"], 7)  # set, copied to the peer, copied out
                self.assertEqual((self.said["enters"], self.said["exits"]), (6, 6))
                self.assertEqual((self.said["created"], self.said["cloned"], self.said["executables"]), (2, 2, 1))
                self.assertEqual((self.said["contexts"], self.said["devices"]), (2, 0b11))
                self.assertEqual(self.said["blocks"], 1 + 2 + 3 + 9 + 9 + 5)  # by the calls' parameters
                self.assertEqual(self.said["streams"], 1 << kernels[0]["stream"])
                self.assertEqual((self.said["dropped"], self.counted["dropped"]), (0, 0))
                self.assertEqual((self.counted["kernels"], self.counted["calls"]), (6, len(calls)))

    def test_faults_in_records(self):
        plain = self.records()
        kernels = len([record for record in plain if record["kind"] == KERNEL])
        records = self.records(faults="zero-times", seed=2)
        zero = [r for r in records if r["kind"] in (KERNEL, MEMCPY, MEMSET) and (r["start"], r["end"]) == (0, 0)]
        self.assertGreater(len(zero), 0)
        self.assertIn(self.counted["without_times"] - len(zero), (0, 1))  # the client does not print times of the peer copy
        records = self.records(faults="drops", seed=2)
        self.assertGreater(self.said["dropped"], 0)
        self.assertEqual(self.said["dropped"], self.counted["dropped"])
        self.assertEqual(len([r for r in records if r["kind"] == KERNEL]), self.counted["kernels"])
        records = self.records(faults="out-of-order", seed=2)
        starts = [record["start"] for record in records if record["kind"] == KERNEL]
        self.assertEqual(len(starts), kernels)
        self.assertNotEqual(starts, sorted(starts))
        for fault, name in (("null-names", ""), ("long-names", "n" * 10000)):
            self.assertIn(name, [r["name"] for r in self.records(faults=fault, seed=2) if r["kind"] == KERNEL])
        self.assertIn(200, [record["kind"] for record in self.records(faults="unknown-kinds")])
        self.assertGreater(self.counted["unknown"], 0)
        self.assertLess(len(self.records(faults="invalid-kinds", seed=2)), len(plain))

    def test_faults_in_buffers(self):
        plain = [record["kind"] for record in self.records()]
        self.assertEqual(sorted(record["kind"] for record in self.records(faults="many-threads")), sorted(plain))
        self.client(faults="empty-buffers", seed=2)
        self.assertIn(0, self.sizes_in_dump())
        self.assertEqual(self.records(faults="tiny-refused"), [])  # the client's have 8 KiB
        self.assertEqual(self.said["dropped"], self.counted["dropped"])
        self.assertEqual(set(self.sizes_in_dump()), {0})

    def test_refusals(self):
        for fault, failed, result in (("subscriber", "cuptiSubscribe", 39), ("subscribe-fails", "cuptiSubscribe", 999),
                                      ("kernels-refused", "cuptiActivityEnable", 35),
                                      ("kinds-refused", "cuptiActivityEnable", 14), ("no-device", "cuInit", 100)):
            with self.subTest(fault):
                self.client(faults=fault)
                self.assertIn(failed, self.said["failed"])
                self.assertEqual((self.status, self.said["result"]), (1, result))
        for fault in ("flush-hangs", "last-flush-hangs"):
            with self.assertRaises(subprocess.TimeoutExpired):
                subprocess.run([gpu.CLIENT, gpu.VERSIONS["13.1"][1], self.dump], timeout=1,
                               env={**os.environ, **gpu.environment(faults=fault)}, stdout=subprocess.DEVNULL)

    def test_without_the_driver_it_answers_as_the_vendors(self):
        """This process has no libcuda: calls that need one return 999."""
        library = ctypes.CDLL(str(gpu.VERSIONS["13.1"][1]))
        version = ctypes.c_uint32()
        self.assertEqual((library.cuptiGetVersion(ctypes.byref(version)), library.cuptiSubscribe(ctypes.byref(ctypes.c_void_p()),
                          None, None), library.cuptiActivityEnable(KERNEL)), (0, 999, 999))

    def test_the_workloads_results_and_truth(self):
        """Kernels, copies and sets that each mode launches, counted by hand, and its status."""
        for mode, status, expected in (
                ("simple", 0, {"kernel": 2 * 3 + 5 + 1, "memcpy": 4, "memset": 1}),
                ("runtime", 0, {"kernel": 2 * 3, "memcpy": 2, "memset": 1}),
                ("graph", 0, {"kernel": 3 * 2 + 3 * 6 + 1, "memcpy": 3 * 2, "memset": 3}),
                ("contexts", 0, {"kernel": 3 + 1 + 1, "memcpy": 3}),
                ("fork", 0, {"kernel": 2 * 12, "memcpy": 2 * 4, "memset": 2}),
                ("fork-first", 0, {"kernel": 12, "memcpy": 4, "memset": 1}), ("threads", 0, {"kernel": 150}),
                ("names", 0, {"kernel": 8}), ("errors", 0, {"kernel": 3}), ("many", 0, {"kernel": 3}),
                ("leave", 7, {"kernel": 3}), ("leave-at-once", 8, {"kernel": 3}), ("abort", -6, {"kernel": 3})):
            with self.subTest(mode):
                truth = self.folder / mode
                done = subprocess.run([gpu.WORKLOAD, mode, truth, "3"], env={**os.environ, **gpu.environment()}, timeout=600,
                                      stdout=subprocess.PIPE)
                self.assertEqual(done.returncode, status, done.stdout)
                counted = {}
                for line in truth.read_text().splitlines():
                    row = json.loads(line)
                    counted[row["operation"]] = counted.get(row["operation"], 0) + row["times"]
                self.assertEqual(counted, expected)
                printed = done.stdout.decode()
                if mode == "runtime":
                    self.assertIn(f"copied {self.checksum(3, 50)}", printed)
                if mode in ("simple", "fork"):
                    self.assertIn(f"copied {self.checksum(9, 100)}", printed)
                if mode == "graph":
                    self.assertIn(f"copied {self.checksum(5, 64)}", printed)
                if mode == "contexts":
                    self.assertIn(f"copied {self.checksum(0, 0)}", printed)

    @staticmethod
    def checksum(value, times):
        """Of the workload's 4096 input bytes, the first of which were set."""
        total = 0
        for i in range(4096):
            total = (total * 31 + (value if i < times else i * 7 % 256)) % 2**64
        return total


if __name__ == "__main__":
    unittest.main(verbosity=2)
