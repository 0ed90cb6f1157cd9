"""Stands for a process that `tests.forked` makes: passes its streams on, and ends as that one ends."""

import json
import os
import signal
import socket
import sys

address, module, *words = sys.argv[1:]
connection = socket.socket(socket.AF_UNIX)
connection.connect(address)
socket.send_fds(connection, [b"."], [0, 1, 2])
asked = {"module": module, "words": words, "env": dict(os.environ), "folder": os.getcwd(), "own_terminal": False}  # noqa: PTH109
connection.sendall(json.dumps(asked).encode() + b"\n")
answers = connection.makefile("r")
pid = int(answers.readline())
for number in (signal.SIGTERM, signal.SIGINT):
    signal.signal(number, lambda number, _: os.kill(pid, number))
code = int(answers.readline())
os._exit(code if code >= 0 else 128 - code)
