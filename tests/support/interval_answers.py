# SPDX-License-Identifier: Apache-2.0
"""L0's intervals, drift and verdicts, and A1's certainty of the optimal batch, a second time, straight from the definitions
(docs/analyses.md). Student's t by integration over an angle, where the C code has a continued fraction."""
import functools
import math
import statistics


@functools.lru_cache(None)
def student(confidence, degrees):
    """P(|T| <= t) is the integral of cos^(degrees - 1) from 0 to atan(t / sqrt(degrees)), over that to a right angle."""
    whole = math.exp(math.lgamma(degrees / 2) - math.lgamma((degrees + 1) / 2)) * math.sqrt(math.pi) / 2
    steps = 1000  # of Simpson's rule, narrower towards the right angle

    def height(angle):
        return math.cos(angle) ** (degrees - 1) / whole

    def share(angle):
        rests = [1 - i / steps for i in range(steps + 1)]
        heights = [height(angle * (1 - rest ** 3)) * 3 * rest ** 2 for rest in rests]
        return (heights[0] + heights[-1] + 4 * sum(heights[1:-1:2]) + 2 * sum(heights[2:-1:2])) * angle / steps / 3

    angle, step = 0, 1
    while step > 1e-13:  # Newton, from below: the share is concave
        step = (confidence - share(angle)) / height(angle)
        angle += step
    return math.sqrt(degrees) * math.tan(angle)


def statistic(values, name):
    values = sorted(values)
    cut = 0 if name == "mean" or len(values) < 3 else 1 if len(values) == 3 else len(values) // 5
    return math.fsum(values[cut:len(values) - cut]) / (len(values) - 2 * cut)


# ---- a mean's squared error and degrees of freedom -----------------------------------------------------------------------
def plain(values):
    return statistics.variance(values) / len(values), len(values) - 1


def yuen(values):
    values, g = sorted(values), len(values) // 5
    h = len(values) - 2 * g
    winsorised = [values[g]] * g + values[g:len(values) - g] + [values[-g - 1]] * g
    mean = math.fsum(winsorised) / len(winsorised)
    return math.fsum((value - mean) ** 2 for value in winsorised) / (h * (h - 1)), h - 1


def median(values):
    """By the values some 1.96 deviations of a binomial count away from the middle; (nan, nan) where there are none."""
    values, n = sorted(values), len(values)
    ranks = math.floor((n - 1) / 2 - 1.95996 * math.sqrt(n) / 2), math.ceil((n - 1) / 2 + 1.95996 * math.sqrt(n) / 2)
    if ranks[0] < 0 or ranks[1] >= n:
        return math.nan, math.nan
    return ((values[ranks[1]] - values[ranks[0]]) / (2 * 1.95996)) ** 2, n - 1


def error_of(name, are_many):
    """The error of a statistic over observations. are_many: both sides have at least eight."""
    return median if name == "median" else plain if name == "mean" or not are_many else yuen


def reach(error, confidence):
    return 0 if error[0] == 0 else student(confidence, error[1]) * math.sqrt(error[0])


def welch(a, b):
    total = a[0] + b[0]
    return total, total and total ** 2 / (a[0] ** 2 / a[1] + b[0] ** 2 / b[1])


# ---- sets: each a list of runs, each run (start, [(start, latency), …] without warm-up) ---------------------------------------
def latencies(runs):
    return [latency for _, run in runs for _, latency in run]


def figure(runs, name):
    return statistic(latencies(runs), name)


def are_pairs(a, b):
    pairs = list(zip(sorted(start for start, _ in a), sorted(start for start, _ in b)))
    return len(a) == len(b) and all(max(one) < min(following) for one, following in zip(pairs, pairs[1:]))


def interval(a, b, name="trimmed:0.2", factors=(1, 1), is_one_clock=True):
    """(low, high, interval_from) of the difference of two sets, each times its factor; None where there is none."""
    a, b = ([(start, [(at, factor * latency) for at, latency in run]) for start, run in sorted(runs) if run]
            for runs, factor in zip((a, b), factors))
    figures = [[statistic([latency for _, latency in run], name) for _, run in runs] for runs in (a, b)]
    values = latencies(a), latencies(b)
    if len(a) >= 3 and len(b) >= 3:
        if is_one_clock and are_pairs(a, b):
            source, error = "paired runs", plain([x - y for x, y in zip(*figures)])
        else:
            source, error = "runs", welch(*map(plain, figures))
    elif min(map(len, values)) < 2:
        return None, None, None
    else:
        source, error = "observations", welch(*map(error_of(name, min(map(len, values)) >= 8), values))
    difference, half = statistic(values[0], name) - statistic(values[1], name), reach(error, 0.95)
    return difference - half, difference + half, source


def has_drift(runs, threshold):
    values = [latency for _, latency in sorted(one for _, run in runs for one in run)]
    if len(values) < 9:
        return False
    third = len(values) // 3
    first, last = values[:third], values[-third:]
    difference = abs(statistics.fmean(last) - statistics.fmean(first))
    return difference > threshold and difference > reach(welch(plain(first), plain(last)), 0.99)


def overhead(runs, before, name="trimmed:0.2", threshold_pct=5, is_one_clock=True):
    """What L0 says of a set and the set before it."""
    low, high, source = interval(runs, before, name, is_one_clock=is_one_clock)
    threshold = figure(before, name) * threshold_pct / 100
    drifts = source != "paired runs" and (has_drift(runs, threshold) or has_drift(before, threshold))
    verdict = "not decided"
    if source is not None and not drifts and low > 0:
        verdict = "overhead"
    elif source is not None and not drifts and high < threshold:
        verdict = "none found"
    return {"overhead_ms": figure(runs, name) - figure(before, name), "overhead_low_ms": low, "overhead_high_ms": high,
            "interval_from": source, "verdict": verdict}


def optimal_batch_is_certain(sets, optimal, threshold_pct=5, name="trimmed:0.2", is_one_clock=True):
    """sets: the runs by batch size."""
    def gap(batch):
        return interval(sets[2 * batch], sets[batch], name, (1 + threshold_pct / 100, 2), is_one_clock)
    if optimal is None:
        return None
    low, _, _ = gap(optimal)
    smaller = [gap(batch) for batch in sets if batch < optimal and 2 * batch in sets]
    return low is not None and low >= 0 and all(high is not None and high < 0 for _, high, _ in smaller)
