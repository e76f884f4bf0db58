# SPDX-License-Identifier: Apache-2.0
"""Evaluates models by libxsp_evaluate: what `xsp evaluate` does, by a function."""
import ctypes
import json

from ._library import Error, c_text, candidates


def load():
    paths = candidates("libxsp_evaluate.so", "XSP_LIBRARY_EVALUATE")
    if not paths:
        raise Error("libxsp_evaluate.so was not found; try: install xsp, with its bin/ in PATH, or set XSP_LIBRARY_EVALUATE", 4)
    try:
        library = ctypes.CDLL(str(paths[0]))
    except OSError as why:
        raise Error(f"cannot load {paths[0]}: {why}", 4) from why
    library.xsp_evaluate.argtypes = [ctypes.POINTER(ctypes.c_char_p), ctypes.POINTER(ctypes.c_void_p)]
    library.xsp_evaluate_error.restype = ctypes.c_char_p
    library.xsp_evaluate_free.argtypes = [ctypes.c_void_p]
    return library


def words(options):
    """limit=8, keep_outputs=True, scenario=["server", "offline"] as on the command line."""
    for name, value in options.items():
        option = "--" + name.replace("_", "-")
        for one in value if isinstance(value, (list, tuple)) else [value]:
            yield from [] if one is None or one is False else [option] if one is True else [option, str(one)]


def evaluate(*manifests, **options):
    """The tables of `xsp evaluate MANIFEST... --OPTION VALUE...`, each a dict with its rows. Blocks until the evaluation is done; other
    threads run on. Raises Error."""
    texts = [c_text(text.encode()) for text in (*map(str, manifests), *words(options))]
    library, result = load(), ctypes.c_void_p()
    status = library.xsp_evaluate((ctypes.c_char_p * (len(texts) + 1))(*texts, None), ctypes.byref(result))
    if status == 5:
        raise MemoryError(library.xsp_evaluate_error().decode("utf-8", "replace"))
    if status != 0:
        raise Error(library.xsp_evaluate_error().decode("utf-8", "replace"), status)
    try:
        tables = json.loads(ctypes.string_at(result.value))
    finally:
        library.xsp_evaluate_free(result)
    return tables if isinstance(tables, list) else [tables]
