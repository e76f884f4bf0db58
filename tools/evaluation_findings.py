# SPDX-License-Identifier: Apache-2.0
"""The findings of the XSP paper's evaluation, each with the rule that decides whether it holds for a folder of profiles.

A finding is a function of Zoo that returns a verdict and a sentence with the figures; its rule is next to it, and on the
page. No verdict is set by hand.
"""
import dataclasses
import re
import statistics

HOLDS, FAILS, UNKNOWN = "holds", "does not hold", "not measurable here"
ELEMENT_WISE = re.compile(r"(?<!p)add|(?<!mat)mul(?!tihead)|sub(?!graph)|relu|activation|batch_?norm|clip|maximum|minimum|elemwise|eltwise|"
                          r"sigmoid|swish", re.I)
CONVOLUTION = re.compile(r"conv(?!ert|ers)", re.I)
PAPER_LEAST_CONVOLUTION, PAPER_MOST_OF_PEAK, MOST = 36.3, 52, 0.9  # Table VIII; IV-A; "nearly all"
PAIRS_LEAST, MODELS_LEAST = 3, 5  # fewer decide nothing


@dataclasses.dataclass
class Zoo:
    """The tables of `xsp analyze` for the folder."""
    models: list     # rows of T8
    depth: list      # rows of T9
    pairs: list      # rows of T10, MXNet normalised to TensorFlow
    systems: list    # rows of T11
    layers: dict     # (model, framework, system): rows of A2, A6, L0, A15, A10

    def layers_of(self, row, framework=None):
        return self.layers.get((plain(row["model_name"]), framework or row["framework"], row["system"]))

    def of_task(self, task, rows=None):
        return [row for row in (self.models if rows is None else rows) if row["task"] == task]

    def of_family(self, *words):
        return [row for row in self.pairs if any(word in plain(row["model_name"]) for word in words)]


FINDINGS = []


def finding(section, title, paper, rule):
    def add(function):
        FINDINGS.append((section, title, paper, rule, function))
        return function
    return add


# ---- figures -----------------------------------------------------------------------------------------------------------
def plain(name):
    return re.sub(r"[^a-z0-9]", "", name.lower())


def known(rows, *keys):
    return [row for row in rows if all(row[key] is not None for key in keys)]


def span(values, unit="", digits=1):
    if len(values) == 1:
        return f"{values[0]:.{digits}f}{unit} (n = 1)"
    low, high = min(values), max(values)
    middle = statistics.median(values)
    return f"{low:.{digits}f} to {high:.{digits}f}{unit} (median {middle:.{digits}f}, n = {len(values)})"


def names(rows, most=4):
    found = [f"{row['model_name']} ({row['framework']})" for row in rows]
    return ", ".join(found[:most]) + (f" and {len(found) - most} more" if len(found) > most else "")


def verdict(condition):
    return HOLDS if condition else FAILS


def nearly_all(rows, condition):
    return sum(map(condition, rows)) >= MOST * len(rows)


def ranks(values):
    order = sorted(values)
    return [order.index(value) + (order.count(value) - 1) / 2 for value in values]


def rank_correlation(a, b):
    """Spearman's; None where one of them does not vary."""
    a, b = ranks(a), ranks(b)
    if len(set(a)) < 2 or len(set(b)) < 2:
        return None
    return statistics.correlation(a, b)


def correlated(rows, key, *others):
    """Whether `key` rises with each of the others, over the rows that have all."""
    rows = known(rows, key, *others)
    if len(rows) < MODELS_LEAST:
        return UNKNOWN, f"{len(rows)} models have these figures; at least {MODELS_LEAST} are needed"
    found = [rank_correlation([row[key] for row in rows], [row[other] for row in rows]) for other in others]
    if None in found:
        return UNKNOWN, "the figures are the same for all models"
    return verdict(min(found) >= 0.5), f"rank correlations {', '.join(f'{one:.2f}' for one in found)} over {len(rows)} models"


def is_convolutional(row):
    return row["dominant_layer_type"] is not None and CONVOLUTION.search(row["dominant_layer_type"]) is not None


NO_KERNELS = (UNKNOWN, "no model was profiled at the kernel level")


def without(task):
    return UNKNOWN, f"no profile of a model for {task} has layers"


def is_complete(row):
    return row["flops"] is not None and not row["layers_without_flops"]


def bounds(zoo, task="image classification"):
    """Rows with their bound: measured, else (marked) by analytic intensity under the measured roof."""
    rows = zoo.of_task(task, zoo.depth)
    measured = [dict(row, under=row["bound"]) for row in rows if row["bound"] is not None]
    analytic = [dict(row, under=row["analytic_bound"]) for row in rows if row["analytic_bound"] is not None]
    return (measured, "measured") if measured else (analytic, "analytic")


def too_few(rows, what):
    return UNKNOWN, f"{len(rows) or 'no'} {what}; at least {PAIRS_LEAST} are needed"
