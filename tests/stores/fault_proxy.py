"""A proxy between the program and a store on loopback, that counts requests and bytes and makes the network fail.

Each request is a `Request` in `FaultProxy.requests`. Before it is passed on, `FaultProxy.fault` is called with it and
may name what goes wrong:

    drop      the connection is closed without an answer
    503       the store says SlowDown
    403       the store says AccessDenied
    truncate  the answer ends after half of its bytes
    stall     half of the answer is sent, and then nothing for `stall_s` seconds
"""

from __future__ import annotations

import http.client
import http.server
import socket
import threading
import time
import urllib.parse
from collections.abc import Callable
from dataclasses import dataclass


@dataclass
class Request:
    """One request, and how many bytes of its body were sent back."""

    method: str
    path: str  # of the bucket and key, without its query
    query: str
    range: str | None
    number: int  # among the requests of the same method and path, from 0
    sent: int = 0


def _error(code: str) -> bytes:
    return f'<?xml version="1.0"?><Error><Code>{code}</Code><Message>{code}</Message></Error>'.encode()


def _body_of(handler: http.server.BaseHTTPRequestHandler) -> bytes:
    if handler.headers.get("Transfer-Encoding", "").lower() != "chunked":
        return handler.rfile.read(int(handler.headers.get("Content-Length") or 0))
    body = b""
    while size := int(handler.rfile.readline().split(b";")[0], 16):
        body += handler.rfile.read(size)
        handler.rfile.readline()
    while handler.rfile.readline().strip():
        pass
    return body


class FaultProxy:
    """Listens on a port of loopback, `port`, and passes requests on to `upstream`."""

    stall_s = 5.0

    def __init__(self, upstream: int) -> None:
        self.upstream = upstream
        self.requests: list[Request] = []
        self.latency_s = 0.0
        self.fault: Callable[[Request], str | None] = lambda request: None
        self._lock = threading.Lock()
        proxy = self

        class Handler(http.server.BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"
            disable_nagle_algorithm = True

            def _serve(self) -> None:
                proxy._serve(self)

            do_GET = do_HEAD = do_PUT = do_POST = do_DELETE = _serve  # noqa: N815

            def log_message(self, format: str, *args: object) -> None:  # noqa: A002
                pass

        class Server(http.server.ThreadingHTTPServer):
            daemon_threads = True
            request_queue_size = 128

            def handle_error(self, request: object, client_address: object) -> None:
                pass  # clients go away in these tests

        self._server = Server(("127.0.0.1", 0), Handler)
        self.port = self._server.server_address[1]
        threading.Thread(target=self._server.serve_forever, daemon=True).start()

    def close(self) -> None:
        self._server.shutdown()
        self._server.server_close()

    def reset(self) -> None:
        with self._lock:
            self.requests.clear()
        self.latency_s = 0.0
        self.fault = lambda request: None

    def _note(self, method: str, target: str, wanted: str | None) -> Request:
        address = urllib.parse.urlsplit(target)
        with self._lock:
            before = sum(one.method == method and one.path == address.path for one in self.requests)
            request = Request(method, address.path, address.query, wanted, before)
            self.requests.append(request)
        return request

    def _serve(self, handler: http.server.BaseHTTPRequestHandler) -> None:
        body = _body_of(handler)
        request = self._note(handler.command, handler.path, handler.headers.get("Range"))
        fault = self.fault(request)
        time.sleep(self.latency_s)
        if fault == "drop":
            handler.close_connection = True
            handler.connection.shutdown(socket.SHUT_RDWR)
            return
        if fault in ("503", "403"):
            answer = b"" if request.method == "HEAD" else _error("SlowDown" if fault == "503" else "AccessDenied")
            handler.send_response(int(fault))
            handler.send_header("Content-Length", str(len(answer)))
            handler.end_headers()
            handler.wfile.write(answer)
            return
        connection = http.client.HTTPConnection("127.0.0.1", self.upstream)
        headers = {name: value for name, value in handler.headers.items() if name.lower() not in ("transfer-encoding", "expect")}
        headers["Content-Length"] = str(len(body))
        connection.request(handler.command, handler.path, body, headers)
        answer = connection.getresponse()
        content = answer.read()
        connection.close()
        handler.send_response(answer.status)
        for name, value in answer.getheaders():
            if name.lower() not in ("connection", "transfer-encoding", "content-length", "server", "date"):
                handler.send_header(name, value)
        size = answer.getheader("Content-Length") if request.method == "HEAD" else None
        handler.send_header("Content-Length", size or str(len(content)))
        handler.end_headers()
        if fault in ("truncate", "stall") and content:
            content = content[: len(content) // 2]
            handler.close_connection = True
        handler.wfile.write(content)
        request.sent = len(content)
        if fault == "stall":
            handler.wfile.flush()
            time.sleep(self.stall_s)
        if fault in ("truncate", "stall"):
            handler.connection.shutdown(socket.SHUT_RDWR)
