# SPDX-License-Identifier: Apache-2.0
"""Findings that a user's own analysis makes about nodes of a tree."""
import decimal
import numbers
import re
import sys

from .tree import Reasons

KEYS = ("id", "rule", "severity", "confidence", "title", "context", "context_id", "file", "line", "time_ms", "basis",
        "share_pct", "saving_ms", "saving_pct", "saving_basis", "threshold", "advice", "spans", "run_id", "numbers")
FIGURES = ("context_id", "line", "time_ms", "share_pct", "saving_ms", "saving_pct", "run_id")
_NAME = re.compile(r"\{([^\W\d]\w*)(?::([^{}]*))?\}")  # {name} or {name:spec}


def _severity(share_pct):
    return "high" if share_pct >= 10 else "medium" if share_pct >= 3 else "low"


def plain_number(value):
    """An int or a float of a number of any type (numpy's, Decimal, Fraction); other values as they are."""
    if isinstance(value, numbers.Integral):
        return int(value)
    return float(value) if isinstance(value, (numbers.Real, decimal.Decimal)) else value


def _figure(key, value):
    number = plain_number(value)
    if not isinstance(number, (int, float, type(None))):
        raise TypeError(f"{key} of a finding must be a number or None, not {type(value).__name__}; try: {key}=float(value)")
    return number


def _replaced(match, values):
    """A name in braces; as it is where it is unknown, or its format is wrong."""
    name, spec = match.groups()
    try:
        return format(values[name], spec or "")
    except (KeyError, ValueError, TypeError, OverflowError):
        return match[0]


def flag_issue(node, text, /, **keys):
    """Adds a finding about a node to its tree's `findings`, and returns it. Names in braces in `text` are replaced by `keys`, else by
    the caller's variables; other braces stay. `keys`: those of a finding (docs/python.md); further ones are its numbers. There is no
    finding without a node, or where a name stands for an empty list of reasons."""
    caller = sys._getframe(1)
    names = {name for name, _ in _NAME.findall(text)}
    values = {name: value for scope in (caller.f_globals, caller.f_locals, keys) for name, value in scope.items() if name in names}
    if node is None or any(isinstance(value, Reasons) and not value for value in values.values()):
        return None
    share = 100 * (node.time / node.tree.root.time)
    sentence = _NAME.sub(lambda match: _replaced(match, values), text)
    file, line = node.source
    finding = dict.fromkeys(KEYS)
    finding.update(rule=text, severity=_severity(share), confidence="medium",
                   title=f"{sentence.replace('_', ' ')}: {node.name} takes {node.time / 1e6:.3f} ms, {share:.1f} % of all",
                   context=node.name, context_id=node.context_id, file=file, line=line, time_ms=node.time / 1e6,
                   basis="all", share_pct=share, spans=[], run_id=node.tree.run_id, numbers={})
    for key, value in keys.items():
        (finding if key in KEYS else finding["numbers"])[key] = _figure(key, value) if key in FIGURES else value
    node.tree.findings.append(finding)
    return finding


def flag_hotspot(node, **keys):
    """A finding of rule `hotspot`."""
    return flag_issue(node, "hotspot", **keys)
