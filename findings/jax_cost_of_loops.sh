#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# JAX 0.10.2, CPU: cost_analysis of a compiled function is expected to count what a call computes. The body of a loop
# counts once, also where the number of turns is a constant of the program (scan, fori_loop): a hundred products have
# the flops of one, written out those of a hundred.
set -eu
trap 'exit 1' HUP INT TERM
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/python3" -m pip install -q --disable-pip-version-check jax==0.10.2 jaxlib==0.10.2 numpy==2.4.6
JAX_PLATFORMS=cpu "$folder/venv/bin/python3" - <<'EOF'
import sys
import jax, jax.numpy as jnp

TURNS, SIZE = 100, 64
matrix = jnp.ones((SIZE, SIZE))


def once(state):
    return state @ matrix


def scanned(state):
    return jax.lax.scan(lambda carry, _: (once(carry), None), state, None, length=TURNS)[0]


def looped(state):
    return jax.lax.fori_loop(0, TURNS, lambda _, carry: once(carry), state)


def written_out(state):
    for _ in range(TURNS):
        state = once(state)
    return state


flops = {function.__name__: jax.jit(function).lower(matrix).compile().cost_analysis()["flops"]
         for function in (once, scanned, looped, written_out)}
product = 2 * SIZE**3
print("jax", jax.__version__)
print(f"expected: {TURNS} products of {product} flops each in all but the first: {TURNS * product}")
print(f"seen:     {flops}")
sys.exit(not (flops["once"] == product and flops["written_out"] == TURNS * product
              and all(product <= flops[name] < 1.01 * product for name in ("scanned", "looped"))))
EOF
