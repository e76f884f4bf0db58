# SPDX-License-Identifier: Apache-2.0
"""frames_program.py PROBE SCENARIO: run by test_frames.py under each interpreter. Compares paths that frames_probe.c finds
with the interpreter's own view of the stack; an assertion that fails ends it with status 1."""
import ctypes
import functools
import gc
import re
import sys
import threading
import traceback
import types

released = ctypes.CDLL(sys.argv[1])  # calls release the GIL
held = ctypes.PyDLL(sys.argv[1])  # calls hold it
MOST = 128
checks = 0


def setup(interpreter=None):
    why = ctypes.create_string_buffer(256)
    return held.probe_setup(ctypes.c_void_p(interpreter), why, ctypes.c_size_t(256)) & 255, why.value.decode()


def frames_of(path):
    """(name, file, line) of each frame of the path, outermost first."""
    frames = []
    while path:
        name, file, line = ctypes.c_char_p(), ctypes.c_char_p(), ctypes.c_uint32()
        path = held.probe_frame(path, ctypes.byref(name), ctypes.byref(file), ctypes.byref(line))
        frames.append((name.value.decode(), file.value.decode(), line.value))
    return frames[::-1]


def qualified(frame):
    """Names as the paths have them, by the interpreter's own frame objects."""
    names = []
    while frame:
        names.append(getattr(frame.f_code, "co_qualname", frame.f_code.co_name))
        frame = frame.f_back
    return names[::-1]


def same(found, stack, names):
    expected = [(name, re.sub("[\ud800-\udfff]", "\ufffd", entry.filename), entry.lineno)
                for name, entry in zip(names, stack)]
    assert found == expected, f"\nfound    {found}\nexpected {expected}"
    assert all(name.split(".")[-1] == entry.name for (name, _, _), entry in zip(found, stack)), (found, stack)


def check(*_):
    global checks
    checks += 1
    frame = sys._getframe()
    path, stack = held.probe_path(), traceback.extract_stack()
    same(frames_of(path), stack, qualified(frame))
    path, stack = released.probe_path(), traceback.extract_stack()
    same(frames_of(path), stack, qualified(frame))
    asked = held.probe_asked()
    for _ in range(3):
        path = held.probe_path()
    again = held.probe_asked() - asked  # of one line twice: at most the line itself is new
    if threading.current_thread() is threading.main_thread():  # else code that dies elsewhere may share a generation
        assert again <= 1, again
    return 0


# ---- scenarios
class Example:
    def method(self):
        return check()

    @classmethod
    def of_class(cls):
        return check()

    @staticmethod
    def static():
        return check()

    @property
    def property(self):
        return check()

    def __call__(self):
        return check()

    def __lt__(self, other):
        check()
        return True

    class Inner:
        def deep(self):
            def local():
                return (lambda: check())()
            return local()


def functions():
    check()
    example = Example()
    example.method(), Example.of_class(), Example.static(), example.property, example(), Example.Inner().deep()
    (lambda: check())()
    [check() for _ in range(2)]
    {check() for _ in range(2)}
    {check(): 1 for _ in range(2)}
    sum(check() for _ in range(2))
    functools.partial(check)()
    with_arguments = functools.lru_cache(lambda *a, **k: check(*a))
    with_arguments(1,
                   2, key=3)


def from_c():
    """C code that calls Python code that calls C code …"""
    sorted([Example(), Example()])
    list(map(lambda _: check(), [1, 2]))
    max([1, 2], key=lambda _: sorted([1], key=check))
    ctypes.CFUNCTYPE(ctypes.c_int)(check)()
    try:
        [][check() or 1]
    except IndexError:
        check()
    finally:
        check()
    exec("check()", {"check": check})


def generators():
    def inner():
        check()
        yield 1
        check()
        yield 2

    def outer():
        yield from inner()
        yield check()
    for _ in outer():
        check()
    half = outer()
    next(half)
    del half

    async def leaf():
        check()
        return 1

    async def steps():
        for i in range(2):
            check()
            yield i

    async def coroutine():
        await leaf()
        async for _ in steps():
            check()
        return [check() async for _ in steps()]
    import asyncio
    asyncio.run(coroutine())


def recursion():
    sys.setrecursionlimit(20000)
    paths = {}

    def down(depth, at):
        if depth == 0:
            paths[at] = held.probe_path()
            return
        down(depth - 1, at)
    threading.stack_size(512 << 20)

    def run():
        for depth in 10000, 9000, 500, 20:
            down(depth, depth)
        assert held.probe_asked() < 3 * MOST, held.probe_asked()
        paths["asked"] = True
    thread = threading.Thread(target=run)
    thread.start()
    thread.join()
    assert paths[10000] == paths[9000] == paths[500] != paths[20], paths
    frames = frames_of(paths[10000])
    assert len(frames) == MOST + 1 and frames[0] == ("(more frames)", "", 0), frames[:2]
    lines = [line for _, _, line in frames[1:]]
    first = down.__code__.co_firstlineno
    assert lines == [first + 4] * (MOST - 1) + [first + 2], lines
    assert len(frames_of(paths[20])) == 25, frames_of(paths[20])  # 21 of down, run, and three of threading
    assert "asked" in paths


def without_file():
    exec("def f(check):\n\n  return check()\nf(check)", {"check": check})
    exec(compile("check()", "", "exec"), {"check": check})
    exec(compile("check()", "/ä/Ω/𐌀/" + "long" * 200, "exec"), {"check": check})
    exec(compile("check()", "/lone\udc80", "exec"), {"check": check})
    exec("def é(check): return check()\ndef Ωμέγα(check): return é(check)\ndef 𐌀(check): return Ωμέγα(check)\n"
         "class Ü:\n  ß = lambda self, check: 𐌀(check)\nÜ().ß(check)", {"check": check})
    code = check_directly.__code__
    moved = types.FunctionType(code.replace(co_filename="elsewhere.py", co_firstlineno=70000, co_name="renamed"), globals())
    names = {frame[1:] for frame in frames_of(moved())}
    assert ("elsewhere.py", 70001) in names, names
    exec("\n" * 300000 + "check()", {"check": check})


def check_directly():
    return held.probe_path()


def freed():
    """Code objects die and their addresses are used again; each path is the living code's."""
    addresses, reused = set(), 0
    for i in range(3000):
        space = {"path": held.probe_path}
        exec(compile(f"def f{i}():\n{chr(10) * (i % 50)}  return path()", f"file{i}", "exec"), space)
        function = space[f"f{i}"]
        frames = frames_of(function())
        assert frames[-1] == (f"f{i}", f"file{i}", i % 50 + 2), (i, frames[-1])
        address = id(function.__code__)
        reused += address in addresses
        addresses.add(address)
        del function, space
        gc.collect() if i % 500 == 0 else None
    assert reused > 1000, reused


def threads():
    failures = []

    def work(number):
        try:
            space = {"check": check, "down": None}
            exec(f"def down(depth):\n  return down(depth - 1) if depth else check()\n", space)
            for i in range(30):
                space["down"](i % 10)
                exec(compile("check()", f"thread{number}-{i}", "exec"), {"check": check})
        except BaseException as failure:
            failures.append(failure)
    started = [threading.Thread(target=work, args=(i,)) for i in range(4)]
    for thread in started:
        thread.start()
    for thread in started:
        thread.join()
    assert not failures, failures
    assert held.probe_foreign_thread() == 0 and released.probe_foreign_thread() == 0


def since():
    def deeper():
        return held.probe_path_since(caller)

    def twice_deeper():
        return deeper()

    def names_added(path):
        return [name.split(".")[-1] for name, _, _ in frames_of(path)[len(frames_of(caller)):]]

    def mark(then):
        held.probe_mark()
        return then()
    caller = held.probe_path()
    held.probe_mark()
    assert held.probe_path_since(caller) == caller and held.probe_path_since(0) == 0
    for _ in range(2):
        assert names_added(deeper()) == ["deeper"] and names_added(twice_deeper()) == ["twice_deeper", "deeper"]
    assert frames_of(deeper())[-1][2] == deeper.__code__.co_firstlineno + 1
    assert names_added(mark(deeper)) == ["deeper"] and names_added(mark(twice_deeper)) == ["twice_deeper", "deeper"]

    def generator():  # marked in a frame that is suspended later: no longer in the stack
        held.probe_mark()
        yield 1
    suspended = generator()
    next(suspended)
    path, stack = held.probe_path_since(caller), traceback.extract_stack()
    same(frames_of(path), stack, qualified(sys._getframe()))


def pending_error():
    """Setup keeps an exception that is pending in C. Later calls give the first one's answer."""
    try:
        held.probe_setup_in_exception()
        raise AssertionError("the exception is lost")
    except KeyError as error:
        assert error.args == ("pending",), error
    assert setup() == (1, "")
    check()


def subinterpreter():
    code = f"import sys\nsys.argv = {sys.argv!r}\nexec(open({__file__!r}).read(), {{'__name__': 'sub'}} )\n"
    code = f"import sys\nsys.argv = {sys.argv!r}\nspace = {{'__name__': 'sub'}}\n" \
           f"exec(open({__file__!r}).read(), space)\nanswer = space['setup']()\n" \
           f"assert not answer[0] and 'subinterpreter' in answer[1], answer\n"
    if sys.version_info >= (3, 13):
        import _interpreters
        failed = _interpreters.exec(_interpreters.create("legacy"), code)
        assert failed is None, failed
    else:
        import _xxsubinterpreters
        _xxsubinterpreters.run_string(_xxsubinterpreters.create(isolated=False), code)


def modules_of(path, outside=0):
    """File names of the native frames' libraries, outermost first, without those of the path `outside`."""
    found = []
    while path != outside and path:
        module, address = ctypes.c_char_p(), ctypes.c_uint64()
        path = held.probe_native(path, ctypes.byref(module), ctypes.byref(address))
        found.append((module.value.decode().split("/")[-1].split(".")[0], address.value))
    assert path == outside, path
    return found[::-1]


def symbol(name):
    """Of the probe: bytes from its beginning."""
    class Info(ctypes.Structure):
        _fields_ = [("file", ctypes.c_char_p), ("base", ctypes.c_void_p), ("name", ctypes.c_char_p), ("at", ctypes.c_void_p)]
    info, at = Info(), ctypes.cast(getattr(held, name), ctypes.c_void_p).value
    assert ctypes.CDLL(None).dladdr(ctypes.c_void_p(at), ctypes.byref(info))
    return at - info.base


def called_from_ctypes(native, function):
    """The interpreter's own functions are not there: ctypes, perhaps its libffi, then the function."""
    modules = [module for module, _ in native]
    assert modules[-1] == "frames_probe" and set(modules[:-1]) <= {"_ctypes", "libffi"}, modules
    assert symbol(function) < native[-1][1] < symbol(function) + 500, (native[-1], symbol(function))


def native():
    none, light, full = 0, 1, 2
    assert held.probe_native_setup(ctypes.cast(ctypes.pythonapi.Py_GetVersion, ctypes.c_void_p)) & 255
    found, python = [None, None], [None, None]
    for i in range(2):
        found[i], python[i] = held.probe_full(full), held.probe_path()
    assert found[0] == found[1]  # once unwound, once known
    called_from_ctypes(modules_of(found[0], python[0]), "probe_full")
    outside = modules_of(*(held.probe_outside(), held.probe_path()))
    assert outside and {module for module, _ in outside} <= {"_ctypes", "libffi"}, outside
    assert held.probe_full(none) == 0
    path, stack = held.probe_full(light), traceback.extract_stack()
    same(frames_of(path), stack, qualified(sys._getframe()))
    # An operator: what it calls in C, and what that calls in Python.
    path = held.probe_operator(None)
    nested = held.probe_nested_path()
    assert frames_of(path)[-1][0] == "operator", frames_of(path)
    inside = modules_of(nested, path)
    assert len(inside) == 1 and symbol("probe_nested") < inside[0][1] < symbol("probe_nested") + 500, inside
    for _ in range(2):
        path = held.probe_operator(ctypes.PYFUNCTYPE(ctypes.c_int)(lambda: held.probe_nested()))
        added = frames_of(held.probe_nested_path())[len(frames_of(path)):]
        assert added[0][0].split(".")[-1] == "<lambda>" and not any(name for name, _, _ in added[1:]), added
        inner = modules_of(held.probe_nested_path(), 0)[-len(added) + 1:]
        called_from_ctypes(inner, "probe_nested")
    # A thread that runs no Python: all of it.
    held.probe_foreign_thread()
    modules = [module for module, _ in modules_of(held.probe_nested_path())]
    assert modules[-2:] == ["frames_probe", "frames_probe"] and set(modules[:-2]) <= {"libc", "libtsan", "libasan"}, modules
    deep = held.probe_deep_thread()
    assert len(frames_of(deep)) == MOST + 1 and frames_of(deep)[0][0] == "(more frames)", frames_of(deep)[0]
    assert {module for module, _ in modules_of(deep)[1:]} == {"frames_probe"}


def interrupted_paths():
    """The Python frames of each path that a handler took, and the libraries of the native ones after them."""
    for which in range(held.probe_interrupted_count()):
        path = held.probe_interrupted(which)
        frames = frames_of(path)
        python = [frame for frame in frames if frame[0]]
        assert frames[:len(python)] == python, frames  # no Python inside of a native function
        yield python, modules_of(path, 0)[len(python):]


def in_handler():
    import os
    import signal
    assert held.probe_native_setup(ctypes.cast(ctypes.pythonapi.Py_GetVersion, ctypes.c_void_p)) & 255
    assert held.probe_take_signal(int(signal.SIGUSR1)) & 255
    os.kill(os.getpid(), signal.SIGUSR1); stack, names = traceback.extract_stack(), qualified(sys._getframe())
    (python, native_part), = interrupted_paths()
    same(python, stack, names)
    assert [module for module, _ in native_part] in (["libc"], []), native_part  # kill, unless it was inlined


def known_memory():
    """The memory of frames is known by the thread state, code objects by the walk before: the kernel is not asked about them. It is
    asked about a page of the stack that native frames did not reach: where pages begin differs between processes."""
    import os
    import signal
    assert held.probe_native_setup(ctypes.cast(ctypes.pythonapi.Py_GetVersion, ctypes.c_void_p)) & 255
    assert held.probe_take_signal(int(signal.SIGUSR1)) & 255
    asked = []
    for _ in range(3):
        before = held.probe_kernel_asked()
        os.kill(os.getpid(), signal.SIGUSR1)
        asked.append(held.probe_kernel_asked() - before)
    most = {10: asked[0], 11: 1, 15: 1}  # 3.10 has no blocks; the outermost frame of 3.11 and 3.15 is in the thread state
    assert asked[0] > 0 and asked[-1] <= most.get(sys.version_info.minor, 0), asked


def storm(*begin):
    """Signals at any instruction of the interpreter: each path is one that the program has."""
    import signal
    begin = [*(begin or ["<module>"]), "storm"]
    signal.pthread_sigmask(signal.SIG_UNBLOCK, [signal.SIGALRM])
    calls = {"outer": {"<module>", "storm"}, "recurse": {"outer", "recurse"}, "steps": {"outer"}, "fails": {"outer"},
             "made": {"outer"}, "wide": {"outer"}}
    code = ("def recurse(n):\n  return recurse(n - 1) + 1 if n else 0\n"
            "def steps(n):\n  for i in range(n):\n    yield i\n"
            "def fails(n):\n  try:\n    return [][n]\n  except IndexError:\n    return n\n"
            "def wide(n):\n  " + " = ".join(f"v{i}" for i in range(3000)) + " = n\n  return n\n"  # in a block of its own
            "def outer(n):\n  total = recurse(n) + wide(n)\n  total += sum(steps(n))\n  total += fails(n)\n"
            "  exec('def made(n):\\n  return [str(i) for i in range(n)]\\n', space)\n"
            "  return total + len(space['made'](n))\n")
    space = {}
    space["space"] = space
    exec(compile(code, "<storm>", "exec"), space)
    assert held.probe_native_setup(ctypes.cast(ctypes.pythonapi.Py_GetVersion, ctypes.c_void_p)) & 255
    assert held.probe_take_signal(int(signal.SIGALRM)) & 255
    while held.probe_interrupted_count() < 5000:
        signal.setitimer(signal.ITIMER_REAL, 0.00005, 0.00005)
        for n in range(100):
            space["outer"](n % 40)
        signal.setitimer(signal.ITIMER_REAL, 0)
    seen, unknown = set(), 0
    for python, native_part in interrupted_paths():
        if not python and not native_part:  # 3.11 and 3.12, between two control frames
            unknown += 1
            continue
        names = [name.split(".")[-1] for name, _, _ in python]
        assert names[:len(begin)] == begin, python
        for caller, name in zip(names[len(begin) - 1:], names[len(begin):]):
            assert name not in calls or caller in calls[name], python
            assert name in calls or name in ("<module>", "<listcomp>"), python
        seen.update(names)
    assert set(calls) <= seen, seen
    assert unknown < 50, unknown


def small_stack():
    """The storm in a thread whose Python frames are mapped just below its stack."""
    import mmap
    import signal
    filled = [mmap.mmap(-1, size, mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)  # holes where the frames would be, too
              for size in (1 << 20, 128 << 10, 16 << 10) for _ in range(100)]
    threading.stack_size(256 << 10)
    failed = []
    threading.excepthook = lambda raised: failed.append(raised.exc_value)
    thread = threading.Thread(target=storm, args=("_bootstrap", "_bootstrap_inner", "run"))
    signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGALRM])  # the thread takes them all
    thread.start()
    thread.join()
    filled.clear()
    if failed:
        raise failed[0]


def at_exit():
    """After Python's own exit handlers nothing is read."""
    import atexit
    check()
    atexit._run_exitfuncs()
    assert held.probe_path() == 0 and not held.probe_has_top() & 255
    held.probe_say_last()


def greenlets():
    import greenlet

    def first():
        check()
        held.probe_mark()
        other.switch()
        check()

    def second():
        check()
        path, stack = held.probe_path_since(7), traceback.extract_stack()  # marked in another greenlet: all of this one's
        same(frames_of(path), stack, qualified(sys._getframe()))
        main.switch()
    main, other = greenlet.greenlet(first), greenlet.greenlet(second)
    main.switch()
    check()


def refused():
    answer, why = setup()
    print(why)
    sys.exit(0 if not answer and held.probe_path() == 0 else 1)


if __name__ == "__main__":
    if sys.argv[2] not in ("pending_error", "refused", "subinterpreter"):
        assert held.probe_path() == 0  # not set up
        answer, why = setup()
        assert answer and not why, why
    globals()[sys.argv[2]]()
    print("checks", checks)
