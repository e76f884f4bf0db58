#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# JAX 0.10.2, CPU: flops of a convolution are expected to be 2 x outputs x filter x input channels, as other counters
# have them. XLA leaves out the products with padding: 8 % less for 16 x 16 pixels with "SAME" padding, and
# three quarters less for a convolution that spreads its input (lhs_dilation 2), whose zeros it leaves out, too.
set -eu
trap 'exit 1' HUP INT TERM
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/python3" -m pip install -q --disable-pip-version-check jax==0.10.2 jaxlib==0.10.2 numpy==2.4.6
JAX_PLATFORMS=cpu "$folder/venv/bin/python3" - <<'EOF'
import sys
import jax, jax.numpy as jnp

HEIGHT, WIDTH, CHANNELS, FILTERS = 16, 16, 8, 32
picture = jax.ShapeDtypeStruct((1, CHANNELS, HEIGHT, WIDTH), jnp.float32)
filters = jax.ShapeDtypeStruct((FILTERS, CHANNELS, 3, 3), jnp.float32)


def flops(**options):
    """Returns the flops that JAX counts, and two for each product of the filter with each place of the output."""
    function = jax.jit(lambda picture, filters: jax.lax.conv_general_dilated(picture, filters, (1, 1), **options))
    lowered = function.lower(picture, filters)
    _, _, height, width = lowered.out_info.shape
    return lowered.compile().cost_analysis()["flops"], 2 * height * width * FILTERS * CHANNELS * 9


none, same = flops(padding="VALID"), flops(padding="SAME")
spread = flops(padding=((0, 0), (0, 0)), lhs_dilation=(2, 2))
print("jax", jax.__version__)
print(f"expected: {none[1]} without padding, {same[1]} with, {spread[1]} with a spread input")
print(f"seen:     {none[0]:.0f}, {same[0]:.0f}, {spread[0]:.0f}")
sys.exit(not (none[0] == none[1] and same[0] < 0.95 * same[1] and spread[0] < 0.3 * spread[1]))
EOF
