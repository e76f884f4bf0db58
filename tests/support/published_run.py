# SPDX-License-Identifier: Apache-2.0
"""A program that xsp run publishes to a server, and that goes on until there is something to read on its standard input."""
import os
import subprocess

import package_case
from scripted import TIMEOUT_S, XSP


class PublishedRun:
    """For test cases; `program` is the program's text in Python."""
    program = None

    def place_runs(self, folder):
        self.output = folder / "run.xsp"
        self.environment = {**package_case.ENVIRONMENT, "XDG_STATE_HOME": str(folder / "state"), "NO_PROXY": "*", "no_proxy": "*"}

    def start(self, url, *options, command=None, environment=None):
        process = subprocess.Popen([XSP, "run", "-q", "-o", self.output, "--publish", url, *options, "--",
                                    *(command or (os.environ["XSP_PYTHON"], "-c", self.program))],
                                   env={**self.environment, **(environment or {})}, stdin=subprocess.PIPE, stdout=subprocess.DEVNULL,
                                   stderr=subprocess.PIPE)
        self.addCleanup(process.kill)
        return process

    def ended(self, process):
        errors = process.communicate(b"\n", timeout=TIMEOUT_S)[1].decode()
        self.assertEqual(process.returncode, 0, errors)
        return errors
