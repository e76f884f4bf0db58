# SPDX-License-Identifier: Apache-2.0
"""The Pythons of this machine, for tests that run in each."""
import glob
import os
import subprocess
import sys

VERSIONS = ["3.10", "3.11", "3.12", "3.13", "3.14", "3.15"]


ASK = ("import sys, sysconfig; print('%d.%d' % sys.version_info[:2], sys.implementation.name, "
       "sysconfig.get_config_var('Py_GIL_DISABLED') or 0, int('libpython' in open('/proc/self/maps').read()))")


def interpreters():
    """{version: path}: one of each version that loads libpython, and one, "VERSION-static", that holds it."""
    found = {}
    for path in [sys.executable, *glob.glob(os.path.expanduser("~/.pyenv/versions/*/bin/python3")),
                 *(f"/usr/bin/python{version}" for version in VERSIONS)]:
        if os.access(path, os.X_OK):
            version, *rest = subprocess.run([path, "-I", "-c", ASK], capture_output=True, text=True).stdout.split() or [""]
            if version in VERSIONS and rest[:2] == ["cpython", "0"]:
                found.setdefault(version + ("" if rest[2] == "1" else "-static"), path)
    return found
