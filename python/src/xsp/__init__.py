# SPDX-License-Identifier: Apache-2.0
"""Record spans from Python: docs/python.md."""
from .recording import span, tag, trace

__all__ = ["span", "tag", "trace"]
