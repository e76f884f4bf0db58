# SPDX-License-Identifier: Apache-2.0
"""The simulated NVIDIA GPU of tests/tracers/cuda: where it is, how programs find one of its versions, and its counts."""
import math
import os
import pathlib
import struct
import sys

BUILD = pathlib.Path(os.environ["XSP_BUILD"]).resolve()
PLACE = BUILD / "test-programs" / "cuda"
CLIENT, WORKLOAD = PLACE / "cupti_client", PLACE / "cuda_workload"
RANGE_CLIENT, SAMPLING_CLIENT = PLACE / "range_client", PLACE / "sampling_client"
WHY_NOT = None if WORKLOAD.exists() else "built without the vendor's CUDA headers (make setup)"
# Name of the version, what cuptiGetVersion returns, the libcupti that has this version's functions.
VERSIONS = {"11.8": (18, PLACE / "11.8" / "libcupti.so.11.8"), "12.4": (22, PLACE / "12.4" / "libcupti.so.12"),
            "12.9": (28, PLACE / "12.9" / "libcupti.so.12"), "13.0": (130001, PLACE / "13" / "libcupti.so.13"),
            "13.1": (130101, PLACE / "13" / "libcupti.so.13"), "13.5": (130500, PLACE / "13.5" / "libcupti.so.13")}
# As in simulator.h.
COUNTS = ("kernels", "memcpys", "memsets", "calls", "syncs", "dropped", "without_times", "unknown", "cut", "requested",
          "refused", "completed", "flushes", "subscriptions", "entries", "peak_bytes", "ranges", "ranges_dropped", "samples")


def environment(version="13.1", faults="", seed=1, counts=None, kernel_ns=None, chip=None):
    """What a program is to be given for this GPU."""
    given = {"XSP_SIM_CUPTI_VERSION": version, "XSP_SIM_FAULTS": faults, "XSP_SIM_SEED": str(seed)}
    if counts:
        given["XSP_SIM_COUNTS"] = str(counts)
    if chip:
        given["XSP_SIM_CHIP"] = chip
    if kernel_ns is not None:
        given["XSP_SIM_KERNEL_NS"] = str(kernel_ns)
    if os.environ.get("XSP_SANITIZE"):  # like real ones, a driver and programs that end do not give everything back
        given["ASAN_OPTIONS"] = f"{os.environ.get('ASAN_OPTIONS', '')}:detect_leaks=0".lstrip(":")
    return given


def metric(name, kernel, grid, block):
    """What the simulator's profilers of counters find for a metric of a kernel, but gpu__time_duration.sum; a formula of its own
    (profiler_metrics.h)."""
    weight = 1 + (sum(kernel.encode()) + sum(name.encode())) % 97
    return weight if ".pct_of_peak" in name else math.prod(grid) * math.prod(block) * weight


def vendors_library():
    """NVIDIA's libcupti 13.1, which answers without a driver. None: not installed."""
    found = list(pathlib.Path(sys.prefix).glob("lib/python3*/site-packages/nvidia/cu13/lib/libcupti.so.13"))
    return found[0] if found else None


def read_counts(path):
    """All zero where libcupti was not loaded."""
    data = path.read_bytes() if path.exists() else bytes(8 * len(COUNTS))
    return dict(zip(COUNTS, struct.unpack(f"<{len(COUNTS)}Q", data)))
