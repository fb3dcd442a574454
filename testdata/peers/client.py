#!/usr/bin/env python3
"""Send messages to an ai-talk port, as its document describes the wire: client.py PORT TEXT..."""
import socket
import sys

with socket.create_connection(("127.0.0.1", int(sys.argv[1])), timeout=10) as s:
    for text in sys.argv[2:]:
        data = text.encode()
        s.sendall(b"%d:%s" % (len(data), data))
    # Whoever hangs up at once may be gone before the listener could ask the kernel who that was.
    s.shutdown(socket.SHUT_WR)
    s.recv(1)  # nothing: the listener closes; an error: it refused
