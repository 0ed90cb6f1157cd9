"""Anthropic's memory tool on a Nacre store: its files are memories, found by recall, kept in the journal, undoable."""

from __future__ import annotations

import posixpath
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any
from urllib.parse import unquote

from nacre import Memory, MemoryStore, NacreError

if TYPE_CHECKING:
    from anthropic.lib.tools import BetaAbstractMemoryTool

ROOT = "/memories"
TAG = "memory-file"
LEVELS = 2  # how deep a folder is shown


class Refused(ValueError):
    """What the model is told when a command cannot be carried out."""


class MemoryFiles:
    """Each file is one memory whose `source` is its path. Blank lines around a text are not kept."""

    def __init__(self, store: MemoryStore) -> None:
        self.store = store

    def run(self, command: Mapping[str, Any]) -> str:
        """Takes a command as it stands in the tool call. Raises `Refused` with the reason."""
        given = dict(command)
        name = given.pop("command", None)
        if name not in COMMANDS:
            raise Refused(f"There is no command {name!r}; there are {', '.join(COMMANDS)}.")
        try:
            told: str = getattr(self, name)(**{key: value for key, value in given.items() if value is not None})
        except (NacreError, TypeError) as error:
            raise Refused(str(error)) from error
        return told

    def view(self, path: str, view_range: list[int] | None = None) -> str:
        place = checked(path)
        file = self._file(place)
        if file is None:
            return self._folder(place)
        lines = file.text.split("\n")
        first, last = view_range or (1, -1)
        last = len(lines) if last == -1 else last
        if not 1 <= first <= last:
            raise Refused(f"The lines {first} to {last} cannot be shown; {place} has {len(lines)}.")
        numbered = (f"{number:6}\t{line}" for number, line in enumerate(lines, 1) if first <= number <= last)
        return f"{place}, with line numbers:\n" + "\n".join(numbered)

    def create(self, path: str, file_text: str) -> str:
        place = checked(path)
        if place == ROOT or self._below(place):
            raise Refused(f"{place} is a folder; choose another name.")
        if self._file(place) is not None:
            raise Refused(f"{place} is there already; change it with str_replace or insert, or delete it first.")
        if not file_text.strip():
            raise Refused("An empty file is not kept; give it a text.")
        self.store.remember(file_text, source=place, tags=[TAG], pinned=True, on_conflict="ignore")
        return f"Created {place}."

    def str_replace(self, path: str, old_str: str, new_str: str = "") -> str:
        file = self._existing(path)
        found = file.text.count(old_str) if old_str else 0
        if found != 1:
            raise Refused(f"The old text stands {found} times in {file.source}; it must stand there exactly once.")
        return self._changed(file, file.text.replace(old_str, new_str))

    def insert(self, path: str, insert_line: int, insert_text: str) -> str:
        file = self._existing(path)
        lines = file.text.split("\n")
        if not 0 <= insert_line <= len(lines):
            raise Refused(f"There is no line {insert_line} in {file.source}; give one from 0 to {len(lines)}.")
        lines[insert_line:insert_line] = insert_text.removesuffix("\n").split("\n")
        return self._changed(file, "\n".join(lines))

    def delete(self, path: str) -> str:
        """To the trash, in one act: `nacre undo` brings it back."""
        place = checked(path)
        gone = self._meant(place)
        if place == ROOT:
            raise Refused(f"{ROOT} itself cannot be deleted; delete what is in it.")
        self.store.forget(*(file.id for file in gone))
        return f"Deleted {place}."

    def rename(self, old_path: str, new_path: str) -> str:
        old, new = checked(old_path), checked(new_path)
        moving = self._meant(old)
        if ROOT in (old, new) or new.startswith(old + "/"):
            raise Refused(f"{old} cannot become {new}; choose another name.")
        if self._file(new) is not None or self._below(new):
            raise Refused(f"{new} is there already; delete it first, or choose another name.")
        for file in moving:
            self.store.edit(file.id, source=new + file.source.removeprefix(old))
        return f"Renamed {old} to {new}."

    def _changed(self, file: Memory, text: str) -> str:
        if not text.strip():
            raise Refused(f"Nothing would be left of {file.source}; delete it instead.")
        self.store.edit(file.id, text=text)
        return f"Changed {file.source}."

    def _folder(self, place: str) -> str:
        below = self._below(place)
        if not below and place != ROOT:
            raise Refused(f"{place} is not there; view {ROOT} to see what is.")
        shown: dict[str, int] = {}
        for file in below:
            parts = file.source.removeprefix(place + "/").split("/")
            name = f"{place}/{'/'.join(parts[:LEVELS])}" + ("/" if len(parts) > LEVELS else "")
            shown[name] = shown.get(name, 0) + len(file.text.encode())
        return f"In {place}:\n" + "\n".join(f"{size}\t{name}" for name, size in sorted(shown.items()))

    def _existing(self, path: str) -> Memory:
        file = self._file(checked(path))
        if file is None:
            raise Refused(f"There is no file {path}; view {ROOT} to see what is there.")
        return file

    def _meant(self, place: str) -> list[Memory]:
        """The file, or all files of the folder."""
        file = self._file(place)
        found = [file] if file is not None else self._below(place)
        if not found and place != ROOT:
            raise Refused(f"{place} is not there; view {ROOT} to see what is.")
        return found

    def _file(self, place: str) -> Memory | None:
        found = self.store.list_recent(1, tag=TAG, source=place)
        return self.store.clean(found[0]) if found else None

    def _below(self, place: str) -> list[Memory]:
        return [file for file in self.store.iterate(tag=TAG) if file.source.startswith(place + "/")]


COMMANDS = ("view", "create", "str_replace", "insert", "delete", "rename")


def checked(path: str) -> str:
    """Raises `Refused` for every path that is not plainly below the root, however it is written."""
    plain = path.rstrip("/") if len(path) > 1 else path
    known = plain == ROOT or plain.startswith(ROOT + "/")
    if not known or unquote(plain) != plain or "\\" in plain or "\0" in plain or posixpath.normpath(plain) != plain:
        raise Refused(f"{path!r} is no path below {ROOT}; write it plainly, such as {ROOT}/notes.md.")
    return plain


def claude_tool(store: MemoryStore) -> BetaAbstractMemoryTool:
    """For `client.beta.messages.tool_runner(tools=[claude_tool(store)], …)` of the anthropic package."""
    from anthropic.lib.tools import BetaAbstractMemoryTool, ToolError

    files = MemoryFiles(store)

    class NacreMemoryTool(BetaAbstractMemoryTool):
        def execute(self, command: Any) -> str:
            try:
                return files.run(command.to_dict())
            except Refused as error:
                raise ToolError(str(error)) from error

        view = create = str_replace = insert = delete = rename = execute

    return NacreMemoryTool()


def main() -> None:
    import os

    import anthropic

    from nacre.settings import settings

    store = MemoryStore(settings=settings(), actor="memory-tool")
    runner = anthropic.Anthropic().beta.messages.tool_runner(
        model=os.environ.get("AGENT_MODEL", "claude-sonnet-5-5"),
        max_tokens=2048,
        tools=[claude_tool(store)],
        messages=[{"role": "user", "content": input("you> ")}],
    )
    for block in runner.until_done().content:
        print(getattr(block, "text", ""), flush=True)


if __name__ == "__main__":
    main()
