"""The reference memory server of the Model Context Protocol, over its standard input and output."""

from __future__ import annotations

import json
import os
import re
import subprocess
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from peers.drivers import Driver, Item

SERVER = Path("node_modules/@modelcontextprotocol/server-memory/dist/index.js")
PROTOCOL = "2025-06-18"
# Words that say nothing about what is asked; a client's model would not search for them.
STOP_WORDS = frozenset(
    "a about an and any are as at be been but by can could did do does for from had has have he her his how i if in"
    " into is it its many me much my of on or our she should so some than that the their them then there they this to"
    " us was we were what when where which who whom whose why will with would you your".split()
)


class ServerMemory(Driver):
    CHANGES = (
        "`create_entities` with the text as the only observation, `search_nodes` once for each word of the question"
        " that is not a stop word, entities ordered by how many words match: its search takes one substring, and a"
        " whole question matches nothing. Speaker before the text; it has no field for a date."
    )

    def __init__(self, folder: Path) -> None:
        # The environment of this peer is the folder that its npm package was installed into.
        server = Path(os.environ["PEER_HOME"]) / SERVER
        self._process = subprocess.Popen(
            ["node", str(server)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
            env={**os.environ, "MEMORY_FILE_PATH": str(folder / "memory.jsonl")},
        )
        self._number = 0
        client = {"name": "benchmark", "version": "1"}
        self._ask("initialize", {"protocolVersion": PROTOCOL, "capabilities": {}, "clientInfo": client})
        self._send({"jsonrpc": "2.0", "method": "notifications/initialized"})

    def _send(self, message: dict[str, object]) -> None:
        assert self._process.stdin is not None
        self._process.stdin.write(json.dumps(message) + "\n")
        self._process.stdin.flush()

    def _ask(self, method: str, params: dict[str, object]) -> Any:
        assert self._process.stdout is not None
        self._number += 1
        self._send({"jsonrpc": "2.0", "id": self._number, "method": method, "params": params})
        for line in self._process.stdout:
            answer = json.loads(line)
            if answer.get("id") == self._number:
                if "error" in answer or answer["result"].get("isError"):
                    raise RuntimeError(str(answer.get("error") or answer["result"]["content"]))
                return answer["result"]
        raise RuntimeError("the server ended")

    def _call(self, tool: str, arguments: dict[str, object]) -> Any:
        return self._ask("tools/call", {"name": tool, "arguments": arguments})["structuredContent"]

    def add(self, item: Item) -> str:
        return self.add_many([item])[0]

    def add_many(self, items: Sequence[Item]) -> list[str]:
        entities = [{"name": item.id, "entityType": "memory", "observations": [item.spoken]} for item in items]
        self._call("create_entities", {"entities": entities})
        return [item.id for item in items]

    def search(self, question: str, k: int, asked_at: float | None) -> list[str]:  # noqa: ARG002
        words = dict.fromkeys(re.findall(r"[\w'-]+", question.lower()))
        matches: Counter[str] = Counter()
        for word in words:
            if word not in STOP_WORDS:
                matches.update(str(each["name"]) for each in self._call("search_nodes", {"query": word})["entities"])
        return [name for name, _ in matches.most_common(k)]

    def close(self) -> None:
        assert self._process.stdin is not None
        self._process.stdin.close()
        self._process.wait()


DRIVER = ServerMemory
