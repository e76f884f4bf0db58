# SPDX-License-Identifier: Apache-2.0
"""Read traces of xsp, and record spans from Python: docs/python.md."""
from ._library import Error
from .evaluation import evaluate
from .file import Span, Trace, open
from .flags import flag_hotspot, flag_issue
from .recording import set_traceparent, span, tag, trace, traceparent
from .table import Table
from .tree import UNKNOWN, Node, Time, Tree, bfs, hotspot_analysis, topk

__all__ = ["Error", "Node", "Span", "Table", "Time", "Trace", "Tree", "UNKNOWN", "bfs", "evaluate", "flag_hotspot", "flag_issue",
           "hotspot_analysis", "open", "set_traceparent", "span", "tag", "topk", "trace", "traceparent"]
