# SPDX-License-Identifier: Apache-2.0
"""The same spans in a file and in a database: every analysis must give the same answer. Used by the tests of this folder."""
import json
import math
import os
import pathlib
import subprocess

XSP = pathlib.Path(os.environ["XSP_BUILD"]) / "xsp"
# Of kernels that were added up it is not known which one lacks in an observation.
UNKNOWN_NOTES = ("kernels are not in every observation", "imported")


def run(*arguments):
    done = subprocess.run([XSP, *map(str, arguments)], capture_output=True, timeout=600, text=True, errors="replace")
    return done.returncode, done.stdout, done.stderr


def is_same(left, right):
    if isinstance(left, (int, float)) and isinstance(right, (int, float)) and not isinstance(left, bool):
        return math.isclose(left, right, rel_tol=1e-9, abs_tol=1e-12)
    return left == right


def differences(left, right, where=""):
    """[(where, left, right)]"""
    if isinstance(left, dict) and isinstance(right, dict):
        return [found for key in {**left, **right}
                for found in differences(left.get(key), right.get(key), f"{where}.{key}")]
    if isinstance(left, list) and isinstance(right, list) and len(left) == len(right):
        return [found for at, pair in enumerate(zip(left, right)) for found in differences(*pair, f"{where}[{at}]")]
    return [] if is_same(left, right) else [(where, left, right)]


def without_unknown(answer):
    for table in answer if isinstance(answer, list) else [answer]:
        table["notes"] = [note for note in table.get("notes", []) if not any(text in note for text in UNKNOWN_NOTES)]
    return answer


def compare(path, address, *arguments):
    """What differs between the answers of the file and of the database: a list, empty where they are equal."""
    status, out, stderr = run("analyze", arguments[0], path, "--json", *arguments[1:])
    other, other_out, other_stderr = run("analyze", arguments[0], address, "--json", *arguments[1:])
    if status != other:
        return [("status", (status, stderr), (other, other_stderr))]
    if status != 0:
        return []
    return differences(without_unknown(json.loads(out)), without_unknown(json.loads(other_out)))
