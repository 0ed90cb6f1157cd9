"""nacre mcp, hook, install and uninstall: what agent programs start, and how it gets into their settings."""

from __future__ import annotations

import gc
import os
import re
import shutil
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, replace
from functools import partial
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from nacre.cli.catalogue import HelpGroup
from nacre.cli.cli_context import CliContext
from nacre.cli.errors import NotFound, UsageProblem
from nacre.cli.options import combine, command, form_option, option, yes_option
from nacre.cli.start import answer_hook
from nacre.cli.ui.output import DATA, Column, Form, print_items, print_record, print_table, printable, put, say
from nacre.cli.ui.prompts import confirm, count_of
from nacre.cli.ui.records import count_column
from nacre.clients.profiles import PROFILES
from nacre.errors import ConfigError, InvalidInput, MissingExtra
from nacre.model.instants import iso
from nacre.settings import listed

if TYPE_CHECKING:
    from mcp.server import Server

    from nacre.clients.claude_code import ClaudeCodeInstaller
    from nacre.clients.files import FileChange
    from nacre.clients.hooks import HookInstaller
    from nacre.clients.installer import Installer
    from nacre.hooks.client import HookStatus
    from nacre.mcp.server import Cost
    from nacre.mcp.store_provider import StoreProvider


@command("mcp", form_option())
@option("--profile", "Which tools to show.", choices=PROFILES, default="core")
@option("--http HOST:PORT", "Serve many clients over HTTP instead of one over stdin.")
@option("--token-file FILE", "The file that holds the access token.")
@option("--allow-host NAME", "A further name of this machine; repeatable.", to="names", multiple=True)
@option("--list", "Print the tools and what they cost an agent, and end.", to="listing")
def mcp_command(
    cli: CliContext, profile: str, http: str | None, token_file: Path | None, names: tuple[str, ...], listing: bool,
    form: Form,
) -> None:  # fmt: skip
    """Serve this memory to agents over the Model Context Protocol.

    \b
      nacre mcp                             over stdin and stdout, for one client
      nacre mcp --profile full              more tools
      nacre mcp --http 127.0.0.1:8765       for any number of clients
      nacre mcp --list                      the tools, and what they cost

    Over HTTP a client must show a token. Without --token-file one is made and shown once; a host that others can
    reach needs the file. All clients then use one space: that of the folder in which the server was started, or the
    one that --space names. NACRE_AGENT, NACRE_SESSION and NACRE_SCOPE narrow what the server shows.
    """
    if listing:
        list_tools(profile, form)
    elif http is None:
        serve_stdio(cli, profile)
    else:
        serve_http(cli, profile, http, token_file, names)


def serve_stdio(cli: CliContext, profile: str) -> None:
    parent = os.getppid()
    gc.disable()  # nothing that is imported is ever garbage: a tenth of the time until a client is answered
    from nacre.mcp.stdio import serve_stdio

    server, provider = make_server(cli, profile)
    gc.freeze()
    gc.enable()
    if sys.stdin.isatty():
        say("A client should start this and speak to it over stdin; Ctrl-C ends it. `nacre mcp --help` says more.")
    serve_stdio(server, provider, parent)


def serve_http(cli: CliContext, profile: str, http: str, token_file: Path | None, names: Sequence[str]) -> None:
    from nacre.mcp.http import Address, load_token, make_token, serve_http

    place = Address.of(http)
    if token_file is None and not place.local:
        raise InvalidInput(f"{place.host} can be reached by others; arrange a token with --token-file FILE.")
    token, made = (make_token(), True) if token_file is None else load_token(token_file)
    server, provider = make_server(cli, profile)
    if made:
        say(f"Token: {token}" if token_file is None else f"A token was made and written to {token_file}.")
    serve_http(server, provider, place, token, lambda url: say(f"Serving {profile} at {url}"), names)


def make_server(cli: CliContext, profile: str) -> tuple[Server[Any], StoreProvider]:
    import logging

    from nacre.mcp.profiles import profile_named
    from nacre.mcp.server import make_server
    from nacre.mcp.store_provider import StoreProvider, open_store

    # To stderr, as stdout belongs to the protocol.
    logging.basicConfig(level=logging.DEBUG if cli.debug else logging.WARNING, format="%(name)s: %(message)s")
    # The profiles of the older systems keep to one space, as those did.
    choose = cli.choose_space if profile in ("core", "full") else None
    provider = StoreProvider(cli.settings(), partial(open_store, choose=choose))
    return make_server(profile_named(profile), provider), provider


def list_tools(profile: str, form: Form) -> None:
    from nacre.mcp.profiles import profile_named
    from nacre.mcp.server import costs

    costs_of = {name: costs(profile_named(name)) for name in PROFILES}
    totals = {name: sum(each.tokens for each in tools) for name, tools in costs_of.items()}
    tools = [
        {"tool": cost.name, "tokens": cost.tokens, "result_tokens": cost.schema, "about": cost.about}
        for cost in costs_of[profile]
    ]
    columns: list[Column[Cost]] = [
        Column("tool", lambda cost: cost.name, style="cyan"),
        count_column("tokens", lambda cost: cost.tokens),
        Column("about", lambda cost: cost.about, wide=True, wraps=True),
    ]
    print_table(costs_of[profile], columns, {"profile": profile, "tools": tools, "totals": totals}, form)
    if form in DATA:
        return
    for name, costed in costs_of.items():
        tokens, results = totals[name], sum(each.schema for each in costed)
        say(f"{name}: {len(costed)} tools, about {tokens:,} tokens, {results:,} of them for the shapes of results")


@click.group("hook", cls=HelpGroup)
def hook_command() -> None:
    """Answer a client's hooks: recall for prompts, capture what is said.

    Each reads the JSON of a client such as Claude Code on stdin. Whatever goes wrong, it ends well, prints nothing and
    leaves a line in the log. The settings hook_inject and hook_capture switch it off; `nacre hook status` shows what it
    does.
    """


def add_event(name: str, help: str) -> None:
    @command(name, group=hook_command, help=help)
    def answer(cli: CliContext) -> None:
        answer_hook(name, cli.flags)


add_event("session-start", "A session begins: give it what is pinned or important.")
add_event("prompt", "A prompt is sent: put before it what fits.")
add_event("pre-compact", "A conversation is condensed: keep what was said.")
add_event("stop", "An answer has ended: keep what was said.")
add_event("session-end", "A session ends: keep what was said.")


@command("status", form_option("text", "json"), group=hook_command)
def status(cli: CliContext, form: Form) -> None:
    """Show what is captured and injected, where it goes, and whether the helper runs."""
    from nacre.hooks.client import hook_status

    state = hook_status(cli.flags)
    print_record(asdict(state), status_lines(state), form)


@command("end", group=hook_command)
def end(cli: CliContext) -> None:
    """End the helper, which keeps the store open; the next hook starts another one."""
    from nacre.hooks.client import end_helper

    ends = end_helper(cli.flags)
    if ends is None:
        say("There is no helper at work.")
    elif ends:
        say("The helper ends.")
    else:
        say(
            "The helper does not answer. End its process, `python -P -m nacre.hooks.helper`, or wait: hooks go on "
            "without it."
        )


DAYS_SHOWN = 7


def status_lines(state: HookStatus) -> list[str]:
    model = "model loaded" if state.ready else "model not loaded"
    idle = "does not answer; hooks do without it" if state.hangs else "not running; the next hook starts it"
    helper = f"process {state.helper}, {model}" if state.helper else idle
    injected = f"at most {state.budget:g} tokens"
    captured = [
        f"{count_of(reached.turns, 'turn', 'turns')} until {iso(reached.at)}: {path}"
        for path, reached in state.transcripts.items()
    ]
    added = [
        f"{day}: {count_of(each['memories'])}, {each['tokens']:,} tokens, "
        f"with {count_of(each['times'], 'prompt', 'prompts')}"
        for day, each in list(state.added.items())[-DAYS_SHOWN:]
    ]
    return [
        f"store     {state.store}",
        f"space     {state.space}",
        f"capture   {'on' if state.capture else 'off'} (hook_capture)",
        f"inject    {f'on, {injected}' if state.inject else 'off'} (hook_inject)",
        f"helper    {helper}",
        f"log       {state.log}",
        *(f"captured  {each}" for each in captured or ["nothing yet"]),
        *(f"waiting   {path}" for path in state.unread),
        *(f"added     {each}" for each in added or ["nothing yet"]),
    ]


SERVER = "nacre"
SERVED_AT = "/mcp"  # the path of `nacre mcp --http` and `nacre serve`
STORE_SETTINGS = ("key", "embedder", "embedder_url")  # without these a server might not open it, or not find in it


client_options = combine(
    option("--project", "For the project in this folder alone, not for you everywhere."),
    option("--server-name NAME", "The server's name.", default=SERVER),
)


def make_installer(
    cli: CliContext, client: str | None, *, project: bool, server_name: str, profile: str = "", url: str = "",
    token: str = "", starts_server: bool = False,
) -> Installer:  # fmt: skip
    from nacre.clients.registry import INSTALLERS, installer_for
    from nacre.settings import settings

    if client is None:
        raise UsageProblem(f"name a client: {', '.join(INSTALLERS)}; `nacre install --list` shows which are here.")
    kind = installer_for(client)
    folder = Path.cwd() if project else None
    if folder is not None and kind.project_path(folder) is None:
        raise UsageProblem(f"{kind.title} knows no settings of a project; leave out --project.")
    # A server for all projects must not take the store of the one that this command happens to be called in.
    known = settings(cli.flags, folder=folder or Path(Path.cwd().anchor), notify=cli.notify)
    if starts_server:
        refuse_unsuitable_store(kind, known.store, project=project and bool(cli.flags.get("store")))
    if url and not kind.url_key:
        raise UsageProblem(f"{kind.title} cannot be given a server at a URL in its settings; leave out --http.")
    return kind(
        # A project's file may be shared: nothing of this machine goes into it that was not asked for.
        store=cli.flags.get("store", "") if project else known.store,
        # What a settings file names the server reads itself.
        space=cli.flags.get("space", "") or ("" if project else os.environ.get("NACRE_SPACE", "")),
        settings_path="",
        server_name=server_name,
        extra_env=shell_environment(cli, {} if project else os.environ),
        profile=profile,
        url=url,
        token=token,
        folder=folder,
        overwrite_unparseable=False,
    )


def shell_environment(cli: CliContext, environment: Mapping[str, str]) -> Mapping[str, str]:
    """What only this shell knows, and a client that is started elsewhere would not."""
    from nacre.cli.commands.config import with_full_path
    from nacre.settings import ENVIRONMENT

    names = {ENVIRONMENT + name.upper(): name for name in STORE_SETTINGS}
    values = {variable: cli.flags.get(name) or environment.get(variable, "") for variable, name in names.items()}
    known = {variable: value for variable, value in values.items() if value.strip()}
    key = ENVIRONMENT + "KEY"
    return {**known, key: with_full_path("key", known[key])} if key in known else known


@command("install [CLIENT]", yes_option, form_option())
@option("--list", "List the clients on this machine, and end.", to="listing")
@client_options
@option("--profile", "Which tools the server shows.", choices=PROFILES)
@option("--hooks", "Also recall before prompts and keep what is said (claude-code, codex, gemini-cli).")
@option("--allow", "Also let the tools be used without asking (claude-code).")
@option("--not-required", "Let the client start where the server does not (codex).", to="required", default=True,
        flag_value=False)  # fmt: skip
@option("--http URL", "A server that runs already, instead of one that the client starts.")
@option("--token-file FILE", "The file that holds that server's token.")
@option("--print", "Print what would be written, as if no file were there, and write nothing.", to="printing")
@option("--dry-run", "Show which files would be written, with what changes in each, and write nothing.")
@option("--guidance", "Print what to tell the agent about its memory, and end.")
@option("--write-guidance", "Also write that into the client's file of instructions.")
@option("--force", "Replace settings that cannot be read; the old file is kept.")
def install_command(
    cli: CliContext, client: str | None, listing: bool, project: bool, server_name: str, profile: str | None,
    hooks: bool, allow: bool, required: bool, http: str | None, token_file: Path | None, printing: bool, dry_run: bool,
    guidance: bool, write_guidance: bool, force: bool, yes: bool, form: Form,
) -> None:  # fmt: skip
    """Set this memory up in an agent's program: claude-code, claude-desktop, cursor, vscode, windsurf, codex,
    gemini-cli or opencode.

    \b
      nacre install --list
      nacre install claude-code --hooks --allow --write-guidance --dry-run
      nacre install codex --http http://127.0.0.1:8765/mcp --token-file ~/.nacre-token
      nacre install cursor --project

    Only the entry of this server is written; all else in the file stays as it is, and the old file is kept beside it.
    The store is the one that the settings name now; the space is written only if --space or NACRE_SPACE names one. A
    project's file names neither, unless you do, and starts the `nacre` on the PATH.
    """
    from nacre.storage.keys import check_place

    if listing:
        list_clients(cli, server_name, form)
        return
    if http is not None:
        check_server_url(http)
    installer = make_installer(
        cli, client, project=project, server_name=server_name, profile=profile or "", url=http or "",
        token=remote_token(http, token_file, project=project), starts_server=not (http or guidance),
    )  # fmt: skip
    if not required and not installer.build_mcp_block().get("required"):
        raise UsageProblem(f"{installer.title} starts without the server anyway; leave out --not-required.")
    installer = replace(installer, required=required)
    check_extras(installer, hooks=hooks, allow=allow, write_guidance=write_guidance, names_store="store" in cli.flags)
    if not (guidance or printing or http) and find_spec("mcp_types") is None:  # the server would not start
        raise MissingExtra("The MCP server, which the client would start,", "mcp")
    if guidance:
        put(installer.guidance().rstrip("\n"))
        return
    check_place(installer.extra_env.get("NACRE_KEY", ""))  # others may read the client's file
    if printing:
        print_settings(without_secrets(installer), hooks=hooks, allow=allow, write_guidance=write_guidance)
    elif dry_run:
        edits = edits_of(installer, hooks=hooks, allow=allow, write_guidance=write_guidance)
        print_changes(edits, installer, force=force)
    else:
        write_settings(installer, hooks=hooks, allow=allow, write_guidance=write_guidance, force=force, yes=yes)


def check_extras(installer: Installer, *, hooks: bool, allow: bool, write_guidance: bool, names_store: bool) -> None:
    """Raises `UsageProblem` for what this client cannot have."""
    if hooks:
        require_hooks(installer)
        if installer.url and not names_store:
            raise UsageProblem(
                "hooks cannot ask a server at a URL, they need a store in a file. Leave out --hooks; or, where that "
                "server's store is a file on this machine, name it with --store."
            )
    if allow:
        require_permissions(installer)
    if write_guidance:
        require_guidance(installer)


def check_server_url(url: str) -> None:
    """Raises `UsageProblem` for what no client could reach."""
    from urllib.parse import urlsplit

    if "@" in url:
        raise UsageProblem("a password does not belong in the address; put the token into a file for --token-file.")
    printed = "as `nacre mcp --http` and `nacre serve` print it"
    try:
        parts = urlsplit(url)
        named, port = parts.hostname, parts.port
    except ValueError as error:
        raise UsageProblem(f"{url!r} is not the address of a server ({error}); write it {printed}.") from error
    if parts.scheme not in ("http", "https") or not named or any(each.isspace() for each in url) or port == 0:
        host = url.rpartition("://")[2].strip("/") or "127.0.0.1:8765"
        example = f"http://{host}" if "/" in host else f"http://{host}{SERVED_AT}"
        raise UsageProblem(f"{url!r} is not the address of a server; write it whole, {printed}: {example}")
    if parts.path in ("", "/"):
        raise UsageProblem(f"{url} has no path, and agents are served at one: {url.rstrip('/')}{SERVED_AT}")


def refuse_unsuitable_store(client: type[Installer], store: str, *, project: bool) -> None:
    """`project` says that it would be written into the file of a project."""
    from nacre.factory import is_server, store_name
    from nacre.settings import has_password

    name = store_name(store)  # raises where it is no store at all
    if is_server(store):  # the client would start a server of its own, without the token
        connect = f"nacre install {client.client} --http {name.rstrip('/')}{SERVED_AT} --token-file FILE"
        remedy = (
            f"connect the client to it: `{connect}`"
            if client.url_key
            else f"{client.title} cannot be given one in its settings. Name a file with --store"
        )
        raise UsageProblem(f"the store {name} is a server; {remedy}.")
    if project and has_password(store):
        raise UsageProblem("a password must not get into a file that others may read; leave out --project.")


def without_secrets(installer: Installer) -> Installer:
    """To be printed."""
    from nacre.settings import without_password

    token, store = "TOKEN" if installer.token else "", without_password(installer.store, "PASSWORD")
    return replace(installer, token=token, store=store)


def remote_token(http: str | None, token_file: Path | None, *, project: bool) -> str:
    if token_file is None:
        return ""
    if http is None:
        raise UsageProblem("--token-file belongs to a server at a URL; name it with --http.")
    if project:
        raise UsageProblem("a token must not get into a file that others may read; leave out --project.")
    if not token_file.is_file():
        raise UsageProblem(f"there is no {token_file}; `nacre mcp --http HOST:PORT --token-file FILE` makes it.")
    from nacre.mcp.http import load_token

    return load_token(token_file)[0]


def write_settings(
    installer: Installer, *, hooks: bool, allow: bool, write_guidance: bool, force: bool, yes: bool
) -> None:
    installer = confirm_replacement(installer, force=force, yes=yes)
    steps: list[tuple[str, Callable[[], FileChange | None]]] = []
    if hooks:  # first: their file is the one that nobody has looked at yet
        steps.append(("the hooks", require_hooks(installer).write_hooks))
    if allow:
        steps.append(("the permission", require_permissions(installer).allow))
    steps.append((f"the server {installer.server_name!r}", installer.write_settings))
    if write_guidance:
        steps.append(("the guidance", installer.write_guidance))
    for what, done in keep_first_backup((what, write()) for what, write in steps):
        report_written(done, what)
    say_what_next(installer, hooks=hooks)


def print_settings(installer: Installer, *, hooks: bool, allow: bool, write_guidance: bool) -> None:
    """Each file once, with all that would be written into it if it were not there."""
    for file, edit in edits_of(installer, hooks=hooks, allow=allow, write_guidance=write_guidance).items():
        say(f"For {file}:")
        put(edit("").rstrip("\n"))


def edits_of(
    installer: Installer, *, hooks: bool, allow: bool, write_guidance: bool
) -> dict[Path, Callable[[str], str]]:
    """Each file once, with the function that makes its new text from the present one."""
    steps: list[tuple[Path, Callable[[str], str]]] = [(installer.path, installer.with_server)]
    if hooks:
        hooked = require_hooks(installer)
        steps.append((hooked.hooks_path, hooked.with_hooks))
    if allow:
        allowed = require_permissions(installer)
        steps.append((allowed.hooks_path, allowed.with_permission))
    if write_guidance:
        steps.append((require_guidance(installer), installer.with_guidance))

    def edited(text: str, file: Path) -> str:
        for changed, edit in steps:
            text = edit(text) if changed == file else text
        return text

    return {file: partial(edited, file=file) for file, _ in steps}


SURROUNDING = 2  # lines of a file that are shown before and after what changes in it
QUOTED = re.compile(r"(?<=\")[^\"\n]*(?=\")|(?<=')[^'\n]*(?=')")  # the values of JSON and TOML
BEARER_TOKEN = re.compile(r"(?<=Bearer )[^\s\"']+")


def print_changes(edits: Mapping[Path, Callable[[str], str]], installer: Installer, *, force: bool) -> None:
    """What each edit would change in its file, as a diff without tokens and the password of a database."""
    from difflib import unified_diff

    from nacre.clients.files import REPLACE, bytes_of, edited_bytes, real_path
    from nacre.settings import without_password

    def printed(text: str) -> str:
        """Also without the password that the file has now, which may be another one, and those of other servers."""
        public = without_password(installer.store, "PASSWORD")
        own = text.replace(installer.store, public) if public != installer.store else text
        return QUOTED.sub(lambda value: without_password(value[0], "PASSWORD"), BEARER_TOKEN.sub("TOKEN", own))

    changed = 0
    for file, edit in edits.items():
        before = bytes_of(real_path(file))
        after = edited_bytes(file, before, edit, REPLACE, replace_unreadable=force)
        if after == (before or b""):
            say(f"{file} stays as it is: it holds all of that already.")
            continue
        changed += 1
        say(f"{file} would be {'made' if before is None else 'changed'}:")
        old, new = (printed(each.decode("utf-8", "replace")).splitlines() for each in (before or b"", after))
        diff = list(unified_diff(old, new, lineterm="", n=SURROUNDING))[2:]  # the names of the files are said
        put("\n".join(map(colored, diff)) if diff else "(only a token or password changes)")
    say(f"{count_of(changed, 'file', 'files')} would be written; nothing was changed.")


def colored(line: str) -> str:
    """A line of a diff."""
    color = {"+": "green", "-": "red", "@": "cyan"}.get(line[:1])
    return click.style(printable(line), fg=color) if color else printable(line)


def require_guidance(installer: Installer) -> Path:
    file = installer.guidance_path()
    if file is None:
        raise UsageProblem(
            f"{installer.title} has no file of instructions here; paste what --guidance prints, or try --project."
        )
    return file


def say_what_next(installer: Installer, *, hooks: bool) -> None:
    from nacre.clients.installer import SHARED_COMMAND
    from nacre.settings import without_password

    store = "" if installer.url else installer.environment().get("NACRE_STORE", "")
    place = f"Memories are kept in {without_password(store)}. " if store else ""
    say(f"{place}Restart {installer.title} to use {'them' if place else 'its memory'}.")
    if hooks and installer.url:
        say(f"Hooks use {installer.environment()['NACRE_STORE']}; the server must use the same file.")
    if hooks and installer.client == "codex":
        say("Codex runs hooks only after you have looked at them: type /hooks in it.")
    if installer.build_mcp_block().get("required"):
        say(
            f"{installer.title} waits for the server and does not start without it; `nacre install {installer.client} "
            "--not-required` lets it start, then sometimes without its memory."
        )
    if installer.folder is not None and not installer.url and shutil.which(SHARED_COMMAND) is None:
        say(
            f"`{SHARED_COMMAND}` is not on the PATH, from which this file starts it; run "
            '`pipx install ".[mcp]"` in the checkout of Nacre.'
        )


def confirm_replacement(installer: Installer, *, force: bool, yes: bool) -> Installer:
    try:
        current = installer.entry()
    except ConfigError:
        if not force:
            if not sys.stdin.isatty() or not installer.path.is_file():  # a folder cannot be replaced
                raise
            confirm(f"{installer.path} cannot be read. Replace it? What it holds is kept beside it.")
        return replace(installer, overwrite_unparseable=True)
    if current not in (None, installer.build_mcp_block()):
        name = installer.server_name
        confirm(f"{installer.path} has a server {name!r} that is set up otherwise. Replace it?", yes=yes)
    return replace(installer, overwrite_unparseable=force)


def keep_first_backup(written: Iterable[tuple[str, FileChange | None]]) -> Iterator[tuple[str, FileChange]]:
    """Each step makes a backup of its file before it writes; only the first of a file holds what the user had, and the
    others are deleted again. A step that has no file is left out."""
    changed = set[Path]()
    for what, done in written:
        if done is None:
            continue
        if done.file in changed and done.made_backup and done.backup is not None:
            done.backup.unlink(missing_ok=True)
            done = replace(done, backup=None)
        if done.changed:
            changed.add(done.file)
        yield what, done


def report_written(done: FileChange, what: str) -> None:
    if not done.changed:
        say(f"{done.file} holds {what} already.")
    else:
        backup = f" The old file is kept as {done.backup.name}." if done.backup else ""
        say(f"Wrote {what} to {done.file}.{backup}")


def require_hooks(installer: Installer) -> HookInstaller:
    from nacre.clients.hooks import HookInstaller
    from nacre.hooks.client import store_path

    if not isinstance(installer, HookInstaller):
        raise UsageProblem(f"{installer.title} has no hooks that are known; leave out --hooks.")
    if installer.store:
        store_path(installer.store)  # raises where it is not a file: hooks would do nothing
    return installer


def require_permissions(installer: Installer) -> ClaudeCodeInstaller:
    from nacre.clients.claude_code import ClaudeCodeInstaller

    if not isinstance(installer, ClaudeCodeInstaller):
        raise UsageProblem(f"permissions are only known of claude-code; leave out --allow for {installer.client}.")
    return installer


def list_clients(cli: CliContext, server_name: str, form: Form) -> None:
    from nacre.clients.registry import INSTALLERS

    installers = [make_installer(cli, client, project=False, server_name=server_name) for client in INSTALLERS]
    columns: list[Column[Installer]] = [
        Column("client", lambda each: each.client, style="cyan"),
        Column("here", lambda each: "yes" if each.is_present() else "no"),
        Column("set up", set_up),
        Column("file", lambda each: str(each.path), wide=True, wraps=True),
    ]

    def record(each: Installer) -> dict[str, object]:
        facts = {"client": each.client, "title": each.title, "found": each.is_present()}
        return {**facts, "installed": set_up(each), "file": str(each.path)}

    print_items(installers, columns, record, form)


def set_up(installer: Installer) -> str:
    try:
        return "yes" if installer.entry() is not None else "no"
    except ConfigError:
        return "unreadable"


def is_set_up(installer: Installer) -> bool:
    try:
        return installer.entry() is not None
    except ConfigError:
        return False


@command("uninstall [CLIENT]", client_options)
@option("-y --yes", "Accepted for scripts; this command never asks.", expose_value=False)
def uninstall_command(cli: CliContext, client: str | None, project: bool, server_name: str) -> None:
    """Remove this memory from an agent's program: the server, the hooks, the guidance, and nothing else.

    A file that had nothing else is removed, with folders that are empty then, and so are backups that equal what is
    left; no other backup keeps the server's entry and its token, and those that stay are named. The memories themselves
    stay where they are. Ends with code 1 where there was nothing to take out.
    """
    from nacre.clients.files import backups_of, real_path

    installer = make_installer(cli, client, project=project, server_name=server_name)
    guidance = installer.guidance_path()
    readers = [each.title for each in readers_of(guidance, installer)]
    removed, unreadable = dict[Path, None](), None
    for what, file, take_out in parts_of(installer, guidance=not readers):
        try:
            if take_out():
                removed[file] = None
                say(f"Took {what} out of {file}.")
        except ConfigError as error:  # the other files need not wait for it
            unreadable = unreadable or error
    if removed and readers and has_guidance(guidance):
        say(f"The guidance stays in {guidance}, which is read by {listed(readers)}, too.")
    for backup in (each for file in removed for each in backups_of(real_path(file))):
        say(f"{backup} stays: a copy from before, with whatever else the file held then. Delete it if nobody needs it.")
    if unreadable is not None:
        raise unreadable
    if not removed:
        raise NotFound(f"{installer.path} holds no server {server_name!r}; `nacre install --list` shows more.")


def parts_of(installer: Installer, *, guidance: bool) -> Iterator[tuple[str, Path, Callable[[], bool]]]:
    """What may be set up: what it is, its file, and what takes it out."""
    from nacre.clients.claude_code import ClaudeCodeInstaller
    from nacre.clients.hooks import HookInstaller

    yield "the server", installer.path, installer.uninstall
    if isinstance(installer, ClaudeCodeInstaller):
        yield "the permission", installer.hooks_path, installer.disallow
    if isinstance(installer, HookInstaller):
        yield "the hooks", installer.hooks_path, installer.remove_hooks
    if guidance and (file := installer.guidance_path()) is not None:
        yield "the guidance", file, installer.remove_guidance


def readers_of(file: Path | None, installer: Installer) -> list[Installer]:
    """The other clients that are set up and read the same file of instructions."""
    from nacre.clients.registry import INSTALLERS

    others = [
        kind(settings_path="", server_name=installer.server_name, folder=installer.folder)
        for kind in INSTALLERS.values()
        if kind is not type(installer) and (installer.folder is None or kind.project_path(installer.folder))
    ]
    return [each for each in others if file and each.guidance_path() == file and is_set_up(each)]


def has_guidance(file: Path | None) -> bool:
    from nacre.clients.installer import BEGIN

    return file is not None and file.is_file() and BEGIN in file.read_text("utf-8", "replace")
