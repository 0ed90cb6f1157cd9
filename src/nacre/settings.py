"""Where the settings come from: option, environment, project file, user file, default; the first match wins.

A value in `[spaces.NAME]` wins over the environment and the files in that space; an argument of the call wins over it.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field, fields, replace
from functools import cache
from pathlib import Path
from time import gmtime, strftime
from typing import NamedTuple, TypeVar

from nacre.errors import ConfigError, nearest_name
from nacre.files import data_sections, restrict_to_owner, user_folder
from nacre.project import project_of
from nacre.trust import ProjectFile, consent_to, read_project_file

V = TypeVar("V")

PROJECT_FILE = ".nacre.toml"
USER_FILE = "config.toml"
STORE_FILE = "nacre.db"
IN_MEMORY = ":memory:"
OPENAI = "https://api.openai.com/v1"
ENVIRONMENT = "NACRE_"
NOT_SETTINGS = ("NACRE_HOOK_LIMIT",)  # other variables that the program reads
KEY_FILE = "file:"  # before the path, in a setting that names a key
KEY_VARIABLE = "env:"
KEY_PLACES = (KEY_VARIABLE, KEY_FILE, "keyring:")  # ways to name where a key is, instead of writing it down
KEYS = ("key", "token", "embedder_key", "language_model_key")
# Which key goes to which URL.
SERVICES = {"store": "token", "embedder_url": "embedder_key", "language_model_url": "language_model_key"}
ADDRESS = re.compile(r"([A-Za-z][A-Za-z0-9+.-]+):[/\\]")  # of a service, not of a file; C:/ is a drive
HOST_AND_PORT = re.compile(r"([A-Za-z0-9][A-Za-z0-9.-]+|\[[0-9A-Fa-f:.]+\]):[0-9]{1,5}/?")  # without http://
# In the address of a database or a server: after the user, also one with an @ in it, or as a parameter, whose name may
# be escaped. What PostgreSQL's client takes for a password is always one: all from the first colon to an @ before the
# first slash. It is hidden too where it has a slash, and the next one ends the host. In other addresses a port with
# nothing of a user behind it is none, whatever the path or the query has, nor are the colons of an IPv6 address.
IPV6 = r"\[[\da-fA-F.]*:[\da-fA-F:.]*(?:%\w+)?\]"
PASSWORD = re.compile(
    r"(postgres(?:ql)?://[^:/@]*):(?:[^/@]*|[^?@]*(?=@[^/?@]*/))@(?:[^/?#@\s]*@)*"
    rf"|(//(?:(?!{IPV6})[^:/@])*):(?!\d+(?:,[^/?#@]*)?[/?#])[^@]*@(?:[^/?#@\s]*@)*"
    rf"|((?i:{''.join(f'(?:{sign}|%{ord(sign):x})' for sign in 'password')})=)(?:'[^']*'|[^&\s]+)"
)
PERSONAL = "personal"
PERSONAL_PREFIX = f"{PERSONAL}@"  # on a server, before the name of the user whose space it is; no project has the sign
PATHS = ("store", "journal_mirror", "backup_folder")
NAMED, LONGEST_NAME = 5, 40  # of unknown names in a project's file: how many are named, and characters of each
SHARES = ("default_importance", "min_trust", "lesson_semantic")  # from 0 to 1
LARGEST = 1e15  # of a setting: beyond it are only mistakes, and infinity
INTEGERS = ("retain_max_count",)  # a part of a memory cannot be kept
SWITCHES = ("hook_inject",)  # numbers that take true (the default) and false (0) too
TABLES = ("spaces",)
DEFAULT = "default"
STORE_WIDE = (
    "store",
    "space",
    "key",
    "token",
    "embedder",
    "embedder_url",
    "embedder_key",
    *TABLES,
)  # for the complete store
TRUTHS = {"true": True, "yes": True, "on": True, "1": True, "false": False, "no": False, "off": False, "0": False}


@dataclass(frozen=True, slots=True)
class Settings:
    """What each means is in `settings.txt`; `nacre config describe` prints it."""

    store: str = ""
    key: str = ""
    token: str = ""
    space: str = ""
    embedder: str = "auto"
    embedder_url: str = OPENAI
    embedder_key: str = ""
    reranker: str = ""
    rerank_ms: float = 80.0
    language_model: str = ""
    language_model_url: str = ""
    language_model_key: str = ""
    default_type: str = "semantic"
    default_importance: float = 0.5
    importance: str = "rules"
    secrets: str = "redact"
    secrets_allow: str = ""
    personal_data: str = "allow"
    suspicious: str = "mark"
    min_trust: float = 0.0
    agent: str = ""
    session: str = ""
    scope: str = ""
    scope_types: str = ""
    scope_spaces: str = ""
    scope_quota_mb: float = 0.0
    on_conflict: str = "note"
    conflict_judge: str = "model"
    strict_links: bool = False
    journal_days: float = 0.0
    journal_mirror: str = ""
    maintenance_every: str = ""
    decay_rate: float = 0.02  # a month's half-life for what nobody uses
    decay_protect: str = "procedural,lesson"
    reflect_apply: bool = False
    summarizer: str = "central"
    retain_max_days: float = 0.0
    retain_max_count: float = 0.0
    lesson_semantic: float = 0.7
    hook_capture: bool = True
    hook_inject: float = 500.0
    trash_days: float = 30.0
    backup_every: str = "24h"
    backup_folder: str = ""
    spaces: Mapping[str, Mapping[str, object]] = field(default_factory=dict)

    def for_space(self, space: str) -> Settings:
        """With the values of a file's table `[spaces.NAME]`, which win over the environment and the files. An argument
        of a call (`on_conflict`) wins over them."""
        own = self.spaces.get(space)
        return replace(self, **own) if own else self  # type: ignore[arg-type]


TYPES = {"str": "text", "float": "number", "bool": "true or false"}


class Description(NamedTuple):
    """`values` lists the allowed values; empty when any value is allowed."""

    group: str
    values: tuple[str, ...]
    example: str
    about: str
    type: str


@cache
def descriptions() -> Mapping[str, Description]:
    """What each setting means, by its name."""
    types = {each.name: TYPES[str(each.type)] for each in fields(Settings) if each.name not in TABLES}
    described = {}
    for group, lines in data_sections("settings.txt"):
        for line in lines:
            name, values, example, about = map(str.strip, line.split("|", 3))
            described[name] = Description(group, tuple(values.split()), example, about, types[name])
    return described


def own_space(value: object, file: Path) -> bool:
    """Not `personal`, which every project reads: what is said in a cloned repository would come before all prompts."""
    project = project_of(file.parent.absolute())
    return project is not None and project.owns(str(value))


def switched_off(value: object, _file: Path) -> bool:
    return value in (False, 0)


# What a project's own file may set without the user's consent, and to which values. Any other key could send, write,
# run or read something outside the project; it takes effect after `nacre config trust`.
HARMLESS: Mapping[str, Callable[[object, Path], bool]] = {
    "space": own_space,
    "hook_capture": switched_off,
    "hook_inject": switched_off,
}


@dataclass(frozen=True, slots=True)
class Source:
    """What one file sets. `ignored` is what it sets and may not; `notice` says so in one line with the remedy."""

    file: Path
    values: Mapping[str, object]
    ignored: Mapping[str, object] = field(default_factory=dict)
    notice: str = ""


Notify = Callable[[str], None]
_notified: set[str] = set()


def log_once(notice: str) -> None:
    if notice not in _notified:
        _notified.add(notice)
        import logging  # seldom needed: a hook would wait for it at every prompt

        logging.getLogger("nacre").warning("%s", notice)


def settings(
    flags: Mapping[str, object] | None = None,
    *,
    environment: Mapping[str, str] | None = None,
    folder: Path | None = None,
    user_file: Path | None = None,
    notify: Notify = log_once,
) -> Settings:
    """Calls `notify` with one line when a project's file sets something that it is not allowed to set, and for a
    variable that is not a setting.
    Raises `ConfigError`, which names the file and the key, when a setting cannot be read."""
    environment = os.environ if environment is None else environment
    result = Settings()
    for source in from_files(folder or Path.cwd(), user_file):
        result = merged(result, source.values)
        if source.notice:
            notify(source.notice)
    result = replace(result, **from_environment(environment))  # type: ignore[arg-type]
    for notice in unknown_variables(environment, result):
        notify(notice)
    result = replace(result, **{k: v for k, v in (flags or {}).items() if v is not None})  # type: ignore[arg-type]
    return result if result.store else replace(result, store=str(default_store()))


def merged(base: Settings, values: Mapping[str, object]) -> Settings:
    """A table of one space replaces that of the earlier file. A key stays with the URL that was set beside it."""
    tables = {name: without_foreign_keys(table, values) for name, table in base.spaces.items()}
    own: Mapping[str, Mapping[str, object]] = values.get("spaces", {})  # type: ignore[assignment]
    return replace(base, **{**values, "spaces": {**tables, **own}})  # type: ignore[arg-type]


def without_foreign_keys(table: Mapping[str, object], nearer: Mapping[str, object]) -> Mapping[str, object]:
    """The table of a space without keys whose URL a later file sets."""
    foreign = {key for url, key in SERVICES.items() if url in nearer and url not in table}
    return {name: value for name, value in table.items() if name not in foreign}


def from_files(folder: Path, user_file: Path | None = None) -> list[Source]:
    """The user's own file, then the project's: a later one wins. Raises `ConfigError`."""
    own, nearest = user_file or user_config(), project_file(folder)
    restrict_to_owner(own)  # it may hold the key of a service
    sources = [Source(own, from_file(own))] if own.is_file() else []
    return sources if nearest is None else [*sources, from_project(read_project_file(nearest))]


def from_project(read: ProjectFile) -> Source:
    """A trusted file is read like the user's own. Of any other only harmless keys count, and whatever else it holds is
    named and ignored: a file that somebody else wrote must not stop a command either."""
    if read.fault:
        return Source(read.file, {}, notice=read.fault)
    if read.trusted:
        return Source(read.file, with_own_keys(parsed(read.content, read.file)))
    try:
        values = loaded(read.content, read.file)
    except ConfigError as error:
        return Source(read.file, {}, notice=f"The project's settings are ignored: {error}")
    allowed = {key: value for key in HARMLESS if (value := harmless_value(key, values, read.file)) is not None}
    ignored = {key: value for key, value in values.items() if key not in allowed}
    return Source(read.file, allowed, ignored, notice_of(read, ignored) if ignored else "")


def harmless_value(key: str, values: Mapping[str, object], file: Path) -> object | None:
    """None where the file does not set the key, or sets it to something that it may not."""
    if key not in values:
        return None
    try:
        value = converted(key, values[key], str(file))
    except ConfigError:
        return None
    return value if HARMLESS[key](value, file) else None


def notice_of(read: ProjectFile, ignored: Mapping[str, object]) -> str:
    known = sorted(key for key in ignored if key in Settings.__dataclass_fields__)
    unknown = sorted(ascii(key[:LONGEST_NAME]) for key in set(ignored).difference(known))  # it may hold a line end
    project = project_of(read.file.parent) if "space" in known else None
    own = f" (its own space {project.space()!r} needs no consent)" if project is not None else ""
    before = consent_to(read.file)
    names, it = listed(known), "it" if len(known) == 1 else "them"
    sentences = []
    if known and before is not None:
        sentences.append(
            f"{read.file} has changed since you trusted it on {strftime('%Y-%m-%d', gmtime(before.at))}, so {names} "
            f"{'is' if len(known) == 1 else 'are'} ignored{own}; run `nacre config trust` there to review it again."
        )
    elif known:
        sentences.append(
            f"{read.file} sets {names}, which a project may not set by itself{own}; `nacre config trust` there allows "
            f"{it}, if you trust it."
        )
    if unknown:
        what = "which is not a setting" if len(unknown) == 1 else "which are not settings"
        sentences.append(f"{read.file} sets {listed(unknown[:NAMED])}, {what}; `nacre config list` has them all.")
    return " ".join(sentences)


def listed(names: Sequence[str]) -> str:
    return " and ".join([", ".join(names[:-1]), names[-1]] if len(names) > 1 else names)


def with_own_keys(values: Mapping[str, object]) -> dict[str, object]:
    """A URL in a project's file gets the key of the same file (or of the environment, which is read later), never the
    one in the user's own file: that key is for the user's own service."""
    empty = {key: "" for url, key in SERVICES.items() if url in values}
    merged_values = {**empty, **values}
    tables: Mapping[str, Mapping[str, object]] = values.get("spaces", {})  # type: ignore[assignment]
    if tables:
        merged_values["spaces"] = {
            name: {**{key: merged_values.get(key, "") for url, key in SERVICES.items() if url in table}, **table}
            for name, table in tables.items()
        }
    return merged_values


class Setting(NamedTuple):
    """`source` says where the value comes from: an option, an environment variable, a file, or `default`. An `ignored`
    one is set in a project's file and has no effect."""

    key: str
    value: object
    source: str
    ignored: bool = False


def settings_with_sources(
    flags: Mapping[str, object] | None = None, *, folder: Path | None = None, notify: Notify = log_once
) -> list[Setting]:
    """Every setting with its source; those of a single space as `spaces.NAME.KEY`; at the end what is ignored.

    Raises `ConfigError`.
    """
    effective, origins = settings(flags, folder=folder, notify=notify), dict[str, str]()
    spaced: dict[str, str] = {}
    ignored: list[Setting] = []
    for source in from_files(folder or Path.cwd()):
        origins |= {key: str(source.file) for key, value in source.values.items() if value != "" or key not in KEYS}
        spaced |= dict.fromkeys(source.values.get("spaces", {}), str(source.file))  # type: ignore[call-overload]
        ignored += [Setting(key, value, str(source.file), ignored=True) for key, value in flat(source.ignored)]
    origins |= {name: ENVIRONMENT + name.upper() for name in from_environment(os.environ)}
    origins |= {name: f"--{name}" for name, value in (flags or {}).items() if value is not None}
    effective_settings = [
        Setting(each.name, getattr(effective, each.name), origins.get(each.name, DEFAULT))
        for each in fields(Settings)
        if each.name not in TABLES
    ]
    tables = [
        Setting(key, value, spaced[key.split(".", 1)[1].rpartition(".")[0]])
        for key, value in flat({"spaces": effective.spaces})
    ]
    return effective_settings + tables + ignored


def flat(values: Mapping[str, object]) -> list[tuple[str, object]]:
    """With the tables of single spaces as `spaces.NAME.KEY`; what is no such table, of a file that nobody trusts, stays
    as it is."""
    listed: list[tuple[str, object]] = []
    for key, value in values.items():
        if key in TABLES and isinstance(value, dict) and all(isinstance(table, dict) for table in value.values()):
            listed += [(f"{key}.{name}.{each}", held) for name, table in value.items() for each, held in table.items()]
        else:
            listed.append((key, value))
    return listed


def user_config() -> Path:
    return user_folder("config") / USER_FILE


def default_store() -> Path:
    return user_folder("data") / STORE_FILE


def project_file(folder: Path) -> Path | None:
    """The nearest one in the folder or its parents."""
    return next((file for at in (folder, *folder.parents) if (file := at / PROJECT_FILE).is_file()), None)


def from_file(file: Path) -> dict[str, object]:
    """Everything that the file sets. Raises `ConfigError`."""
    try:
        content = file.read_bytes()
    except OSError as error:
        raise unreadable(file, error) from error
    return parsed(content, file)


def loaded(content: bytes, file: Path) -> dict[str, object]:
    """The keys of a TOML file as they are written. Raises `ConfigError`."""
    import tomllib

    try:
        return tomllib.loads(content.decode("utf-8"))
    except (ValueError, RecursionError) as error:  # TOMLDecodeError is a ValueError
        raise unreadable(file, error) from error


def parsed(content: bytes, file: Path) -> dict[str, object]:
    """`file` is where the content lies. Raises `ConfigError`."""
    content_values = loaded(content, file)
    read: dict[str, object] = {
        key: spaces_of(value, str(file)) if key in TABLES else converted(key, value, str(file))
        for key, value in content_values.items()
    }
    if "spaces" in read:
        tables: Mapping[str, dict[str, object]] = read["spaces"]  # type: ignore[assignment]
        read["spaces"] = {name: with_full_paths(table, file.parent, str(file)) for name, table in tables.items()}
    return with_full_paths(read, file.parent, str(file))


def with_full_paths(values: dict[str, object], folder: Path, source: str) -> dict[str, object]:
    """A relative path, also in `file:PATH`, starts from `folder`, that of the settings file. Raises `ConfigError`."""
    full = dict(values)
    for key in (*PATHS, *KEYS):
        value = str(values.get(key, ""))
        lead = KEY_FILE if key in KEYS else ""
        address = ADDRESS.match(value) or (key == "store" and HOST_AND_PORT.fullmatch(value))
        if value.startswith(lead) and value not in (lead, IN_MEMORY) and (lead or not address):
            full[key] = lead + full_path(value.removeprefix(lead), folder, source)
    return full


def unreadable(file: Path, error: Exception) -> ConfigError:
    return ConfigError(f"{file} cannot be read as settings ({error}). Fix or remove it.")


def full_path(path: str, folder: Path, source: str) -> str:
    try:
        return str(folder / Path(path).expanduser())
    except RuntimeError as error:
        raise ConfigError(f"{source} names {path!r}, but that user has no home folder. Write a full path.") from error


def from_environment(environment: Mapping[str, str]) -> dict[str, object]:
    known = variables()
    return {
        known[key]: converted(known[key], environment[key], key)
        for key in own_variables(environment)
        if key in known and environment[key].strip() != ""
    }


def own_variables(environment: Mapping[str, str]) -> list[str]:
    """Those that look like settings: a few of many, and every command reads the settings several times."""
    return sorted(name for name in environment if name.startswith(ENVIRONMENT))


@cache
def variables() -> Mapping[str, str]:
    """The environment variables by name, each with its setting."""
    return {ENVIRONMENT + name.upper(): name for name in kinds()}


@cache
def kinds() -> Mapping[str, str]:
    """The settings by name, each with its type as it is written."""
    return {each.name: str(each.type) for each in fields(Settings) if each.name not in TABLES}


def unknown_variables(environment: Mapping[str, str], known: Settings) -> list[str]:
    """A sentence for each that looks like a setting. It stops no command, since another program may read it, and one
    that holds a key (`env:NAME`) is not meant."""
    unknown = [name for name in own_variables(environment) if name not in variables() and name not in NOT_SETTINGS]
    if not unknown:  # the usual case: looking through all settings for names of keys takes longer than the rest
        return []
    keys = {str(value) for name, value in flat(asdict(known)) if name.rpartition(".")[2] in KEYS}
    names = {name: name.removeprefix(ENVIRONMENT).lower() for name in unknown if KEY_VARIABLE + name not in keys}
    return [
        f"{name} is ignored, because {key!r} is not a setting; {nearest(key, kinds())}" for name, key in names.items()
    ]


def has_password(address: object) -> bool:
    return PASSWORD.search(str(address)) is not None


def without_password(address: object, instead: str = "") -> str:
    """For a message, or with `instead` in its place."""

    def hidden(match: re.Match[str]) -> str:
        if match[3]:
            return f"{match[3]}{instead or '…'}"
        user = match[1] or match[2]
        return f"{user}:{instead}@" if instead else f"{user}@"

    return PASSWORD.sub(hidden, str(address))


def public_value(key: str, value: V) -> V | str:
    """Of a setting whose value is an address, without its password."""
    return without_password(value) if key.rpartition(".")[2] in SERVICES else value


def parse_number(key: str, value: object, origin: str) -> float:
    if key in SWITCHES and (said := str(value).strip().lower()) in TRUTHS and said not in ("0", "1"):
        value = getattr(Settings(), key) if TRUTHS[said] else 0.0
    try:
        number = float(value)  # type: ignore[arg-type]
    except (TypeError, ValueError, OverflowError) as error:
        usual = f"{getattr(Settings(), key):g}"
        raise ConfigError(
            f"{origin} sets {key} to something that is not a number. Write {usual}, for example."
        ) from error
    if not 0 <= number <= (1 if key in SHARES else LARGEST) or (key in INTEGERS and number % 1):
        kind = "whole number" if key in INTEGERS else "number"
        wanted = f"{kind} from 0 to 1" if key in SHARES else f"{kind} from 0 on"
        raise ConfigError(f"{origin} sets {key} to {value}; write a {wanted}.")
    return number


def converted(key: str, value: object, origin: str) -> object:
    kind = kinds().get(key)
    if kind is None:
        raise ConfigError(f"{origin} sets {key!r}, which is not a setting; {nearest(key, kinds())}")
    if kind == "float":
        return parse_number(key, value, origin)
    if kind == "bool":
        return parse_bool(key, value, origin)
    if not isinstance(value, str):
        printed = "something" if key in KEYS else repr(value)  # it may be the key itself
        raise ConfigError(f"{origin} sets {key} to {printed}; write it as text in quotes.")
    return value


def spaces_of(values: object, origin: str) -> dict[str, dict[str, object]]:
    if not isinstance(values, dict) or not all(isinstance(each, dict) for each in values.values()):
        raise ConfigError(
            f"{origin} sets 'spaces' to something other than tables; write [spaces.NAME] above the settings of a space."
        )
    for name, table in values.items():
        for key in STORE_WIDE:
            if key in table:
                raise ConfigError(f"{origin} sets {key!r} for the space {name!r} only; set it for the complete store.")
    return {
        name: {key: converted(key, value, origin) for key, value in table.items()} for name, table in values.items()
    }


def parse_bool(key: str, value: object, origin: str) -> bool:
    if isinstance(value, bool):
        return value
    said = str(value).strip().lower()
    if said not in TRUTHS:
        raise ConfigError(f"{origin} sets {key} to {value!r}; write true or false.")
    return TRUTHS[said]


def nearest(key: str, names: Iterable[str]) -> str:
    known = sorted(names)
    near = nearest_name(key, known)
    return f"did you mean {near!r}?" if near else "`nacre config list` shows all settings."


def personal_space(user: str) -> str:
    """The space that `personal` means for a user of a server: what is about a person is not everybody's."""
    return f"{PERSONAL_PREFIX}{user}"


class SpaceChoice(NamedTuple):
    """The space that an interface works in, and why. `beside` is one that it also looks into, or empty; `named` says
    that an option, the environment or a settings file names the space."""

    space: str
    reason: str
    beside: str = ""
    named: bool = False


def choose_space(
    folder: Path,
    known: Iterable[str] = (),
    *,
    flags: Mapping[str, str] | None = None,
    environment: Mapping[str, str] | None = None,
) -> SpaceChoice:
    """The one rule for commands, the MCP server and hooks: the chosen space, else that of the project, else `personal`.

    One that an option or the environment names is used alone; beside any other, `personal` is looked into. `known` are
    the spaces of the store: a project keeps its space, whatever its clones are called. Raises `ConfigError`.
    """
    variable = f"{ENVIRONMENT}SPACE"
    value = (os.environ if environment is None else environment).get(variable, "").strip()
    named = ((flags or {}).get("space"), "--space"), (value, variable)
    for space, origin in named:
        if space:
            return SpaceChoice(space, f"{origin} names it", named=True)
    for source in reversed(from_files(folder.absolute())):
        if space := str(source.values.get("space", "")):
            return SpaceChoice(space, f"{source.file} names it", "" if space == PERSONAL else PERSONAL, named=True)
    project = project_of(folder)
    if project is None:
        return SpaceChoice(PERSONAL, f"{folder} is in no repository")
    return SpaceChoice(project.space(known), f"{folder} is in a repository known by {project.known_by}", PERSONAL)
