# SPDX-License-Identifier: Apache-2.0
"""A real PostgreSQL for tests, on a Unix socket in a temporary folder; as root it runs as nobody, which the server insists on."""
import glob
import os
import pathlib
import resource
import shutil
import subprocess
import tempfile
import unittest

TIMEOUT_S = 600


def programs():
    """The folder of initdb and pg_ctl, or None."""
    places = sorted(glob.glob("/usr/lib/postgresql/*/bin"), key=lambda path: int(path.split("/")[-2]), reverse=True)
    found = shutil.which("initdb", path=os.pathsep.join([*places, os.environ.get("PATH", "")]))
    return pathlib.Path(found).resolve().parent if found else None


class Postgres:
    """A server that runs until close(); restart() begins it anew."""

    def __init__(self):
        if programs() is None:
            raise unittest.SkipTest("no PostgreSQL: make setup")
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="xsp-pg-"))
        self.as_user = {"user": "nobody", "group": "nogroup", "extra_groups": []} if os.getuid() == 0 else {}
        if self.as_user:
            shutil.chown(self.folder, "nobody", "nogroup")
        self.run("initdb", "-D", self.folder / "data", "-A", "trust", "-U", "xsp", "-E", "UTF8", "--no-locale", "-N", "--wal-segsize=1")
        self.start()

    def run(self, program, *arguments, **options):
        subprocess.run([programs() / program, *arguments], check=True, timeout=TIMEOUT_S, cwd="/", stdin=subprocess.DEVNULL,
                       stdout=subprocess.DEVNULL, **self.as_user, **options)

    def start(self, file_bytes=None):
        """`file_bytes`: no file may become larger, as on a full disk."""
        limit = {"preexec_fn": lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (file_bytes, file_bytes))} if file_bytes else {}
        self.run("pg_ctl", "-w", "-s", "-D", self.folder / "data", "-l", self.folder / "log",
                 "-o", f"-k {self.folder} -c listen_addresses= -c fsync=off -c autovacuum=off", "start", **limit)

    def stop(self, mode="immediate"):
        self.run("pg_ctl", "-w", "-s", "-D", self.folder / "data", "-m", mode, "stop")

    def restart(self, file_bytes=None):
        self.stop("fast")
        self.start(file_bytes)

    def close(self):
        try:
            self.stop()
        finally:
            shutil.rmtree(self.folder)

    def address(self, database, folder=None):
        return f"postgresql://xsp@/{database}?host={folder or self.folder}"

    def sql(self, database, statement):
        """The rows as lines, their values separated by |."""
        done = subprocess.run(["psql", "-X", "-A", "-t", "-q", "-v", "ON_ERROR_STOP=1", "-c", statement, self.address(database)],
                              capture_output=True, text=True, check=True, timeout=TIMEOUT_S)
        return done.stdout.splitlines()

    def database(self, name):
        """The address of a new, empty database."""
        self.sql("postgres", f"create database {name}")
        return self.address(name)
