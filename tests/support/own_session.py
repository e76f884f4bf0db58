# SPDX-License-Identifier: Apache-2.0
"""A program in a session of its own, without `xsp run`: its environment brings the tracer."""
import os
import pathlib
import subprocess

BUILD = pathlib.Path(os.environ["XSP_BUILD"]).resolve()
TIMEOUT_S = 600


def record(command, session, out, environment, preload=True):
    """Runs it, and writes what it recorded to `out`: its outcome, and what `xsp recover` said. Sanitized, nothing is preloaded:
    the sanitizer's runtime has to come first, and the tracer brings libxsp.so itself."""
    variables = {**environment, "XSP_SESSION": str(session)}
    if preload and not os.environ.get("XSP_SANITIZE"):
        variables["LD_PRELOAD"] = str(BUILD / "libxsp.so")
    done = subprocess.run([str(part) for part in command], env=variables, stdin=subprocess.DEVNULL, capture_output=True, text=True,
                          timeout=TIMEOUT_S)
    recovered = subprocess.run([BUILD / "xsp", "recover", session, "-o", out, "--force"], capture_output=True, text=True,
                               timeout=TIMEOUT_S)
    if recovered.returncode != 0:
        raise AssertionError(f"{command}: xsp recover: {recovered.stderr}{done.stderr}")
    return done, recovered.stderr
