# SPDX-License-Identifier: Apache-2.0
"""What holds of each table of `xsp analyze --json` with the default statistic, whatever it was computed from: rows add up to
their sums, shares to 100 %."""
import math


def column(got, key):
    return [row[key] for row in got["rows"]]


def total(got, key):
    """None where a row is unknown."""
    values = column(got, key)
    return None if None in values else math.fsum(values)


def shares(got, key):
    """100 % of what there is."""
    return [(key, total(got, key), 100)] if got["rows"] and total(got, key) is not None else []


def thirds(got, prefix=""):
    parts = [got["summary"][f"{prefix}{part}_pct"] for part in ("beginning", "middle", "end")]
    return [] if None in parts else [(f"{prefix}thirds", math.fsum(parts), 100)]


def sums(analysis, got):
    """[(what, sum over the rows, what it must be)]"""
    summary = got["summary"]
    if analysis == "A2":
        return [("sum_ms", total(got, "latency_ms"), summary["sum_ms"])] if got["rows"] else []
    if analysis in ("A3", "A4"):
        return thirds(got)
    if analysis in ("A5", "A6", "A7"):
        return shares(got, {"A5": "count_pct", "A6": "latency_pct", "A7": "alloc_pct"}[analysis])
    if analysis == "A10":
        return shares(got, "kernels_pct") + [
            ("kernel_latency_ms", total(got, "latency_ms") or 0, summary["kernel_latency_ms"] or 0),
            ("kernels", total(got, "count") or 0, summary["kernels"] or 0)]
    if analysis == "A12":
        return [pair for name in ("flops", "dram_read_bytes", "dram_write_bytes", "dram_bytes")
                for pair in thirds(got, f"{name}_")] + [
            ("dram_bytes", row["dram_bytes"], row["dram_read_bytes"] + row["dram_write_bytes"])
            for row in got["rows"] if None not in (row.get("dram_read_bytes"), row.get("dram_write_bytes"))]
    if analysis == "A13":
        found = []
        for key, name in (("layer_sum_ms", "layer_latency_ms"), ("gpu_sum_ms", "gpu_latency_ms"),
                          ("non_gpu_sum_ms", "non_gpu_latency_ms")):
            if got["rows"] and total(got, name) is not None:
                found.append((key, total(got, name), summary[key]))
        if summary["latency_basis"] == "device":
            found += [("layer", row["gpu_latency_ms"] + row["non_gpu_latency_ms"], row["layer_latency_ms"])
                      for row in got["rows"] if row["layer_latency_ms"] is not None]
        return found
    return []


def broken_sums(analysis, got):
    return [f"{what}: the rows add up to {found}, not {wanted}" for what, found, wanted in sums(analysis, got)
            if found is None or wanted is None or not math.isclose(found, wanted, rel_tol=1e-9, abs_tol=1e-12)]
