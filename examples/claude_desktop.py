"""Gives Claude Desktop a long-term memory: python examples/claude_desktop.py [--install]"""

from __future__ import annotations

import sys

from nacre.clients.registry import ClaudeDesktopInstaller

INSTALL = "--install"


def main(words: list[str]) -> None:
    installer = ClaudeDesktopInstaller()
    if INSTALL in words:
        print(f"written: {installer.install()}")
    else:
        installer.print_config()


if __name__ == "__main__":
    main(sys.argv[1:])
