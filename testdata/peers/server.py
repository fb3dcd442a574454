#!/usr/bin/env python3
"""Print what comes to an ai-talk port, a JSON string a line: server.py PORT; 0 is any, and is printed first."""
import json
import socketserver
import sys


class Listener(socketserver.StreamRequestHandler):
    def handle(self):
        while length := b"".join(iter(lambda: self.rfile.read(1), b":") if self.rfile.peek(1) else []):
            print(json.dumps(self.rfile.read(int(length)).decode()), flush=True)


with socketserver.ThreadingTCPServer(("127.0.0.1", int(sys.argv[1])), Listener) as server:
    print(server.server_address[1], flush=True)
    server.serve_forever()
