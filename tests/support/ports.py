# SPDX-License-Identifier: Apache-2.0
"""Ports of 127.0.0.1 for servers that want a number."""
import socket

_held = []


def unused_port():
    """One that refuses connections until a server takes it. A socket that does not listen holds it until the test ends, so
    that no other process gets it; the server must set SO_REUSEADDR, as most do."""
    holder = socket.socket()
    holder.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    holder.bind(("127.0.0.1", 0))
    _held.append(holder)
    return holder.getsockname()[1]
