# SPDX-License-Identifier: Apache-2.0
"""libxsp_read by ctypes: finds it, declares its functions, turns its tables into arrays."""
import ctypes
import os
import pathlib
import shutil

VERSION = 1  # of the interface, XSP_READ_VERSION: the least that this package needs
NULL, INTEGER, REAL, TEXT, BLOB, MIXED = range(6)


class Error(Exception):
    """What libxsp_read reported, in one line; `status` is its number (docs/python.md)."""

    def __init__(self, message, status=2):
        super().__init__(message)
        self.status = status


class Column(ctypes.Structure):
    _fields_ = [("size", ctypes.c_uint32), ("type", ctypes.c_uint32), ("name", ctypes.c_char_p),
                ("values", ctypes.c_void_p), ("types", ctypes.c_void_p), ("null_count", ctypes.c_uint64)]


def in_prefix(prefix):
    """The wheel's folder, and those of `make install` and Debian's package."""
    return [prefix / "libexec" / "xsp", prefix / "lib", prefix / "lib" / "xsp"]


def candidates(name, variable):
    """Where a library of xsp may be: named by the user, in the package or its prefix, next to what xsp loaded into this process or
    to the program in PATH, in the checkout."""
    if variable in os.environ:
        return [pathlib.Path(os.environ[variable])]
    here = pathlib.Path(__file__).resolve().parent
    program = shutil.which("xsp")
    folders = [here]
    for prefix in list(here.parents)[:4:3]:  # of `pip install --target`; else it has lib/python3.N/site-packages/xsp
        folders += in_prefix(prefix)
    for loaded in os.environ.get("LD_PRELOAD", "").split(":"):
        if os.path.basename(loaded).startswith("libxsp.so"):
            folders += [pathlib.Path(loaded).parent, pathlib.Path(loaded).parent / "xsp"]
    if program:
        folder = pathlib.Path(program).resolve().parent
        folders += [*in_prefix(folder.parent), folder]
    folders += [parent / "build" for parent in here.parents if (parent / "ARCHITECTURE.md").exists()]
    return [folder / name for folder in folders if (folder / name).exists()]


def load():
    paths = candidates("libxsp_read.so", "XSP_LIBRARY_READ")
    if not paths:
        raise Error("libxsp_read.so was not found; try: install xsp, with its bin/ in PATH, or set XSP_LIBRARY_READ", 4)
    try:
        library = ctypes.CDLL(str(paths[0]))
        version = library.xsp_read_version()
    except (OSError, AttributeError) as why:
        raise Error(f"cannot load {paths[0]}: {why}", 4) from why
    if version < VERSION:
        raise Error(f"{paths[0]} is too old: its interface is version {version}, this package needs {VERSION}", 4)
    pointer, text, out = ctypes.c_void_p, ctypes.c_char_p, ctypes.POINTER(ctypes.c_void_p)
    for name, result, arguments in [
            ("error", text, []), ("open", ctypes.c_int, [text, out]), ("close", None, [pointer]),
            ("row_count", ctypes.c_size_t, [pointer]), ("column_count", ctypes.c_size_t, [pointer]),
            ("table_column", ctypes.c_int, [pointer, ctypes.c_size_t, ctypes.POINTER(Column)]),
            ("texts", ctypes.c_size_t, [pointer, out, out]), ("free_table", None, [pointer]),
            ("query", ctypes.c_int, [pointer, text, out]), ("tree", ctypes.c_int, [pointer, ctypes.c_int64, out]),
            ("analysis", ctypes.c_int, [pointer, text, ctypes.POINTER(text), out]), ("free_text", None, [pointer])]:
        function = getattr(library, "xsp_read_" + name)
        function.restype, function.argtypes = result, arguments
    return library


_library = None


def library():
    global _library
    if _library is None:
        _library = load()
    return _library


def c_text(data):
    """The bytes of a text for a library, which would read it up to a zero byte."""
    if 0 in data:
        raise ValueError(f"{data.decode('utf-8', 'replace')!r} has a zero byte; try: remove it")
    return data


def call(function, *arguments):
    """Calls xsp_read_NAME with a place for its result, which is returned. Raises what it reports."""
    result = ctypes.c_void_p()
    status = getattr(library(), "xsp_read_" + function)(*arguments, ctypes.byref(result))
    if status == 5:
        raise MemoryError(library().xsp_read_error().decode() or "out of memory")
    if status != 0:
        raise Error(library().xsp_read_error().decode("utf-8", "replace"), status)
    return result.value


def free_table(pointer):
    library().xsp_read_free_table(pointer)
