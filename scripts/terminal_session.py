"""Types the quickstart into a real shell in tmux, as a person does, and writes what the screen shows into its page.

`python scripts/terminal_session.py` writes docs/terminal-session.md anew; a test types it again and compares, without
ids and times.
"""

from __future__ import annotations

import os
import shlex
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))
from console_blocks import BLOCK, COLUMNS, PATIENCE, ROOT

PAGE = ROOT / "docs" / "terminal-session.md"
QUICKSTART = ROOT / "docs" / "quickstart.md"
ROWS = 200  # all of the session stays on the screen
PAUSE = 0.05  # seconds between two looks at the screen
PROMPT = "$ "
TEXT = """# A session at a terminal

The commands of the [quickstart](quickstart.md), typed one after the other into a shell in tmux, and what the screen
showed. `python scripts/terminal_session.py` writes this page.

```console
{session}
```
"""


def commands(page: str) -> list[str]:
    lines = (line for block in BLOCK.findall(page) for line in block.splitlines())
    return [line.removeprefix(PROMPT) for line in lines if line.startswith(PROMPT)]


class Tmux:
    """A server of its own, with one window and a plain shell; nothing of the user's configuration is read."""

    def __init__(self, home: Path, programs: Path) -> None:
        self.socket = str(home / "tmux.socket")
        kept = {name: os.environ[name] for name in ("LANG", "LC_ALL") if name in os.environ}
        self.environment = {
            "LANG": "C.UTF-8", **kept, "HOME": str(home), "TERM": "xterm-256color", "NO_COLOR": "1",
            "PATH": f"{programs}{os.pathsep}{os.environ['PATH']}", "PS1": PROMPT, "SHELL": "/bin/sh",
        }  # fmt: skip
        size = ("-x", str(COLUMNS), "-y", str(ROWS))
        self.run("-f", os.devnull, "new-session", "-d", *size, "-c", str(home), "/bin/sh", "-i")

    def run(self, *words: str) -> str:
        command = ["tmux", "-S", self.socket, *words]
        return subprocess.run(command, capture_output=True, text=True, check=True, env=self.environment).stdout

    def screen(self) -> str:
        lines = [line.rstrip() for line in self.run("capture-pane", "-p").splitlines()]
        return "\n".join(lines).rstrip("\n")

    def wait_for_prompt(self, count: int) -> None:
        """Until the shell has asked so many times, and waits."""
        until = time.monotonic() + PATIENCE
        while True:
            lines = self.screen().splitlines()
            asked = sum(line.startswith(PROMPT.rstrip()) for line in lines)
            if asked >= count and lines[-1] == PROMPT.rstrip():
                return
            if time.monotonic() > until:
                raise TimeoutError(f"the shell does not answer; the screen shows:\n{self.screen()}")
            time.sleep(PAUSE)

    def type(self, line: str) -> None:
        self.run("send-keys", "-l", line)
        self.run("send-keys", "Enter")

    def close(self) -> None:
        self.run("kill-server")


def session(home: Path, programs: Path) -> str:
    """What the screen shows when all commands of the quickstart were typed."""
    terminal = Tmux(home, programs)
    try:
        terminal.wait_for_prompt(1)
        for count, line in enumerate(commands(QUICKSTART.read_text("utf-8")), 2):
            assert shlex.split(line)[0] == "nacre", line
            terminal.type(line)
            terminal.wait_for_prompt(count)
        return terminal.screen().rsplit("\n", 1)[0].replace(str(home), "~")
    finally:
        terminal.close()


def main() -> int:
    if shutil.which("tmux") is None:
        print("tmux is not installed; install it to write the page of the session.", file=sys.stderr)
        return 1
    with tempfile.TemporaryDirectory() as home:
        PAGE.write_text(TEXT.format(session=session(Path(home), Path(sys.executable).parent)), "utf-8")
    print(PAGE)
    return 0


if __name__ == "__main__":
    sys.exit(main())
