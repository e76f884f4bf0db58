# SPDX-License-Identifier: Apache-2.0
"""tests/run.py tests/findings/measure.py [NAME…]: the table of docs/findings.md: what mending the program of each pair gains."""
import sys

import torch_environment
from finding_pairs import DEVICE_PAIRS, PAIRS, device_command, device_environment, gain, torch_command


def main():
    for name in sys.argv[1:] or [*PAIRS, *DEVICE_PAIRS]:
        found = gain(torch_command(torch_environment.torch_python(), name)) if name in PAIRS else gain(
            device_command(name), **device_environment())
        print(f"| `{name}` | {(PAIRS | DEVICE_PAIRS)[name]} | {found.bad_ms:.3g} | {found.mended_ms:.3g} | "
              f"{found.bad_ms / found.mended_ms:.1f} × | {found.pct:.0f} % ({found.low_pct:.0f} to {found.high_pct:.0f}) |",
              flush=True)


if __name__ == "__main__":
    main()
