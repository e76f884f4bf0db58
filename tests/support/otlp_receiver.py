# SPDX-License-Identifier: Apache-2.0
"""A receiver of OTLP/HTTP that is not ours: Python's HTTP server and the official protobuf package, with scripted answers."""
import base64
import gzip
import http.server
import json
import socket
import ssl
import threading

from google.protobuf import json_format
from opentelemetry.proto.collector.trace.v1 import trace_service_pb2 as service


def decoded(body, content_type):
    """A request; the official package refuses what is malformed."""
    if content_type == "application/json":  # ids are hex digits here, base64 in protobuf's own JSON
        return json_format.ParseDict(with_base64_ids(json.loads(body)), service.ExportTraceServiceRequest())
    return service.ExportTraceServiceRequest.FromString(body)


def with_base64_ids(value):
    if isinstance(value, list):
        return [with_base64_ids(item) for item in value]
    if not isinstance(value, dict):
        return value
    return {key: base64.b64encode(bytes.fromhex(item)).decode() if key in ("traceId", "spanId", "parentSpanId")
            else with_base64_ids(item) for key, item in value.items()}


def names(requests):
    return [span.name for request in requests for spans in request.resource_spans for scope in spans.scope_spans
            for span in scope.spans]


class Answer:
    """What the server does with one request. `close`: it cuts the connection instead. `then`: runs first."""

    def __init__(self, code=200, message=None, headers=(), body=None, content_type=None, close=False, endless=False,
                 rejected=None, then=None):
        self.code, self.message, self.headers, self.body = code, message, dict(headers), body
        self.content_type, self.close, self.endless, self.rejected, self.then = content_type, close, endless, rejected, then

    def text(self, is_json):
        if self.body is not None:
            return self.body
        if self.code != 200:  # a google.rpc.Status
            text = (self.message or "").encode()
            return json.dumps({"code": 3, "message": text.decode()}).encode() if is_json else (
                b"\x08\x03\x12" + bytes([len(text)]) + text)  # short enough for a length of one byte
        reply = service.ExportTraceServiceResponse()
        if self.rejected is not None:
            reply.partial_success.rejected_spans = self.rejected
            reply.partial_success.error_message = self.message or ""
        return json_format.MessageToJson(reply).encode() if is_json else reply.SerializeToString()


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def log_message(self, *_):
        pass

    def setup(self):
        super().setup()
        self.server.receiver.connections += 1

    def do_POST(self):
        receiver = self.server.receiver
        body = self.rfile.read(int(self.headers["Content-Length"]))
        if self.headers["Content-Encoding"] == "gzip":
            body = gzip.decompress(body)
        with receiver.lock:
            receiver.seen.append((self.path, dict(self.headers), body))
            answer = receiver.answers.pop(0) if receiver.answers else receiver.usual(body)
        if answer.then is not None:
            answer.then()
        if answer.close:
            self.connection.shutdown(socket.SHUT_RDWR)
            self.close_connection = True
            return
        self.reply(answer, body)

    def reply(self, answer, body):
        receiver, content_type = self.server.receiver, self.headers["Content-Type"]
        if answer.code == 200 and answer.body is None:
            receiver.accepted.append(decoded(body, content_type))
        text = answer.text(content_type == "application/json")
        self.send_response(answer.code)
        self.send_header("Content-Type", answer.content_type or content_type)
        for key, value in answer.headers.items():
            self.send_header(key, value)
        if not answer.endless:
            self.send_header("Content-Length", str(len(text)))
        self.end_headers()
        try:
            self.wfile.write(text)
            while answer.endless:
                self.wfile.write(b"x" * 65536)
        except OSError:
            self.close_connection = True


class Server(http.server.ThreadingHTTPServer):
    daemon_threads = True

    def handle_error(self, *_):
        pass  # a publisher that was killed resets its connection


class Receiver:
    """`answers` are given first, one a request; then what `usual(body)` returns."""

    def __init__(self, answers=(), usual=lambda body: Answer(), port=0, certificate=None):
        self.answers, self.usual = list(answers), usual
        self.seen, self.accepted, self.connections = [], [], 0
        self.lock = threading.Lock()
        self.server = Server(("127.0.0.1", port), Handler)
        self.server.receiver = self
        self.port = self.server.server_address[1]
        if certificate is not None:
            context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
            context.load_cert_chain(*certificate)
            self.server.socket = context.wrap_socket(self.server.socket, server_side=True)
        self.url = f"http{'s' if certificate else ''}://127.0.0.1:{self.port}"
        self.thread = threading.Thread(target=self.server.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True)
        self.thread.start()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.server.shutdown()
        self.server.server_close()
        self.thread.join()

    def names(self):
        return names(self.accepted)
