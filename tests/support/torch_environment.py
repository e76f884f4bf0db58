# SPDX-License-Identifier: Apache-2.0
"""A Python environment with PyTorch for the long tests: torch's own wheel and stand-ins for the libraries that a machine
without a GPU never calls, so that 0.6 GB are fetched instead of 3. Made once, in XSP_TEST_CACHE or the build folder.

`python3 torch_environment.py` makes it and prints its interpreter."""
import collections
import fcntl
import os
import pathlib
import re
import shutil
import subprocess
import sys
import unittest

TORCH = "2.15.0"
SMALL = ["filelock", "typing_extensions", "sympy", "mpmath", "networkx", "jinja2", "markupsafe", "fsspec", "numpy",
         "setuptools<80"]
REAL = re.compile(r"nvidia-cuda-(runtime|cupti)\b")  # small, and loaded at import
STUBBED = re.compile(r"lib(cublas|cublasLt|cudnn|cufft|cufile|cusparse|cusparseLt|nccl|nvrtc|nvshmem_host|cusolver)"
                     r"\.so\.\d+$")
STUBBED_PREFIX = re.compile(r"(cublas|cudnn|cufft|cuFile|cusparse|nccl|nvrtc|nvshmem|cusolver)", re.IGNORECASE)


def output(*command):
    return subprocess.run([str(part) for part in command], check=True, stdout=subprocess.PIPE, text=True,
                          timeout=600).stdout


def symbols_of(libraries):
    """(needed libraries, {undefined symbol: (type, version)}, defined symbols) of torch's own libraries."""
    needed, undefined, defined = set(), {}, set()
    for library in libraries:
        needed |= set(re.findall(r"NEEDED.*\[(.*?)\]", output("readelf", "-dW", library)))
        for line in output("readelf", "--dyn-syms", "-W", library).splitlines():
            fields = line.split()
            if len(fields) < 8:
                continue
            name, _, version = fields[7].replace("@@", "@").partition("@")
            if fields[6] == "UND":
                undefined[name] = (fields[3], version)
            else:
                defined.add(name)
    return needed, undefined, defined


def make_stubs(libraries, folder):
    """A library of aborting functions for each of NVIDIA's that torch's own libraries need."""
    needed, undefined, defined = symbols_of(libraries)
    names = sorted(name for name in needed if STUBBED.match(name))
    wanted = collections.defaultdict(list)
    for symbol, (kind, version) in undefined.items():
        if not symbol or symbol in defined:
            continue
        if version in names:
            wanted[version].append((symbol, kind))
        elif STUBBED_PREFIX.match(symbol) and ".so" not in version:
            # Its library is not named: the one with the longest matching name.
            fits = [name for name in names
                    if symbol.lower().lstrip("_").startswith(name[3:].split(".")[0].split("_")[0].lower())]
            wanted[max(fits, key=len, default=names[0])].append((symbol, kind))
    for name in names:
        source, script = folder / f"{name}.c", folder / "versions.map"
        versions = sorted({undefined[symbol][1] for symbol, _ in wanted[name]} - {""})
        source.write_text("extern void abort(void);\n" + "".join(
            f"char {symbol}[4096];\n" if kind == "OBJECT" else f"void {symbol}(void){{abort();}}\n"
            for symbol, kind in wanted[name]))
        script.write_text("".join(f"{version} {{ global: *; }};\n" for version in versions))
        subprocess.run(["gcc", "-shared", "-fPIC", "-w", "-fno-builtin", "-o", folder / name, source,
                        f"-Wl,-soname,{name}", *([f"-Wl,--version-script={script}"] if versions else [])],
                       check=True, timeout=600)
        source.unlink()
        script.unlink()


def make(folder):
    """The environment in `folder`, which is empty."""
    subprocess.run([sys.executable, "-m", "venv", folder], check=True, timeout=600)
    python = folder / "bin" / "python3"
    pip = [python, "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
    subprocess.run([*pip, "--no-deps", f"torch=={TORCH}"], check=True, timeout=900)
    requirements = output(python, "-c", "import importlib.metadata as m\n"
                                        "print('\\n'.join(m.requires('torch') or []))").splitlines()
    real = [line.split(";")[0].strip() for line in requirements if REAL.match(line)]
    if not real:  # named in a package of packages
        real = ["nvidia-cuda-runtime", "nvidia-cuda-cupti"]
    subprocess.run([*pip, "--no-deps", *real], check=True, timeout=600)
    subprocess.run([*pip, *SMALL], check=True, timeout=600)
    site = pathlib.Path(output(python, "-c", "import sysconfig; print(sysconfig.get_path('purelib'))").strip())
    library = site / "torch" / "lib"
    libraries = [file for file in library.iterdir() if file.name.startswith(("libtorch", "libc10", "libcaffe2"))
                 and ".so" in file.name]
    make_stubs(libraries, library)
    subprocess.run([python, "-c", "import torch; torch.ones(2).sum()"], check=True, timeout=600)
    return python


def torch_python():
    """Its interpreter; raises unittest.SkipTest where it cannot be made (no network)."""
    cache = pathlib.Path(os.environ.get("XSP_TEST_CACHE") or os.environ["XSP_BUILD"]).resolve()
    cache.mkdir(parents=True, exist_ok=True)
    folder, done = cache / f"torch-{TORCH}", cache / f"torch-{TORCH}" / "complete"
    with open(cache / "torch.lock", "w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not done.exists():
            shutil.rmtree(folder, ignore_errors=True)
            try:
                make(folder)
            except (OSError, subprocess.SubprocessError) as error:
                shutil.rmtree(folder, ignore_errors=True)
                raise unittest.SkipTest(f"PyTorch {TORCH} cannot be installed here: {error}") from error
            done.write_text("")
    return folder / "bin" / "python3"


if __name__ == "__main__":
    os.environ.setdefault("XSP_BUILD", "build")
    print(torch_python())
