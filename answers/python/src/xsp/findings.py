# SPDX-License-Identifier: Apache-2.0
"""Runs a user's own analysis: python3 -m xsp.findings SCRIPT.py FILE.xsp prints its findings as JSON (docs/python.md)."""
import json
import math
import os
import pathlib
import sys
import traceback

import xsp
from xsp.flags import plain_number

SPANS_MOST = 16


def _add_spans(trace, findings):
    """The longest spans of each finding's call path. A finding about something else has none."""
    wanted = {}
    for finding in findings:
        if finding["context_id"] is not None and not finding["spans"]:
            wanted.setdefault((finding["run_id"], finding["context_id"]), []).append(finding)
    for run in {run for run, _ in wanted}:
        ids = ", ".join(str(context) for of, context in wanted if of == run)
        rows = trace.sql(f"select context_id, span_id from span where run_id = {run} and context_id in ({ids}) "
                         "order by duration_ns desc")
        spans = {}
        for row in rows:
            of = spans.setdefault(row.context_id, [])
            if len(of) < SPANS_MOST:
                of.append(row.span_id)
        for context, found in spans.items():
            for finding in wanted[run, context]:
                finding["spans"] = found


def _text(value):
    """UTF-8 has no half of a surrogate pair, as Python puts into names of files: U+FFFD."""
    return str(value).encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")


def _plain(value):
    """As JSON has it: unknown and infinite numbers are null, what has no form of its own is a text."""
    if isinstance(value, dict):
        return {_text(key): _plain(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [_plain(item) for item in value]
    if isinstance(value, (bool, type(None))):
        return value
    number = plain_number(value)
    if isinstance(number, float):
        return number if math.isfinite(number) else None
    return number if isinstance(number, int) else _text(value)


def run_script(script, path):
    """The findings of a script about a file, largest saving first, then largest share."""
    trace = xsp.open(path)
    tree = trace.tree()
    # n: the paper's fourth listing names it after its loop, which may not have run
    names = {"__name__": "__xsp_findings__", "__file__": str(script), "xsp": xsp, "trace": trace, "call_tree": tree, "n": None}
    names.update({name: getattr(xsp, name) for name in ("bfs", "topk", "flag_issue", "flag_hotspot", "hotspot_analysis")})
    trees = [tree]
    make_tree = trace.tree
    trace.tree = lambda run=None: trees.append(made := make_tree(run)) or made
    exec(compile(pathlib.Path(script).read_bytes(), str(script), "exec"), names)
    if callable(names.get("analyze")):
        names["analyze"](trace)
    findings = [finding for of in trees for finding in of.findings]
    for finding in findings:
        finding["id"] = finding["id"] or pathlib.Path(script).stem
    _add_spans(trace, findings)
    return sorted(findings, key=lambda finding: (finding["saving_ms"] is None, -(finding["saving_ms"] or 0),
                                                 -(finding["share_pct"] or 0)))


def main(arguments):
    if len(arguments) != 2:
        print("usage: python3 -m xsp.findings SCRIPT.py FILE.xsp", file=sys.stderr)
        return 2
    stdout = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)  # what the script prints
    try:
        findings = _plain(run_script(*arguments))
    except SystemExit as end:
        print(f"{arguments[0]}: the script ended the program, with status {end.code}", file=sys.stderr)
        return 1
    except Exception:
        traceback.print_exc()
        return 1
    with stdout:
        json.dump(findings, stdout, ensure_ascii=False, allow_nan=False)
        stdout.write("\n")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
