# SPDX-License-Identifier: Apache-2.0
"""Records spans of this process where xsp runs it (`xsp run -- python3 …`, or XSP_SESSION); elsewhere does nothing."""
import functools
import importlib.machinery
import importlib.util
import inspect
import sys
import sysconfig

from ._library import candidates


class _Nothing:
    """A span where nothing can be recorded."""

    __slots__ = ()

    def __enter__(self):
        return self

    def __exit__(self, *reason):
        return None

    def tag(self, key, value):
        """As of a span that is recorded."""


def _load():
    """The recorder, or None: it is not installed, or not for this interpreter."""
    if sys.implementation.name != "cpython" or sysconfig.get_config_var("Py_GIL_DISABLED") or hasattr(sys, "getobjects"):
        return None
    for path in candidates("xsp_python.so", "XSP_LIBRARY_PYTHON"):
        try:
            loader = importlib.machinery.ExtensionFileLoader("xsp_python", str(path))
            module = importlib.util.module_from_spec(importlib.util.spec_from_loader("xsp_python", loader))
            loader.exec_module(module)
            return module
        except ImportError:
            continue
    return None


_NOTHING = _Nothing()
_recorder = _load()
if _recorder is not None:
    span, tag, _site, _span_of = _recorder.span, _recorder.tag, _recorder.site, _recorder.span_of
    traceparent, set_traceparent = _recorder.traceparent, _recorder.set_traceparent
else:
    def span(name, level=None, category=None):
        """A context manager that makes its block a span."""
        return _NOTHING

    def tag(key, value):
        """Tags the innermost span of this thread: the last that began and has not ended, maybe another coroutine's. In coroutines
        use the span's own `tag`."""

    def traceparent():
        """The W3C header that makes another service's spans children of this thread's innermost span (see `tag`); None: not
        recorded."""

    def set_traceparent(header):
        """Makes the caller's span that the W3C header names the parent of this thread's innermost span (see `tag`)."""

    _site, _span_of = span, lambda site: site


def _asynchronous_generator(function, site):
    """Hands on what is sent and thrown, as `yield from` does for generators."""
    async def wrapper(*values, **named):
        with _span_of(site):
            generator = function(*values, **named)
            try:
                value = await generator.asend(None)
                while True:
                    try:
                        sent = yield value
                    except GeneratorExit:
                        await generator.aclose()
                        raise
                    except BaseException as thrown:
                        value = await generator.athrow(thrown)
                    else:
                        value = await generator.asend(sent)
            except StopAsyncIteration:
                pass
    return wrapper


def trace(function=None, *, name=None, level=None, category=None):
    """Makes each call of a function a span, by default of the function's name: @xsp.trace, or @xsp.trace(level="model"). A
    generator's span lasts until it ends, a coroutine's and an asynchronous generator's too."""
    if function is None:
        return functools.partial(trace, name=name, level=level, category=category)
    name = name or function.__qualname__.rpartition("<locals>.")[2]
    site = _site(name, level, category)
    if inspect.iscoroutinefunction(function):
        async def wrapper(*values, **named):
            with _span_of(site):
                return await function(*values, **named)
    elif inspect.isasyncgenfunction(function):
        wrapper = _asynchronous_generator(function, site)
    elif inspect.isgeneratorfunction(function):
        def wrapper(*values, **named):
            with _span_of(site):
                return (yield from function(*values, **named))
    else:
        def wrapper(*values, **named):
            with _span_of(site):
                return function(*values, **named)
    return functools.wraps(function)(wrapper)
