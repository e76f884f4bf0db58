# SPDX-License-Identifier: Apache-2.0
"""An open .xsp file."""
import collections
import ctypes
import json
import os
import threading
import weakref

from . import _library
from .table import Table
from .tree import Tree

SPAN_COLUMNS = ("run_id span_id trace_id parent_id model_id layer_id level kind category tracer track_id name start_ns end_ns "
                "duration_ns self_ns correlation_id basis depth is_open observation recorded_parent_id forward_id context_id")
Span = collections.namedtuple("Span", SPAN_COLUMNS)
NAMES = {"level": ("application", "model", "layer", "library", "kernel"), "kind": ("sync", "launch", "execution")}


def _run_id(run):
    number = int(run)
    if not -1 << 63 <= number < 1 << 63:
        raise ValueError(f"run {number} has more than 64 bits; try: a run_id of trace.runs")
    return number


def _name(column, value):
    """The name of a level or kind as SQL has it."""
    if value not in NAMES[column]:
        raise ValueError(f"{column} must be one of {', '.join(NAMES[column])}, or None for all, not {value!r}")
    return f"'{value}'"


class Spans:
    """Spans of a trace, loaded where they are asked for: iterate for one `Span` after the other, or take columns at once."""

    PART_ROWS = 65536

    def __init__(self, trace, where):
        self._trace, self._where = trace, where

    def table(self, columns=None):
        if isinstance(columns, str):
            raise TypeError(f"columns must be a list of names, not a text; try: [{columns!r}]")
        names = ", ".join(columns or Span._fields)
        return self._trace.sql(f"select {names} from span where {self._where}")

    def __len__(self):
        return self._trace.sql(f"select count(*) as count from span where {self._where}")["count"][0]

    def __iter__(self):
        """By run and id, part by part: memory does not grow with the file."""
        for run in self._trace.runs:
            last = 0
            while True:
                rows = list(self._trace.sql(
                    f"select {', '.join(Span._fields)} from span where run_id = {run.run_id} and span_id > {last} "
                    f"and {self._where} order by span_id limit {self.PART_ROWS}").rows(Span))
                yield from rows
                if len(rows) < self.PART_ROWS:
                    break
                last = rows[-1].span_id

    def to_pandas(self, columns=None):
        return self.table(columns).to_pandas()

    def to_arrow(self, columns=None):
        return self.table(columns).to_arrow()


class Trace:
    """One file. Threads may share it: its calls wait for each other."""

    def __init__(self, path):
        self.path = os.fspath(path)
        self._lock = threading.RLock()
        self._pointer = _library.call("open", _library.c_text(os.fsencode(self.path)))
        self._close = weakref.finalize(self, _library.library().xsp_read_close, self._pointer)

    def close(self):
        """Tables stay valid. Without it the file is closed with its last reference."""
        with self._lock:
            self._pointer = None
            self._close()

    def __enter__(self):
        return self

    def __exit__(self, *reason):
        self.close()

    def __repr__(self):
        return f"xsp.open({self.path!r})"

    def _call(self, function, *arguments):
        with self._lock:
            if self._pointer is None:
                raise _library.Error(f"{self.path}: the file is closed")
            return _library.call(function, self._pointer, *arguments)

    def sql(self, text):
        """The rows of one statement that reads, as a Table."""
        return Table(self._call("query", _library.c_text(text.encode())))

    def analyze(self, name, **options):
        """The answer of `xsp analyze NAME --json`. Options as there, with _ in place of -; True: without a value. "No answer" is an
        Error with status 1."""
        words = []
        for key, value in options.items():
            if value is not None and value is not False:
                items = map(str, value if isinstance(value, (list, tuple)) else [value])
                words += [key.replace("_", "-"), "" if value is True else ",".join(items)]
        texts = (ctypes.c_char_p * (len(words) + 1))(*[_library.c_text(word.encode()) for word in words], None)
        pointer = self._call("analysis", _library.c_text(name.encode()), texts)
        try:
            return json.loads(ctypes.string_at(pointer))
        finally:
            _library.library().xsp_read_free_text(pointer)

    @property
    def runs(self):
        return list(self.sql("select * from run order by run_id"))

    @property
    def experiments(self):
        return list(self.sql("select * from experiment order by experiment_id"))

    @property
    def contexts(self):
        """Call paths with their frames, callers first, as a Table."""
        return self.sql("select context_id, parent_id, kind, name, file, line, module, address from context "
                        "join frame using (frame_id) order by context_id")

    def spans(self, run=None, level=None, kind=None):
        where = [] if run is None else [f"run_id = {_run_id(run)}"]
        where += [f"{column} = {_name(column, value)}" for column, value in (("level", level), ("kind", kind)) if value is not None]
        return Spans(self, " and ".join(where) or "1")

    def tree(self, run=None):
        """The calling context tree of a run; without one, of the run with most levels (the first of them)."""
        if run is None:
            run = self._deepest_run()
        run = _run_id(run)
        return Tree(self, run, Table(self._call("tree", run)))

    def _deepest_run(self):
        runs = list(self.sql("select run_id, levels from run where typeof(run_id) = 'integer' and typeof(levels) = 'text' "
                             "order by run_id"))
        if not runs:
            raise _library.Error(f"{self.path}: it has no runs", 1)
        plain = [run for run in runs if "@" not in run.levels and "+" not in run.levels] or runs
        return max(plain, key=lambda run: run.levels.count("/")).run_id  # the first of them


def open(path):
    """Opens an .xsp file. Raises Error where it is not one, or broken."""
    return Trace(path)
