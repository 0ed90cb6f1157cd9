"""The file of lessons and their vocabulary, written and read as JSON or YAML. What is read is untrusted input."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any, TypeAlias, cast

from nacre.errors import InvalidInput, UnknownName
from nacre.files import open_regular
from nacre.lessons.lesson import Lesson
from nacre.lessons.vocabulary import KINDS, REFERENCE, RELATION_KEYS, TABLE_SEPARATOR, TAG, Key, Vocabulary, normalize
from nacre.memory_store import MemoryStore
from nacre.model import Link, Memory
from nacre.model.filter import ancestors, is_under
from nacre.model.instants import iso
from nacre.model.memory import Json
from nacre.transfer.export import replacing
from nacre.transfer.ingest.markdown import check_yaml_events
from nacre.transfer.read_archive import no_number

if TYPE_CHECKING:
    from nacre.safety.secrets import Policy

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


# Fields of a memory that a lesson has under its own names, and its `record` does not repeat.
LESSON_FIELDS = ("id", "text", "title", "type", "space", "agent", "tags", "contexts", "anti_contexts", "source",
                 "source_notes", "metadata", "confidence", "superseded_by", "links", "trashed_from")  # fmt: skip
UNREDACTED = ("id", "superseded_by", "links", "confidence", "created_at", "updated_at", "last_validated_at")


@dataclass(slots=True)
class Redaction:
    """Masks secrets and personal data, and counts them; without a `policy` it changes nothing."""

    policy: Policy | None
    counts: Counter[str] = field(default_factory=Counter)

    @classmethod
    def for_store(cls, store: MemoryStore) -> Redaction:
        from nacre.remember.guard import parse_allowed
        from nacre.safety.secrets import Policy

        return cls(Policy(personal=True, allow=parse_allowed(store.settings.secrets_allow)))

    def clean(self, value: Json) -> Json:
        if self.policy is None:
            return value
        from nacre.safety.secrets import scrub_json

        cleaned = scrub_json(value, policy=self.policy)
        self.counts.update(cleaned.kinds)
        return cleaned.value

    def clean_lesson(self, lesson: dict[str, Json]) -> dict[str, Json]:
        """Ids and times are generated and stay as they are."""
        free = {name: value for name, value in lesson.items() if name not in UNREDACTED}
        clean = cast("dict[str, Json]", self.clean(free))
        links = [{**link, "data": self.clean(link["data"])} if "data" in link else link for link in links_of(lesson)]
        return {name: list(links) if name == "links" else clean.get(name, value) for name, value in lesson.items()}

    def warnings(self) -> tuple[str, ...]:
        if not self.counts:
            return ()
        kinds = ", ".join(f"{count} {kind}" for kind, count in sorted(self.counts.items()))
        return (f"Secrets and personal data were masked ({kinds}); redact=False writes them as they are.",)


def links_of(lesson: Mapping[str, Json]) -> list[dict[str, Json]]:
    return cast("list[dict[str, Json]]", lesson["links"])


def export_document(
    store: MemoryStore, memories: Sequence[Memory], excluded: frozenset[str], redaction: Redaction, *, all_terms: bool
) -> dict[str, Json]:
    """`excluded` are tags that the file must not mention; `all_terms` includes terms that no lesson uses."""
    ids = {memory.id for memory in memories}
    lessons = [redaction.clean_lesson(lesson_values(memory, ids)) for memory in memories]
    vocabulary = {
        kind: {str(redaction.clean(name)): redaction.clean(dict(data)) for name, data in terms.items()}
        for kind, terms in exported_terms(store, memories, excluded, all_terms=all_terms).items()
    }
    links, terms = sum(len(links_of(each)) for each in lessons), sum(map(len, vocabulary.values()))
    counts: dict[str, Json] = {"lessons": len(lessons), "links": links, "words": terms}
    head: dict[str, Json] = {"format": FORMAT, "version": VERSION, "exported_at": iso(store.now()), "counts": counts}
    if redaction.counts:
        head["redacted"] = dict(sorted(redaction.counts.items()))
    return {**head, "vocabulary": cast("Json", vocabulary), "lessons": cast("Json", lessons)}


def lesson_values(memory: Memory, ids: set[str]) -> dict[str, Json]:
    """`record` holds the exact times and all other fields of the memory."""
    return {
        **Lesson.of(memory).to_dict(),
        "links": [link_values(link) for link in memory.links if link.to in ids],
        "metadata": dict(memory.metadata),
        "record": {name: value for name, value in memory.to_dict().items() if name not in LESSON_FIELDS},
    }


def link_values(link: Link) -> dict[str, Json]:
    values: dict[str, Json] = {"to": link.to, "relation": link.rel, "weight": link.weight}
    return {**values, "data": dict(link.data)} if link.data else values


def exported_terms(
    store: MemoryStore, memories: Sequence[Memory], excluded: frozenset[str], *, all_terms: bool
) -> dict[str, dict[str, Mapping[str, Json]]]:
    """The terms of the lessons with their aliases, synonyms and parents, and the reference tables that their metadata
    names."""
    exported: dict[str, dict[str, Mapping[str, Json]]] = {}
    for kind in KINDS:
        stored = store.vocabulary(kind)
        vocabulary = Vocabulary(store, kind)
        used = {name for memory in memories for name in vocabulary.terms_of(memory)}
        names = set(stored) if all_terms else with_relatives(vocabulary, used)
        hidden = excluded if kind == TAG else frozenset()
        visible = {name for name in names if not is_under(name, set(hidden))}
        exported[kind] = {name: without_terms(data, hidden) for name, data in stored.items() if name in visible}
    tables = {normalize(key) for memory in memories for key in memory.metadata}
    exported[REFERENCE] = {
        name: data
        for name, data in store.vocabulary(REFERENCE).items()
        if all_terms or name.partition(TABLE_SEPARATOR)[0] in tables
    }
    return {kind: terms for kind, terms in exported.items() if terms}


def with_relatives(vocabulary: Vocabulary, names: set[str]) -> set[str]:
    """Adds aliases, synonyms and parents; never siblings or children, which tell about other lessons."""
    included: set[str] = set()
    queue = list(names)
    referring: dict[str, list[str]] = {}
    for term in vocabulary.terms.values():
        for name in (term.alias_of, *term.names(Key.SYNONYMS)):
            referring.setdefault(name, []).append(term.name)
    while queue:
        name = queue.pop()
        if name in included or not name:
            continue
        included.add(name)
        queue += [*ancestors(name), *referring.get(name, ())]
        if own := vocabulary.terms.get(name):
            queue += [own.alias_of, *own.names(Key.SYNONYMS), *own.names(Key.PARENTS)]
    return included


def without_terms(data: Mapping[str, Json], hidden: frozenset[str]) -> Mapping[str, Json]:
    if not hidden:
        return data
    clean = dict(data)
    for key in RELATION_KEYS:
        if isinstance(names := clean.get(key), list):
            clean[key] = [name for name in names if not is_under(str(name), set(hidden))]
    if is_under(str(clean.get(Key.ALIAS_OF, "")), set(hidden)):
        del clean[Key.ALIAS_OF]
    return clean


def warn_lost_links(memories: Iterable[Memory]) -> list[str]:
    ids = {memory.id for memory in memories}
    lost = sum(link.to not in ids for memory in memories for link in memory.links)
    return [f"Links left out, because their targets are not exported: {lost}."] if lost else []
