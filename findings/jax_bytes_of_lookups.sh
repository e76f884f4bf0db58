#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# JAX 0.10.2, CPU: "bytes accessed" of cost_analysis is expected to be what a lookup of 16 rows in a table reads and
# writes, about 8 KB, as it is before compilation (lower). After it (compile) the lookup is within a fusion, and the
# whole table counts as read: 25.6 MB, so that its arithmetic intensity is 3,000 times too low.
set -eu
trap 'exit 1' HUP INT TERM
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/python3" -m pip install -q --disable-pip-version-check jax==0.10.2 jaxlib==0.10.2 numpy==2.4.6
JAX_PLATFORMS=cpu "$folder/venv/bin/python3" - <<'EOF'
import sys
import jax, jax.numpy as jnp

ROWS, WIDTH, PICKED = 100_000, 64, 16
table = jax.ShapeDtypeStruct((ROWS, WIDTH), jnp.float32)
indices = jax.ShapeDtypeStruct((PICKED,), jnp.int32)
lowered = jax.jit(lambda table, indices: table[indices]).lower(table, indices)
before, after = (stage.cost_analysis()["bytes accessed"] for stage in (lowered, lowered.compile()))
moved = 2 * PICKED * WIDTH * 4  # each row is read and written
print("jax", jax.__version__)
print(f"expected: about {moved} bytes, before and after compilation")
print(f"seen:     {before:.0f} before, {after:.0f} after; the table has {ROWS * WIDTH * 4}")
sys.exit(not (moved <= before < 2 * moved and after > ROWS * WIDTH * 4))
EOF
