"""Gives Claude Code a long-term memory: python examples/claude_code.py [--install | --demo | --claudemd]"""

from __future__ import annotations

import sys

from nacre import MemoryStore
from nacre.clients.claude_code import ClaudeCodeInstaller

INSTALL, DEMO, CLAUDEMD = "--install", "--demo", "--claudemd"


def demo() -> None:
    with MemoryStore(":memory:", embedder="hashing") as store:
        store.remember("Run the tests with `make check`.", type="procedural")
        print(store.recall_pack("how do I run the tests?").text)


def main(words: list[str]) -> None:
    installer = ClaudeCodeInstaller(settings_path="")  # the file from which Claude Code reads its servers
    if INSTALL in words:
        print(f"written: {installer.install()}")
    elif DEMO in words:
        demo()
    elif CLAUDEMD in words:
        print(installer.claudemd_snippet())
    else:
        installer.print_config()


if __name__ == "__main__":
    main(sys.argv[1:])
