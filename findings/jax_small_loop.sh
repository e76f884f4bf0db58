#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# JAX 0.10.2, CPU: in a trace of jax.profiler one expects the same operations for the same program, whatever its
# shapes. A loop over large arrays is an event "while.N" with an event for each operation of each turn. Over small
# arrays XLA compiles the whole loop into one function, so a single event "call" is left, without turns and
# operations.
set -eu
trap 'exit 1' HUP INT TERM
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/python3" -m pip install -q --disable-pip-version-check jax==0.10.2 jaxlib==0.10.2 numpy==2.4.6
JAX_PLATFORMS=cpu "$folder/venv/bin/python3" - "$folder" <<'EOF'
import collections, glob, gzip, json, sys
import jax, jax.numpy as jnp

TURNS = 10


def operations(size):
    """Returns how often each HLO operation is in the trace of a loop over arrays of size times size."""
    loop = jax.jit(lambda start: jax.lax.fori_loop(0, TURNS, lambda _, state: jnp.sin(state @ state), start))
    start = jnp.ones((size, size))
    loop(start).block_until_ready()  # compiles
    folder = f"{sys.argv[1]}/{size}"
    with jax.profiler.trace(folder):
        loop(start).block_until_ready()
    (path,) = glob.glob(f"{folder}/plugins/profile/*/*.trace.json.gz")
    with gzip.open(path) as file:
        events = json.load(file)["traceEvents"]
    return collections.Counter(event["args"]["hlo_op"] for event in events if "hlo_op" in event.get("args", {}))


def loops(counts):
    return sum(count for name, count in counts.items() if name.startswith("while"))


small, large = operations(4), operations(256)
print("jax", jax.__version__)
print(f"expected: one loop and operations that occur {TURNS} times, for both sizes")
print(f"seen:     4 x 4: {dict(small)}")
print(f"          256 x 256: {dict(large)}")
sys.exit(not (loops(large) == 1 and TURNS in large.values() and loops(small) == 0 and small["call"] == 1
              and max(small.values()) < TURNS))
EOF
