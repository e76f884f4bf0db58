# SPDX-License-Identifier: Apache-2.0
"""A second user of the machine, and the files that killed or hostile writers leave next to a trace."""
import os
import pathlib
import signal
import sqlite3
import struct

STRANGER = 65534  # nobody: needs no entry anywhere
VICTIM = 65533
JOURNAL_MAGIC = bytes((0xd9, 0xd5, 0x05, 0xf9, 0x20, 0xa1, 0x63, 0xd7))


def in_child(function):
    """Runs `function` in a child; returns its exit status, or 0 after SIGKILL."""
    child = os.fork()
    if child == 0:
        try:
            function()
            os._exit(0)
        except BaseException as problem:  # pylint: disable=broad-except
            os.write(2, f"{problem!r}\n".encode())
            os._exit(1)
    _, status = os.waitpid(child, 0)
    return 0 if os.WIFSIGNALED(status) and os.WTERMSIG(status) == signal.SIGKILL else os.waitstatus_to_exitcode(status)


def as_stranger(function, user=STRANGER):
    """Runs `function` as the second user, in a child; the test is root."""
    def become():
        os.setgroups([])
        os.setgid(user)
        os.setuid(user)
        function()
    return in_child(become)


def leave_hot_journal(path):
    """A writer is killed in the middle of a transaction that changed pages of the file."""
    def write():
        data = sqlite3.connect(path, isolation_level=None)
        data.execute("pragma cache_size = 1")
        data.execute("begin")
        data.execute("delete from chunk")
        data.execute("create table filler as with recursive n(i) as (select 1 union all select i + 1 from n limit 3000)"
                     " select i, hex(randomblob(50)) from n")
        os.kill(os.getpid(), signal.SIGKILL)
    assert in_child(write) == 0
    assert os.path.getsize(f"{path}-journal") > 512


def name_super_journal(path, victim):
    """Appends the name of a super-journal to the file's hot journal: SQLite deletes it after a replay."""
    page_size = struct.unpack(">H", pathlib.Path(path).read_bytes()[16:18])[0]
    name = os.fsencode(victim)
    with open(f"{path}-journal", "ab") as journal:
        journal.write(struct.pack(">I", 0x40000000 // page_size + 1) + name +
                      struct.pack(">II", len(name), sum(name)) + JOURNAL_MAGIC)


def leave_log(path, sql):
    """A writer in WAL mode is killed after it committed `sql`: what it wrote is in the log only."""
    def write():
        data = sqlite3.connect(path, isolation_level=None)
        data.execute("pragma journal_mode = wal")
        data.execute("pragma wal_autocheckpoint = 0")
        data.execute(sql)
        os.kill(os.getpid(), signal.SIGKILL)
    assert in_child(write) == 0
    assert os.path.getsize(f"{path}-wal") > 0


def content(path):
    """{offset: page} of the pages that are not all zero. A ring is a gigabyte long, nearly all of it a hole."""
    pages, size, end = {}, os.path.getsize(path), 0
    with open(path, "rb") as file:
        while end < size:
            try:
                start = os.lseek(file.fileno(), end, os.SEEK_DATA)
            except OSError:  # only a hole is left
                break
            end = os.lseek(file.fileno(), start, os.SEEK_HOLE)
            for offset in range(start, end, 4096):
                page = os.pread(file.fileno(), 4096, offset)
                if any(page):
                    pages[offset] = page
    return size, pages


def snapshot(folder):
    """Name, owner, mode, link and content of everything in a folder."""
    return {path.name: (path.lstat().st_uid, path.lstat().st_mode, path.lstat().st_mtime_ns,
                        content(path) if path.is_file() else None) for path in pathlib.Path(folder).iterdir()}
