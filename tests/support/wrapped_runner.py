# SPDX-License-Identifier: Apache-2.0
"""An xsp whose runners first do what a test wants: note their arguments, send xsp a signal, die."""
import os
import pathlib
import shutil

BUILD = pathlib.Path(os.environ["XSP_BUILD"])


def xsp_with_runner(folder, commands):
    """Returns a copy of xsp in FOLDER/bin. Its xsp-runner is a shell script: these commands, then the real runner."""
    programs = pathlib.Path(folder) / "bin"
    programs.mkdir()
    shutil.copy(BUILD / "xsp", programs)
    for part in ("tracers", "libxsp.so.0"):
        (programs / part).symlink_to(BUILD / part)
    runner = programs / "xsp-runner"
    runner.write_text(f'#!/bin/sh\n{commands}\nexec {BUILD}/xsp-runner "$@"\n')
    runner.chmod(0o755)
    return programs / "xsp"
