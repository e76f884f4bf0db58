#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# JAX 0.10.2, CPU: events of a profile name their module and its program_id, and the plane "/host:metadata" describes
# modules as "NAME(PROGRAM_ID)": the two are expected to fit. Where a module came from the persistent compilation cache,
# its events have the number that it had in the process which compiled it, and its description another one.
set -eu
trap 'exit 1' HUP INT TERM
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/python3" -m pip install -q --disable-pip-version-check jax==0.10.2 jaxlib==0.10.2 numpy==2.4.6
cat >"$folder/program.py" <<'EOF'
import pathlib
import re
import sys
import jax, jax.numpy as jnp
from jax.profiler import ProfileData

folder = pathlib.Path(sys.argv[1])
jax.config.update("jax_compilation_cache_dir", str(folder / "cache"))
jax.config.update("jax_persistent_cache_min_compile_time_secs", 0)
jax.config.update("jax_persistent_cache_min_entry_size_bytes", -1)


@jax.jit
def chosen_name(x):
    return jnp.tanh(x @ x).sum()


jax.profiler.start_trace(folder / sys.argv[2])
for _ in range(3):
    chosen_name(jnp.ones((256, 256))).block_until_ready()
jax.profiler.stop_trace()
[path] = (folder / sys.argv[2]).rglob("*.xplane.pb")
stats = [dict(event.stats) for plane in ProfileData.from_file(str(path)).planes for line in plane.lines for event in line.events]
run = {each["program_id"] for each in stats if each.get("hlo_module") == "jit_chosen_name" and "program_id" in each}
described = set(map(int, re.findall(rb"jit_chosen_name\((\d+)\)", path.read_bytes())))
print(jax.__version__, "as described" if run == described else "otherwise" if len(run) == len(described) == 1 else "unclear")
EOF
export JAX_PLATFORMS=cpu
first=$("$folder/venv/bin/python3" "$folder/program.py" "$folder" first)
second=$("$folder/venv/bin/python3" "$folder/program.py" "$folder" second)
echo "expected: the events' program_id is as described, both times"
echo "seen:     $first; from the cache: $second"
[ "$first" = "0.10.2 as described" ] && [ "$second" = "0.10.2 otherwise" ]
