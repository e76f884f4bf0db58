# SPDX-License-Identifier: Apache-2.0
"""The environments of the long tests of JAX, and their programs."""
import os
import subprocess

from framework_environment import framework_python

WAIT_S = 600


def jax_python():
    return framework_python("jax-0.10.2", "jax==0.10.2", "jaxlib==0.10.2", "numpy==2.4.6", "flatbuffers==25.12.19",
                            "flax==0.12.8", "optax==0.2.8")


def run_jax(*command, status=0, **options):
    """On CPUs, without what is preloaded into this process."""
    environment = {name: value for name, value in os.environ.items() if name not in ("LD_PRELOAD", "PYTHONPATH")}
    done = subprocess.run([str(part) for part in command], capture_output=True, text=True, timeout=WAIT_S,
                          env={**environment, "JAX_PLATFORMS": "cpu"}, stdin=subprocess.DEVNULL, **options)
    if done.returncode != status:
        raise AssertionError(done.stderr)
    return done
