"""A proxy on this machine that can be cut: `cut_proxy.py SOCKET PORT`.

It forwards connections from 127.0.0.1:PORT (0: any) to the socket SOCKET and prints the port. Each
answer comes some milliseconds late, so that a random moment is often one between a statement and
its answer. While it is stopped (SIGSTOP), nothing arrives; when it is killed, its connections are
reset. It ends with its parent.
"""
import contextlib
import os
import socket
import struct
import sys
import threading
import time


def forward(source, target, delay):
    with contextlib.suppress(OSError):
        while data := source.recv(65536):
            time.sleep(delay)
            target.sendall(data)
    for end in source, target:
        with contextlib.suppress(OSError):
            end.shutdown(socket.SHUT_RDWR)


listener = socket.create_server(("127.0.0.1", int(sys.argv[2])))
listener.settimeout(1)
print(listener.getsockname()[1], flush=True)
parent = os.getppid()
while os.getppid() == parent:
    with contextlib.suppress(OSError):
        client, _ = listener.accept()
        client.settimeout(None)
        client.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        server = socket.socket(socket.AF_UNIX)
        server.connect(sys.argv[1])
        for ends in (client, server, 0), (server, client, 0.003):
            threading.Thread(target=forward, args=ends, daemon=True).start()
