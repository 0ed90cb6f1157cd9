"""Reads and writes a file of lessons as JSON or YAML. The file is untrusted input."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import IO, Any, TypeAlias

from nacre.errors import InvalidInput, UnknownName
from nacre.files import open_regular
from nacre.model.memory import Json
from nacre.transfer.export import replacing
from nacre.transfer.ingest.markdown import check_yaml_events
from nacre.transfer.read_archive import no_number

FORMAT, VERSION = "nacre-lessons", 1
FORMATS = ("json", "yaml")
SUFFIXES = {".json": "json", ".yaml": "yaml", ".yml": "yaml"}
MAX_FILE_BYTES = 64 * 1024 * 1024  # some 50,000 lessons; parsed values take ten times as much memory
Out: TypeAlias = Path | str | IO[str]
Source: TypeAlias = Path | str | IO[str] | IO[bytes]


def import_error(reason: str) -> InvalidInput:
    return InvalidInput(f"The lessons cannot be imported: {reason}.")


def format_of(file: object, format: str | None) -> str | None:
    """The given format, else that of the file name's suffix."""
    if format is not None and format not in FORMATS:
        raise UnknownName("format", format, FORMATS)
    return format or (SUFFIXES.get(Path(file).suffix.lower()) if isinstance(file, str | Path) else None)


def write(document: Mapping[str, Json], out: Out, format: str) -> None:
    text = to_yaml(document) if format == "yaml" else json.dumps(document, ensure_ascii=False, indent=2) + "\n"
    if not isinstance(out, str | Path):
        out.write(text)
        return
    target = Path(out).expanduser()
    with replacing(target, check_target) as file:
        file.write(text.encode("utf-8"))


def check_target(target: Path) -> None:
    """Only a file of lessons may be replaced: a wrong name must not destroy a store."""
    if not target.exists():
        return
    if target.is_file():
        with target.open("rb") as file:
            start = file.read(200)
        if not start or FORMAT.encode() in start:
            return
    raise InvalidInput(f"{target} exists and is not a file of lessons; choose another name.")


def to_yaml(document: Mapping[str, Json]) -> str:
    import yaml

    class PlainDumper(getattr(yaml, "CSafeDumper", yaml.SafeDumper)):  # type: ignore[misc]
        """Writes repeated values in full instead of YAML references."""

        def ignore_aliases(self, _data: object) -> bool:
            return True

    return str(yaml.dump(dict(document), Dumper=PlainDumper, allow_unicode=True, sort_keys=False))


def read(source: Source, format: str | None) -> dict[str, Any]:
    """The values of a file that `write` made. Raises `InvalidInput` for any other format or version."""
    text = text_of(source)
    chosen = format_of(source, format) or ("json" if text.lstrip()[:1] == "{" else "yaml")
    document = from_json(text) if chosen == "json" else from_yaml(text)
    if not isinstance(document, dict) or document.get("format") != FORMAT:
        raise import_error(f"the file does not begin with `format: {FORMAT}`; give a file that `export` wrote")
    version = document.get("version")
    if type(version) is not int or version != VERSION:
        raise import_error(f"the file has version {version!r:.40}, this program reads {VERSION}; update the program")
    return document


def text_of(source: Source) -> str:
    if isinstance(source, str | Path):
        path = Path(source).expanduser()
        try:
            with open_regular(path) as file:
                return text_of(file)
        except (OSError, ValueError) as error:
            if isinstance(error, InvalidInput):
                raise
            reason = getattr(error, "strerror", None) or error
            raise import_error(f"{path} cannot be read ({reason}); check its name") from error
    content = source.read(MAX_FILE_BYTES + 1)
    if len(content) > MAX_FILE_BYTES:
        raise import_error(f"the file is larger than {MAX_FILE_BYTES // 2**20} MiB; split it, or export by tags")
    try:
        return content.decode("utf-8-sig") if isinstance(content, bytes) else content
    except UnicodeDecodeError as error:
        raise import_error(f"the file is not UTF-8 text (byte {error.start}); save it as UTF-8") from error


def from_json(text: str) -> object:
    try:
        return json.loads(text, parse_constant=no_number)
    except ValueError as error:
        raise import_error(f"the file is not valid JSON ({error}); correct it, or export again") from error
    except RecursionError as error:
        raise import_error("the values are nested too deep; make them flatter") from error


def from_yaml(text: str) -> object:
    import yaml

    loader = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
    try:
        check_yaml_events(yaml.parse(text, Loader=loader), import_error)
        return yaml.load(text, Loader=loader)
    except (yaml.YAMLError, ValueError) as error:
        if isinstance(error, InvalidInput):
            raise
        reason = " ".join(str(error).split())
        raise import_error(f"the file is not valid YAML ({reason:.200}); correct it, or export again") from error
