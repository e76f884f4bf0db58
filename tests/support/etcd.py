# SPDX-License-Identifier: Apache-2.0
"""A real etcd on free ports, with its data in a folder, which can be stopped and started again."""
import base64
import json
import shutil
import subprocess
import tempfile
import time
import unittest
import urllib.error
import urllib.request

from ports import unused_port


class Etcd:
    """Use it in `with`, or call kill."""

    def __init__(self):
        if shutil.which("etcd") is None:
            raise unittest.SkipTest("etcd is not installed: tools/setup installs it")
        self.folder = tempfile.TemporaryDirectory(prefix="xsp-etcd-")
        self.url, self.peer = (f"http://127.0.0.1:{unused_port()}" for _ in range(2))
        self.process, self.users = None, None
        self.start()

    def start(self):
        self.process = subprocess.Popen(
            ["etcd", "--data-dir", self.folder.name, "--listen-client-urls", self.url, "--advertise-client-urls", self.url,
             "--listen-peer-urls", self.peer, "--initial-advertise-peer-urls", self.peer, "--initial-cluster", f"default={self.peer}",
             "--unsafe-no-fsync"], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        end = time.monotonic() + 600
        while time.monotonic() < end:
            try:
                return self.keys()
            except (urllib.error.URLError, ConnectionError):
                time.sleep(0.05)
        raise AssertionError("etcd does not answer")

    def stop(self):
        """Its data stay, for start."""
        self.process.kill()
        self.process.wait()

    def kill(self):
        self.stop()
        self.folder.cleanup()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.kill()

    def ask(self, path, token=None, **body):
        """On a busy machine etcd may have no leader for a while, or give a request up that it carries out later: 503."""
        token = token or (self.token() if self.users and not path.startswith("auth/") else None)
        headers = {"Content-Type": "application/json", **({"Authorization": token} if token else {})}
        request = urllib.request.Request(f"{self.url}/v3/{path}", json.dumps(body).encode(), headers)
        end, was_busy = time.monotonic() + 600, False
        while True:
            try:
                with urllib.request.urlopen(request, timeout=600) as reply:
                    return json.load(reply)
            except urllib.error.HTTPError as error:
                if was_busy and b"already exists" in error.read():
                    return {}
                if error.code != 503 or time.monotonic() > end:
                    raise
                was_busy = True
                time.sleep(0.05)

    def require_users(self):
        """From now on it answers to root with the password secret only."""
        self.ask("auth/user/add", name="root", password="secret")
        self.ask("auth/role/add", name="root")
        self.ask("auth/user/grant", user="root", role="root")
        self.ask("auth/enable")
        self.users = "secret"

    def token(self):
        return self.ask("auth/authenticate", name="root", password=self.users)["token"]

    def change_password(self, password):
        self.ask("auth/user/changepw", self.token(), name="root", password=password)
        self.users = password

    @staticmethod
    def text(value):
        return base64.b64encode(value.encode()).decode()

    def keys(self, prefix="/xsp/agents/"):
        """{key: value}"""
        found = self.ask("kv/range", key=self.text(prefix), range_end=self.text(prefix[:-1] + chr(ord(prefix[-1]) + 1)))
        return {base64.b64decode(kv["key"]).decode(): base64.b64decode(kv.get("value", "")).decode(errors="replace")
                for kv in found.get("kvs", [])}

    def remove(self, name=""):
        """The record of an agent that was killed, as the end of its lease does; without a name, all records."""
        key = f"/xsp/agents/{name}"
        self.ask("kv/deleterange", key=self.text(key), **({} if name else {"range_end": self.text("/xsp/agents0")}))

    def put(self, key, value):
        self.ask("kv/put", key=self.text(key), value=self.text(value))
