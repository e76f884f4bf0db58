# SPDX-License-Identifier: Apache-2.0
"""What `xsp analyze` must answer, and how that differs from what it does. Rows are matched by key, not by position."""
import math

import analysis_kernels as kernels
import analysis_layers as layers
from analysis_layers import Impossible
from analysis_rules import Question

RELATIVE, ABSOLUTE = 1e-9, 1e-12


def answer(analysis, experiment, batch, got, **options):
    """({key: row}, summary), or Impossible: status 1. `got`: the given answer, whose order of rows thirds go by."""
    if analysis == "A1":
        return layers.a1(experiment, **options)
    if analysis == "A15":
        return a15(experiment, **options)
    sizes = {run.batch for run in experiment.runs}
    if batch is None and len(sizes) > 1:
        batch = layers.default_batch(experiment, can_answer(analysis), **options)
        if batch is None:
            raise Impossible
    elif batch is None:
        batch, = sizes  # unknown, maybe
    if got and got["run_set"]["batch_size"] != batch:
        return {}, {"the batch size of --batch": batch}  # a difference
    return of_question(analysis, Question(experiment, batch, **options), order_in(analysis, got))


def of_question(analysis, question, order):
    function = getattr(layers if hasattr(layers, analysis.lower()) else kernels, analysis.lower())
    return function(question, order) if analysis in ("A3", "A4", "A12") else function(question)


def can_answer(analysis):
    """Whether a batch size has what an analysis needs."""
    def check(question):
        if analysis in ("A4", "A7"):  # whichever layers have it: those that --layer takes, or others
            layer_set = question.answering(["L"], ["M/L"])
            return layer_set is not None and any("alloc_bytes" in span.tags for run in layer_set.runs for span in run.spans)
        try:
            of_question(analysis, question, order=list)
            return True
        except Impossible:
            return False
    return check


def order_in(analysis, got):
    """The keys of expected rows in the order of the given ones."""
    def order(rows):
        keys = match(analysis, got["rows"], rows) if got else list(rows)
        return keys if set(keys) == set(rows) else list(rows)
    return order


def a15(experiment, **options):
    """A row per batch size that has kernels and a model level."""
    rows = {}
    for batch in sorted({run.batch for run in experiment.runs}):
        try:
            rows[batch] = kernels.a15_row(Question(experiment, batch, **options))
        except Impossible:
            continue
    if not rows:
        raise Impossible
    return rows, {}


# ---- matching ----------------------------------------------------------------------------------------------------------
def match(analysis, rows, wanted):
    """The key of each given row, or None."""
    name = {"A1": "batch_size", "A15": "batch_size", "A5": "layer_type", "A6": "layer_type", "A7": "layer_type",
            "A10": "kernel_name"}.get(analysis)
    if name:
        return [row[name] if row[name] in wanted else None for row in rows]
    # Layers by index and name, kernels by theirs too; of equal ones, whose ordinal no column shows, the nearest.
    keys, left = [], list(wanted)
    for row in rows:
        fitting = [key for key in left if is_layer(row, wanted[key])
                   and row.get("kernel_name") == wanted[key].get("kernel_name")]
        keys.append(min(fitting, default=None, key=lambda key: sum(
            name not in row or not close(name, row[name], value) for name, value in wanted[key].items())))
        if fitting:
            left.remove(keys[-1])
    return keys


def is_layer(row, expected_row):
    return row["layer_name"] == expected_row["layer_name"] and near(row["layer_index"], expected_row["layer_index"])


def near(value, wanted):
    if isinstance(wanted, set):
        return value in wanted
    if wanted is None or value is None or isinstance(wanted, (str, bool)):
        return value == wanted or (wanted is False and value is None)
    return math.isclose(value, wanted, rel_tol=RELATIVE, abs_tol=ABSOLUTE)


def differences(analysis, got, rows, summary):
    """Texts, one for each difference."""
    found, keys = [], match(analysis, got["rows"], rows)
    missing = [key for key in rows if key not in keys]
    extra = [row for key, row in zip(keys, got["rows"]) if key not in rows]
    found += [f"row {key} is missing: {rows[key]}" for key in missing] + [f"row {row} is unexpected" for row in extra]
    for key, row in zip(keys, got["rows"]):
        for name, value in rows.get(key, {}).items():
            if name not in row and name in ("partial", "latency_from") and not value:
                continue
            if name not in row or not close(name, row[name], value):
                found.append(f"row {key} {name}: {row.get(name, 'absent')}, not {value}")
    for name, value in summary.items():
        if name not in got["summary"] or not close(name, got["summary"][name], value):
            found.append(f"summary {name}: {got['summary'].get(name, 'absent')}, not {value}")
    return found


def close(name, value, wanted):
    if name == "cv_pct" and None not in (value, wanted) and max(value, wanted) < 1e-6:
        return True  # rounding of equal values
    return near(value, wanted)


def is_in_order(question, levels, keys):
    """Whether rows of layers are in execution order: that of an observation of the named set that has most of them."""
    observations = question.make(levels).observations
    most = max(len(one.layers) for one in observations)
    orders = [[layer.key for layer in one.layers] for one in observations if len(one.layers) == most]
    return any([key for key in keys if key in order] == order for order in orders)
