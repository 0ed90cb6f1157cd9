"""Builds working parts from settings. The only file that opens a backend; slow imports happen on first use."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, TypeAlias

from nacre.access.unlimited import Unlimited
from nacre.errors import (
    AccessDenied,
    ConfigError,
    InvalidInput,
    MissingExtra,
    PlainMirror,
    StoreIncomplete,
    UnknownName,
)
from nacre.files import log_of, size_of
from nacre.model import Memory
from nacre.model.validate import PATH_DOTS, is_look_alike, label, space_name
from nacre.protocols import (
    MIGRATION,
    AnswerModel,
    Backend,
    Clock,
    ConflictModel,
    Embedder,
    JournalSink,
    LanguageModel,
    Reranker,
)
from nacre.remember.suggest import Suggester
from nacre.settings import ADDRESS, HOST_AND_PORT, OPENAI, STORE_FILE, Settings, without_password
from nacre.settings import IN_MEMORY as IN_MEMORY

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

    from nacre.access.capabilities import Access, AgentCapabilities
    from nacre.conflicts.judge import ConflictFn, Judge
    from nacre.engine import Engine
    from nacre.engine.checked_embedder import CheckedEmbedder
    from nacre.engine.indexing import BackgroundCatchUp
    from nacre.remember.guard import Guard
    from nacre.storage.sqlite import Key
    from nacre.storage.sqlite.backup import Copy
    from nacre.storage.sqlite.repair import Repaired

EmbedFunction: TypeAlias = "Callable[[Sequence[str]], ArrayLike]"
DATABASES = ("postgresql", "postgres")  # how the address of a database begins
ONE_SLASH = re.compile(r"^(\w+):/(?!/)")  # what a path makes of an address
CONFLICT_JUDGES = ("model", "rules", "language-model")
TYPED_KEY = "typed:"  # before the name of a key that a person has typed; see `storage.keys`
LANGUAGE_MODELS = ("openai:MODEL", "anthropic:MODEL")
EMBEDDERS = ("auto", "multilingual", "english", "hashing", "openai:MODEL", "sentence-transformers:MODEL")


def open_backend(path: Path | str, settings: Settings | None = None) -> Backend:
    """A directory gets a store of its own inside; `:memory:` is kept nowhere; `postgresql://…` is a database. The
    settings name the key of a file, if any."""
    if str(path) == IN_MEMORY:
        from nacre.storage.in_memory import InMemoryBackend

        return InMemoryBackend()
    if is_database(path):
        return open_database(str(path), settings.key if settings else "")
    from nacre.storage.sqlite import SQLiteBackend

    return SQLiteBackend(store_file(path), key_named(settings.key if settings else ""))


def check_complete(opened: Backend, path: Path | str) -> None:
    """Closes the backend and raises `StoreIncomplete` where a migration into it was interrupted."""
    mark = opened.term(*MIGRATION)
    if mark is not None:
        opened.close()
        raise StoreIncomplete(store_name(path), str(mark.get("source")))


def is_database(path: Path | str) -> bool:
    address = ADDRESS.match(str(path))
    return address is not None and address.group(1).lower() in DATABASES


def is_server(path: Path | str) -> bool:
    """Whether it is the address of `nacre serve`; `nacre.client` opens it."""
    address = ADDRESS.match(str(path))
    return address is not None and address.group(1).lower() in ("http", "https")


def open_database(address: str, key: str) -> Backend:
    """Raises `MissingExtra` without the driver, and `DatabaseRefused` where the database cannot be used."""
    if key:
        raise ConfigError(
            "The setting `key` encrypts a store in a file, and a database is encrypted by its server. "
            "Leave `key` empty for this store."
        )
    try:
        from nacre.storage.postgres import PostgresBackend
    except ImportError as error:
        raise MissingExtra("A store in PostgreSQL", "postgres", "name a file with --store") from error
    return PostgresBackend(ONE_SLASH.sub(r"\1://", address))


def store_name(path: Path | str) -> str:
    """The store as a message names it: the absolute path of its file, or the address without the password."""
    if str(path) == IN_MEMORY:
        return IN_MEMORY
    as_it_is = is_database(path) or is_server(path)
    return without_password(path) if as_it_is else str(store_file(path).absolute())


def key_named(setting: str) -> Key | None:
    """Raises `ConfigError` when there is no key where the setting says."""
    if not setting:
        return None
    from nacre.storage.keys import named_key
    from nacre.storage.sqlite import Key

    return Key(named_key(setting))


def typed_key_setting(key: str, name: str = "key") -> str:
    """The value of the setting `key` for a key that a person has typed; it leads to it in this process alone."""
    from nacre.storage.keys import typed_setting

    return typed_setting(name, key)


def is_typed(setting: str) -> bool:
    return setting.startswith(TYPED_KEY)


def service_key(settings: Settings, name: str) -> str:
    """The key in this setting, or the one that it names as env:VARIABLE, file:PATH or keyring:NAME.

    Raises `ConfigError` when there is no key where the setting says.
    """
    value = str(getattr(settings, name))
    if not value:
        return ""
    from nacre.storage.keys import service_key

    return service_key(value, name)


def make_key_file(path: Path | str) -> None:
    """A random key in a file of its own that only its owner may read. Raises `ConfigError`; never writes over one."""
    from nacre.storage.keys import make_key_file

    make_key_file(Path(path).expanduser().absolute())


def rekey_store(path: Path | str, old: str, new: str) -> None:
    """From the key that the setting `old` names to that of `new`; an empty one means none, and so encrypts or decrypts.

    Wherever it breaks off, the store opens with one of the two. Raises `StoreBusy` when somebody has the store open.
    """
    if str(path) == IN_MEMORY:
        raise InvalidInput("A store that is kept nowhere has no key; name a file with --store.")
    from nacre.storage.sqlite.backup import rekey

    rekey(store_file(path), key_named(old), key_named(new))


def is_encrypted(path: Path | str) -> bool:
    """Makes no store where there is none: raises `StoreUnreachable`."""
    if str(path) == IN_MEMORY:
        return False
    from nacre.storage.sqlite.backup import encrypted

    return encrypted(store_file(path))


def verify_copy(path: Path | str, key: str) -> Copy:
    """What a copy of a store holds, once all of it could be read; `key` is the setting that names its key, if any."""
    from nacre.storage.sqlite.backup import verify

    return verify(Path(path).expanduser(), key_named(key))


def restore_store(path: Path | str, copy: Path | str, kept: Path, key: str, copy_key: str) -> Path | None:
    """Puts a copy in the store's place, under the key that the setting `key` names; see `storage/sqlite/backup.py`."""
    if str(path) == IN_MEMORY:
        raise InvalidInput("A store that is kept nowhere cannot be restored; name a file with --store.")
    from nacre.storage.sqlite.backup import restore

    return restore(store_file(path), Path(copy).expanduser(), kept, key_named(key), key_named(copy_key))


def repair_store(path: Path | str, key: str, now: float) -> Repaired:
    """Keeps what can be read of a damaged store, and sets the rest aside; see `storage/sqlite/repair.py`."""
    from nacre.storage.sqlite.repair import repair

    return repair(store_file(path), key_named(key), now)


def salvage_store(path: Path | str, key: str, target: Path | str, now: float) -> Repaired:
    """What can be read of a damaged store, in a new one at `target`; the damaged file stays as it is."""
    from nacre.storage.sqlite.repair import salvage_copy

    return salvage_copy(store_file(path), key_named(key), store_file(target).absolute(), now)


def store_file(path: Path | str) -> Path:
    """Raises `InvalidInput` for the address of a service: no folder of that name is made."""
    address = ADDRESS.match(str(path))
    if is_database(path):
        raise InvalidInput(
            "This store is a database, and this works on a file only. Use the tools of the server "
            "(pg_dump makes a backup), or name a file with --store."
        )
    if is_server(path):
        raise InvalidInput(
            "This store is behind a server, and this works on the store itself. Run it where the server runs, or name "
            "a file with --store."
        )
    if address:
        raise InvalidInput(
            f"A store with an address that begins with {address.group(1)}: is not supported; name a file or a folder, "
            "a database as postgresql://USER@HOST/DATABASE, or a server as https://HOST."
        )
    if "\0" in str(path):
        raise InvalidInput(f"No file can be called {str(path)!r}: it holds a null character; remove it.")
    file = Path(path).expanduser()
    if isinstance(path, str) and HOST_AND_PORT.fullmatch(path) and not file.exists():
        raise InvalidInput(
            f"{path} looks like the address of a server without http:// or https://; write http://{path} for a server "
            f"on this machine, https://{path} for another one, or ./{path} for a file of this name."
        )
    return file / STORE_FILE if file.is_dir() or str(path).endswith(("/", "\\")) else file


def has_file(path: Path | str) -> bool:
    """Whether there is something to open: also a log without its file, about which opening says what to do. An empty
    file is nothing: to open it would make a new store of one that lost its content."""
    return (store_file(path).exists() and not is_empty_file(path)) or has_log(path)


def is_empty_file(path: Path | str) -> bool:
    """Whether the store's file is there without content, and no log beside it holds what it has lost."""
    return store_file(path).is_file() and not size_of(store_file(path)) and not has_log(path)


def has_log(path: Path | str) -> bool:
    """Whether a write-ahead log with content lies beside the store's file, or where that should be."""
    return size_of(log_of(Path(os.path.realpath(store_file(path))))) > 0


def make_embedder(settings: Settings) -> Embedder:
    """With the setting auto, that of a new store; `background.embedder_of_store` is for an existing one."""
    kind, _, model = settings.embedder.partition(":")
    if kind in ("auto", "multilingual", "english"):
        from nacre.models.shipped_embedder import ENGLISH, MULTILINGUAL, ShippedEmbedder

        return ShippedEmbedder(ENGLISH if kind == "english" else MULTILINGUAL, follows_store=kind == "auto")
    if kind == "hashing":
        from nacre.models.embedders import Hashing

        return Hashing()
    if kind == "openai" and model:
        from nacre.models.services import OpenAIEmbedder

        return OpenAIEmbedder(settings.embedder_url, model, service_key(settings, "embedder_key") or None)
    if kind == "sentence-transformers" and model:
        from nacre.models.embedders import SentenceTransformers

        return SentenceTransformers(model)
    raise UnknownName("embedder", settings.embedder, EMBEDDERS)


def embedder_from(value: Embedder | EmbedFunction | str | None, settings: Settings) -> Embedder:
    """A name, an embedder, any function from texts to rows, or None for what the settings say."""
    if value is None or isinstance(value, str):
        return make_embedder(settings if value is None else replace(settings, embedder=value))
    if not callable(value):
        return value
    from nacre.models.embedders import FunctionEmbedder

    return FunctionEmbedder(value, identity=f"callable:{getattr(value, '__name__', type(value).__name__)}")


def make_language_model(settings: Settings, purpose: str) -> LanguageModel:
    """Raises `ConfigError` where none is set; `purpose` is what needs it."""
    kind, _, model = settings.language_model.partition(":")
    if not kind:
        raise ConfigError(f"{purpose} by a language model needs one; set language_model to openai:MODEL, for example.")
    url, key = settings.language_model_url, service_key(settings, "language_model_key")
    if kind == "openai" and model:
        from nacre.models.services import OpenAILanguageModel

        return OpenAILanguageModel(url or OPENAI, model, key or None)
    if kind == "anthropic" and model:
        from nacre.models.services import ANTHROPIC_URL, Anthropic

        return Anthropic(model, key, url or ANTHROPIC_URL)
    raise UnknownName("language model", settings.language_model, LANGUAGE_MODELS)


def make_conflict_model(settings: Settings) -> ConflictModel | None:
    """The shipped one, which is loaded when it reads the first pair; None where exact rules are to judge alone."""
    UnknownName.check("conflict judge", settings.conflict_judge, CONFLICT_JUDGES)
    if settings.conflict_judge == "rules":
        return None
    from nacre.models.cross_encoder import ShippedConflictModel

    return ShippedConflictModel()


def make_second_judge(settings: Settings) -> Judge | None:
    """A second opinion on pairs that are alike and in which the conflict model sees no conflict."""
    if settings.conflict_judge != "language-model":
        return None
    from nacre.conflicts.language_model import LanguageModelJudge

    return LanguageModelJudge(make_language_model(settings, "Judging conflicts"))


def make_suggester(settings: Settings) -> Suggester:
    asked = None
    if settings.importance == "language-model":
        from nacre.remember.suggest import ask_importance

        asked = ask_importance(make_language_model(settings, "Rating the importance"))
    return Suggester(settings.importance, settings.default_importance, asked)


def make_guard(settings: Settings) -> Guard:
    from nacre.remember.guard import Guard, parse_allowed

    allowed = parse_allowed(settings.secrets_allow)
    return Guard(settings.secrets, settings.personal_data, allowed, settings.suspicious)


def make_access(
    settings: Settings, space: str, agent: str, session: str, capabilities: AgentCapabilities | None
) -> Access | Unlimited:
    """What the caller says, else the settings."""
    if capabilities is None and not settings.scope:
        named = [name for name in ("scope_types", "scope_spaces", "scope_quota_mb") if getattr(settings, name)]
        if named:
            raise ConfigError(f"{named[0]} restricts nothing without scope and agent; set them too, or remove it.")
        return Unlimited()
    from nacre.access.capabilities import Access, AgentCapabilities, scope_named

    if capabilities is None:
        capabilities = AgentCapabilities(
            scope_named(settings.scope),
            memory_quota_mb=settings.scope_quota_mb or None,
            allowed_types=settings.scope_types.replace(",", " ").split(),
            allowed_spaces=settings.scope_spaces.replace(",", " ").split(),
        )
    return Access(agent, session, space, capabilities)


def restricted(backend: Backend, access: Access | Unlimited) -> Backend:
    """Only what the agent may see and change; the backend itself where nothing restricts it."""
    if isinstance(access, Unlimited):
        return backend
    from nacre.access.view import RestrictedView

    return RestrictedView(backend, access)


def check_mirror(settings: Settings, path: Path | str) -> None:
    """The mirror is plain text, which would undo the encryption. Raises `PlainMirror`."""
    if settings.journal_mirror and settings.key and str(path) != IN_MEMORY:
        raise PlainMirror(settings.journal_mirror)


def make_journal_mirror(settings: Settings) -> JournalSink | None:
    if not settings.journal_mirror:
        return None
    from nacre.storage.journal_mirror import JournalMirror

    return JournalMirror(Path(settings.journal_mirror).expanduser())


def make_reranker(settings: Settings) -> Reranker | None:
    if not settings.reranker:
        return None
    UnknownName.check("reranker", settings.reranker, ("language-model",))
    from nacre.models.language_model import LanguageModelReranker

    return LanguageModelReranker(make_language_model(settings, "Reranking"))


def checked_reranker(reranker: Reranker) -> Reranker:
    """Raises `InvalidInput`, here and not at the first recall."""
    if not isinstance(getattr(reranker, "identity", None), str) or not callable(getattr(reranker, "score", None)):
        raise InvalidInput("A reranker is an object with `identity` and `score(query, texts)`; give one with both.")
    return reranker


def make_answer_model(settings: Settings, embedder: Embedder) -> AnswerModel | None:
    """Awaited as the embedder is: no longer than that in a process that loads in the background."""
    if settings.rerank_ms <= 0:
        return None
    from nacre.models.background import BackgroundEmbedder
    from nacre.models.cross_encoder import ShippedAnswerModel

    return ShippedAnswerModel(
        settings.rerank_ms, patience=embedder.patience if isinstance(embedder, BackgroundEmbedder) else None
    )


@dataclass(frozen=True, slots=True)
class StoreOptions:
    """What the caller of `MemoryStore` gave; None leaves an option to the settings of each space."""

    settings: Settings  # without those of a single space
    clock: Clock
    actor: str
    agent: str | None
    session: str | None
    capabilities: AgentCapabilities | None
    reranker: Reranker | None
    on_conflict: str | None
    conflict_threshold: float
    contradiction_fn: ConflictFn | None
    strict_links: bool | None


@dataclass(frozen=True, slots=True)
class StoreParts:
    """What a `MemoryStore` works with in one space; `opened` is the backend without restrictions."""

    options: StoreOptions
    opened: Backend
    catch_up: BackgroundCatchUp
    settings: Settings
    space: str
    agent: str
    session: str
    access: Access | Unlimited
    backend: Backend
    guard: Guard
    suggester: Suggester
    engine: Engine
    reranker: Reranker | None
    answer_model: AnswerModel | None
    policy: str
    conflict_model: ConflictModel | None
    second_judge: Judge | None
    strict_links: bool

    def rebuilt(
        self, *, space: str | None = None, actor: str | None = None, capabilities: AgentCapabilities | None = None
    ) -> StoreParts:
        """The parts of another space, with its settings, guard and access, or for another actor; nothing is opened."""
        options = self.options if actor is None else replace(self.options, actor=actor)
        options = options if capabilities is None else replace(options, capabilities=capabilities)
        space = self.space if space is None else space
        return build_parts(options, self.opened, self.engine.embedder, self.catch_up, space)


def open_parts(
    path: Path | str | None, embedder: Embedder | EmbedFunction | str | None, options: StoreOptions, space: str
) -> StoreParts:
    settings = options.settings.for_space(space)
    access_of(settings, options, space)  # who may not use the space must not open the store
    place = settings.store if path is None else path
    check_mirror(settings, place)
    from nacre.engine.checked_embedder import checked
    from nacre.engine.engine import Engine
    from nacre.engine.indexing import BackgroundCatchUp

    made = embedder_from(embedder, settings)  # what is refused without a store makes none
    policy_of(settings, options)
    reranker_of(settings, options)
    opened = open_backend(place, settings)
    check_complete(opened, place)
    try:
        chosen = checked(made, opened)
        chosen.follow_store(lambda: opened.embedder().name)
        engine = Engine(opened, chosen, options.clock)
        return build_parts(
            options, opened, chosen, BackgroundCatchUp(engine, partial(compare_late, options, engine)), space
        )
    except BaseException:
        opened.close()
        raise


def policy_of(settings: Settings, options: StoreOptions) -> str:
    """Raises `UnknownName`."""
    from nacre.engine.remember import check_policy

    return check_policy(settings.on_conflict if options.on_conflict is None else options.on_conflict)


def reranker_of(settings: Settings, options: StoreOptions) -> Reranker | None:
    return make_reranker(settings) if options.reranker is None else checked_reranker(options.reranker)


def compare_late(options: StoreOptions, engine: Engine, memory: Memory) -> None:
    """Notes the conflicts of a memory that was written before the model was there, as far as the policy notes any."""
    from nacre.engine.remember import NOTING, make_comparison
    from nacre.engine.review import note_late

    settings = options.settings.for_space(memory.space)
    if (options.on_conflict or settings.on_conflict) in NOTING:
        access = late_access(settings, options, memory)
        comparison = make_comparison(
            replace(engine, store=restricted(engine.store, access)),
            make_conflict_model(settings),
            options.conflict_threshold,
            options.contradiction_fn,
            make_second_judge(settings),
        )
        note_late(engine, comparison, memory, restricted=not isinstance(access, Unlimited))


def late_access(settings: Settings, options: StoreOptions, memory: Memory) -> Access | Unlimited:
    """That of this store's agent, if the memory is its own."""
    try:
        access = access_of(settings, options, memory.space)[2]
    except (AccessDenied, InvalidInput):  # a memory of a space that it may not use
        return Unlimited()
    if isinstance(access, Unlimited) or (access.agent == memory.agent and access.readable.admits(memory)):
        return access
    return Unlimited()


def build_parts(
    options: StoreOptions, opened: Backend, embedder: CheckedEmbedder, catch_up: BackgroundCatchUp, space: str
) -> StoreParts:
    from nacre.engine import Engine

    refused = space in PATH_DOTS or is_look_alike(space)
    if refused and space not in opened.spaces():  # one that is there stays readable, and can be renamed
        space_name(space)
    settings = options.settings.for_space(space)
    agent, session, access = access_of(settings, options, space)
    backend, guard = restricted(opened, access), make_guard(settings)
    # A restricted agent writes under its own name.
    actor = options.actor if isinstance(access, Unlimited) else access.agent
    mirror = make_journal_mirror(settings)
    return StoreParts(
        options=options,
        opened=opened,
        catch_up=catch_up,
        settings=settings,
        space=space,
        agent=agent,
        session=session,
        access=access,
        backend=backend,
        guard=guard,
        suggester=make_suggester(settings),
        engine=Engine(backend, embedder, options.clock, actor, mirror, guard.words),
        reranker=reranker_of(settings, options),
        answer_model=make_answer_model(settings, embedder.inner),
        policy=policy_of(settings, options),
        conflict_model=make_conflict_model(settings),
        second_judge=make_second_judge(settings),
        strict_links=settings.strict_links if options.strict_links is None else options.strict_links,
    )


def access_of(settings: Settings, options: StoreOptions, space: str) -> tuple[str, str, Access | Unlimited]:
    agent = label("agent", settings.agent if options.agent is None else options.agent)
    session = label("session", settings.session if options.session is None else options.session)
    if options.capabilities is not None and options.capabilities.role is not None:  # a user, and no agent
        return agent, session, make_access(settings, space, options.actor, session, options.capabilities)
    return agent, session, make_access(settings, space, agent, session, options.capabilities)
