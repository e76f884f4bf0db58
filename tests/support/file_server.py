# SPDX-License-Identifier: Apache-2.0
"""An HTTP server for tests of downloads: ranges, validators, and every way in which a server or a connection can misbehave."""
import http.server
import ssl
import threading

from scripted import TIMEOUT_S


class Place:
    """What the server does at one path. Tests change it between requests; `requests` has the headers of each."""

    def __init__(self, body=b"", **how):
        self.body, self.requests, self.sent = body, [], 0
        self.status = how.pop("status", 200)
        self.headers = how.pop("headers", {})
        self.etag, self.modified = how.pop("etag", '"1"'), how.pop("modified", None)
        self.ranges = how.pop("ranges", True)  # does it honour Range?
        self.has_length = how.pop("has_length", True)
        self.cut = how.pop("cut", None)  # close the connection after so many bytes of an answer
        self.hold = how.pop("hold", None)  # an event: wait for it after the first bytes
        self.reply = how.pop("reply", None)  # a function (handler, place) that answers instead
        assert not how, how

    def answer(self, handler):
        headers, start, status = dict(self.headers), 0, self.status
        if self.etag:
            headers["ETag"] = self.etag
        if self.modified:
            headers["Last-Modified"] = self.modified
        asked, validator = handler.headers.get("Range"), handler.headers.get("If-Range")
        if self.etag and handler.headers.get("If-None-Match") == self.etag or \
                self.modified and not self.etag and handler.headers.get("If-Modified-Since") == self.modified:
            return self.send(handler, 304, headers, b"")
        if asked and self.ranges and validator in (None, self.etag, self.modified) and status == 200:
            start = int(asked.removeprefix("bytes=").removesuffix("-"))
            if start >= len(self.body):
                return self.send(handler, 416, {"Content-Range": f"bytes */{len(self.body)}"}, b"")
            status = 206
            headers["Content-Range"] = f"bytes {start}-{len(self.body) - 1}/{len(self.body)}"
        return self.send(handler, status, headers, self.body[start:])

    def send(self, handler, status, headers, body):
        handler.send_response(status)
        for name, value in headers.items():
            handler.send_header(name, value)
        if self.has_length:
            handler.send_header("Content-Length", str(len(body)))
        handler.send_header("Connection", "close")
        handler.end_headers()
        sent = body if self.cut is None else body[:self.cut]
        step = 1 << 16
        for at in range(0, len(sent), step):
            handler.wfile.write(sent[at:at + step])
            self.sent += len(sent[at:at + step])
            if self.hold:
                self.hold.wait(TIMEOUT_S)
        handler.wfile.flush()


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def do_GET(self):
        self.close_connection = True
        place = self.server.places.get(self.path)
        if place is None:
            self.send_error(404)
            return
        place.requests.append({name.lower(): value for name, value in self.headers.items()})
        try:
            (place.reply or Place.answer)(*((self, place) if place.reply else (place, self)))
        except (BrokenPipeError, ConnectionResetError):
            pass

    def log_message(self, *arguments):
        pass


class FileServer:
    """`with FileServer() as server:`; server.places["/x"] = Place(b"…"); server.url + "/x". `certificate`: (file, key file) for https."""

    def __init__(self, certificate=None):
        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.server.daemon_threads = True
        self.server.places = self.places = {}
        if certificate:
            context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
            context.load_cert_chain(*certificate)
            self.server.socket = context.wrap_socket(self.server.socket, server_side=True)
        self.url = f"http{'s' if certificate else ''}://127.0.0.1:{self.server.server_port}"

    def __enter__(self):
        threading.Thread(target=self.server.serve_forever, kwargs={"poll_interval": 0.05}, daemon=True).start()
        return self

    def __exit__(self, *ignored):
        self.server.shutdown()
        self.server.server_close()
