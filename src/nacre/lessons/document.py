"""A file of lessons as JSON or YAML and the plain values in it, read with care since it may be anybody's."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import IO, Any, TypeAlias

from nacre.errors import InvalidInput, UnknownName
from nacre.files import open_regular
from nacre.model.memory import Json
from nacre.transfer.safe_yaml import check_events
from nacre.transfer.write_archive import replacing

FORMAT, VERSION = "nacre-lessons", 1
FORMATS = ("json", "yaml")
SUFFIXES = {".json": "json", ".yaml": "yaml", ".yml": "yaml"}
LARGEST_FILE = 64 * 1024 * 1024  # bytes: some 50,000 lessons, and ten times as much in memory once it is read
Out: TypeAlias = Path | str | IO[str]
Given: TypeAlias = Path | str | IO[str] | IO[bytes]


def refused(what: str) -> InvalidInput:
    return InvalidInput(f"The lessons cannot be imported: {what}.")


def format_of(place: object, named: str | None) -> str | None:
    """As it is named, else as the file's name ends."""
    if named is not None and named not in FORMATS:
        raise UnknownName("format", named, FORMATS)
    return named or (SUFFIXES.get(Path(place).suffix.lower()) if isinstance(place, str | Path) else None)


def write(whole: Mapping[str, Json], out: Out, format: str) -> None:
    text = as_yaml(whole) if format == "yaml" else json.dumps(whole, ensure_ascii=False, indent=2) + "\n"
    if not isinstance(out, str | Path):
        out.write(text)
        return
    target = Path(out).expanduser()
    with replacing(target, refuse_other) as file:
        file.write(text.encode("utf-8"))


def refuse_other(target: Path) -> None:
    """Only lessons give way to lessons: a slip must not cost a store."""
    if not target.exists():
        return
    if target.is_file():
        with target.open("rb") as file:
            begins = file.read(200)
        if not begins or FORMAT.encode() in begins:
            return
    raise InvalidInput(f"{target} is there already and holds no lessons; choose another name.")


def as_yaml(whole: Mapping[str, Json]) -> str:
    import yaml

    class Plain(getattr(yaml, "CSafeDumper", yaml.SafeDumper)):  # type: ignore[misc]
        """Writes everything out, also what is there twice."""

        def ignore_aliases(self, _data: object) -> bool:
            return True

    return str(yaml.dump(dict(whole), Dumper=Plain, allow_unicode=True, sort_keys=False))


def read(source: Given, format: str | None) -> dict[str, Any]:
    """The values of a file of this format and version. Raises `InvalidInput` for anything else."""
    text = text_of(source)
    chosen = format_of(source, format) or ("json" if text.lstrip()[:1] == "{" else "yaml")
    whole = from_json(text) if chosen == "json" else from_yaml(text)
    if not isinstance(whole, dict) or whole.get("format") != FORMAT:
        raise refused(f"they do not begin with `format: {FORMAT}`; give a file that `export` wrote")
    version = whole.get("version")
    if type(version) is not int or version != VERSION:
        raise refused(f"their version is {version!r:.40}, and this program reads {VERSION}; take the newest program")
    return whole


def text_of(source: Given) -> str:
    if isinstance(source, str | Path):
        path = Path(source).expanduser()
        try:
            with open_regular(path) as file:
                return text_of(file)
        except (OSError, ValueError) as error:
            if isinstance(error, InvalidInput):
                raise
            reason = getattr(error, "strerror", None) or error
            raise refused(f"{path} cannot be read ({reason}); check its name") from error
    given = source.read(LARGEST_FILE + 1)
    if len(given) > LARGEST_FILE:
        raise refused(f"there is more than {LARGEST_FILE // 2**20} MiB of them; split the file, or export by tags")
    try:
        return given.decode("utf-8-sig") if isinstance(given, bytes) else given
    except UnicodeDecodeError as error:
        raise refused(f"they are not written in UTF-8 (byte {error.start}); save the file as UTF-8") from error


def from_json(text: str) -> object:
    def no_number(name: str) -> object:
        raise ValueError(f"{name} is no number")

    try:
        return json.loads(text, parse_constant=no_number)
    except ValueError as error:
        raise refused(f"they are no JSON ({error}); mend the file, or export again") from error
    except RecursionError as error:
        raise refused("they are nested too deep; make them flatter") from error


def from_yaml(text: str) -> object:
    import yaml

    loader = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
    try:
        check_events(yaml.parse(text, Loader=loader), refused)
        return yaml.load(text, Loader=loader)
    except (yaml.YAMLError, ValueError) as error:
        if isinstance(error, InvalidInput):
            raise
        told = " ".join(str(error).split())
        raise refused(f"they are no YAML ({told:.200}); mend the file, or export again") from error
