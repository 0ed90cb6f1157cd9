"""nacre web, serve, user and token: the page, a server for a team, and who may use it."""

from __future__ import annotations

import logging
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING

import click

from nacre.cli.catalogue import HelpGroup
from nacre.cli.cli_context import CliContext
from nacre.cli.errors import UsageProblem
from nacre.cli.options import WholeNumber, command, form_option, option, yes_option
from nacre.cli.ui.output import Column, Form, print_items, put, say
from nacre.cli.ui.prompts import confirm, count_of
from nacre.errors import MissingExtra, NameNotFound
from nacre.model.instants import iso
from nacre.settings import personal_space

if TYPE_CHECKING:
    from nacre.cli.remote import RemoteUsers
    from nacre.server.users import Registry, Token, User

ROLES = ("reader", "writer", "reviewer", "admin")
PROFILES = ("core", "full")
NO_ADMIN = (
    "No token with the role admin for all spaces is left. Whoever has the store itself makes one, with "
    "`nacre --store STORE token create --user NAME --role admin`."
)


@command("serve")
@option("--http HOST:PORT", "Where to listen; port 0 lets the system choose.", default="127.0.0.1:8790")
@option("--tls-cert FILE", "The certificate, with those of its issuers.")
@option("--tls-key FILE", "The certificate's key.")
@option("--behind-proxy", "A proxy in front of this server has TLS, and nobody else can reach the port.")
@option("--allow-host NAME", "A further name of this machine; repeatable.", to="names", multiple=True)
@option("--profile", "Which tools MCP clients get.", choices=PROFILES, default="core")
@option("--limit-requests N", "Requests of a token in a minute; 0 for any number.", least=0, default=1200)
@option("--limit-writes N", "Writes of a token in a minute; 0 for any number.", least=0, default=600)
@option("--limit-bytes N", "Bytes that a token may send in a minute; 0 for any number.", least=0, default=100_000_000)
@option("--oauth-issuer URL", "Also let in who shows a token of this OAuth 2.1 issuer.")
@option("--oauth-keys PLACE", "The issuer's public keys (JWKS): a file or an address.", default="")
@option("--oauth-introspection URL", "Where to ask the issuer about a token, instead of the keys.", default="")
@option("--oauth-client FILE", "ID:SECRET, by which this server signs in to ask.")
@option("--oauth-resource URL", "This server's own address, as clients and tokens name it.", default="")
@option(
    "--oauth-space NAME", "A space that tokens open which name none; repeatable, * for all.", to="oauth_spaces",
    multiple=True,
)  # fmt: skip
@option("--no-log", "Do not log requests.")
def serve_command(
    cli: CliContext, http: str, tls_cert: Path | None, tls_key: Path | None, behind_proxy: bool, names: tuple[str, ...],
    profile: str, limit_requests: int, limit_writes: int, limit_bytes: int, oauth_issuer: str | None, oauth_keys: str,
    oauth_introspection: str, oauth_client: Path | None, oauth_resource: str, oauth_spaces: tuple[str, ...],
    no_log: bool,
) -> None:  # fmt: skip
    """Serve this store to a team: a REST API at /v1, and MCP at /mcp.

    \b
      nacre token create --user ada --role admin      the first token
      nacre serve                                     on this machine alone
      nacre serve --http 0.0.0.0:443 --tls-cert cert.pem --tls-key key.pem --allow-host memory.example.org

    Every request needs a token; `nacre token create` makes one. With --oauth-issuer, tokens of that issuer are taken,
    too: their scopes nacre:reader, nacre:writer, nacre:reviewer or nacre:admin give the role. Any number of servers
    may run over one store. On stderr each request is a line of JSON, without texts, questions and tokens.
    """
    require_server("The server")
    from nacre.mcp.http import Address
    from nacre.server.limits import Limits
    from nacre.server.oauth import OAuthOptions
    from nacre.server.serve import ServeOptions, serve

    limits, oauth = Limits(limit_requests, limit_writes, limit_bytes), None
    if oauth_issuer:
        oauth = OAuthOptions(oauth_issuer, oauth_resource, oauth_keys, oauth_introspection, oauth_client, oauth_spaces)
    elif oauth_keys or oauth_introspection or oauth_client or oauth_resource or oauth_spaces:
        raise UsageProblem("the options of OAuth need --oauth-issuer; name the issuer whose tokens are meant.")
    options = ServeOptions(Address.of(http), names, tls_cert, tls_key, behind_proxy, profile, limits, oauth)
    configure_logging(debug=cli.debug, requests=not no_log)
    serve(cli.unlocked_settings(), options, say)


PORT = WholeNumber(0, 65_535)


@command("web")
@option("--port N", "The port to listen on; the system chooses a free one unless given.", type=PORT, default=0)
@option("--no-open", "Print the link, and open no browser.")
def web_command(cli: CliContext, port: int, no_open: bool) -> None:
    """See, search, review and undo this memory in your browser.

    \b
      nacre web                  opens the page
      nacre web --no-open        prints the link only

    Only this machine reaches the page, and the link lets in whoever opens it first, once. Ctrl-C ends it.
    """
    require_server("The page")
    from nacre.mcp.http import Address
    from nacre.server.limits import Limits
    from nacre.server.serve import ServeOptions, serve

    def open_page(link: str) -> None:
        put(link)
        say("This link works once. Press Ctrl-C to end.")
        if not no_open:
            import webbrowser

            if not webbrowser.open(link):
                say("No browser could be opened; open the link yourself.")

    limits = Limits(requests=0, writes=0, bytes=0)  # one person, on their own machine
    configure_logging(debug=cli.debug, requests=False)
    settings = replace(cli.space_settings(), space=cli.choose_space().space)
    serve(settings, ServeOptions(Address("127.0.0.1", port), limits=limits), say, open_page)


def require_server(what: str) -> None:
    """Raises `MissingExtra` before an import does, which would name another extra."""
    if any(find_spec(name) is None for name in ("mcp_types", "starlette", "uvicorn")):
        raise MissingExtra(what, "server")


def configure_logging(*, debug: bool, requests: bool) -> None:
    logging.basicConfig(level=logging.DEBUG if debug else logging.WARNING, format="%(name)s: %(message)s")
    lines = logging.getLogger("nacre.server")
    lines.propagate = False
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(logging.Formatter("%(message)s"))
    lines.addHandler(handler)
    lines.setLevel(logging.INFO if requests else logging.CRITICAL)


@contextmanager
def registry(cli: CliContext) -> Iterator[Registry | RemoteUsers]:
    """Of the store, or of the server that it is behind."""
    from nacre.cli.remote import RemoteUsers, is_remote, open_server
    from nacre.server.users import Registry

    if is_remote(cli):
        with open_server(cli) as server:
            yield RemoteUsers(server)
        return
    with cli.open_or_make() as store:
        yield Registry(store.backend, time.time)


@click.group("user", cls=HelpGroup)
def user_command() -> None:
    """Add, list and remove the users of `nacre serve`."""


@command("add NAME", group=user_command)
@option("--note TEXT", "Who it is.", default="")
def add(cli: CliContext, name: str, note: str) -> None:
    """Add a user. It gets in with a token: `nacre token create --user NAME`."""
    with registry(cli) as users:
        users.add_user(name, note)
    say(f"Added the user {name!r}; `nacre token create --user {name} --role writer` makes a token.")


@command("list", form_option(), group=user_command)
def list_users(cli: CliContext, form: Form) -> None:
    """List the users."""
    columns: list[Column[User]] = [
        Column("user", lambda each: each.name, style="cyan"),
        Column("since", lambda each: iso(each.created_at)),
        Column("note", lambda each: each.note, wide=True),
    ]
    with registry(cli) as users:
        print_items(users.users(), columns, lambda each: {**vars_of(each)}, form, "There are no users yet.")


@command("remove NAME", yes_option, group=user_command)
def remove(cli: CliContext, name: str, yes: bool) -> None:
    """Remove a user, and revoke its tokens. What it wrote stays."""
    from nacre.server.users import LAST_ADMIN

    with registry(cli) as users:
        known = [each.name for each in users.users()]
        if name not in known:
            raise NameNotFound("user", name, known, "`nacre user list`")
        admins = {token.user for token in admin_tokens(users, cli.now())}
        last = admins == {name}
        confirm(f"{f'{LAST_ADMIN}. ' if last else ''}Remove the user {name!r} and revoke all its tokens?", yes=yes)
        revoked = users.remove_user(name)
    say(f"Removed the user {name!r}; {count_of(revoked, 'token was', 'tokens were')} revoked.")
    if last:
        say(NO_ADMIN)
    own = personal_space(name)
    say(f"A space {own!r}, if there is one, stays: a later user of that name would open it. `nacre space --help` says "
        "how to export or empty it.")  # fmt: skip


def admin_tokens(users: Registry | RemoteUsers, now: float) -> list[Token]:
    """Those with which the server as a whole is managed."""
    return [token for token in users.tokens() if token.manages_server(now)]


@click.group("token", cls=HelpGroup)
def token_command() -> None:
    """Make, list and revoke the tokens of `nacre serve`."""


@command("create", group=token_command)
@option("--user NAME", "Whose it is; a user that is not there yet is added.", required=True)
@option("--space NAME", "A space that it opens; repeatable. All unless given.", to="spaces", multiple=True)
@option("--role", "What it allows.", choices=ROLES, default="writer")
@option("--expires LENGTH", "After which time it expires: 90d, for example.")
@option("--note TEXT", "What it is for.", default="")
def create(
    cli: CliContext, user: str, spaces: tuple[str, ...], role: str, expires: float | None, note: str
) -> None:  # fmt: skip
    """Make a token and show it, once; the store keeps only its hash.

    \b
    A reader reads. A writer also remembers, edits, links, and undoes what it did itself. A reviewer also decides
    review items, merges, and undoes what others did. An admin does everything, in the spaces that the token opens.
    """
    with registry(cli) as users:
        if user not in {each.name for each in users.users()}:
            users.add_user(user)
            say(f"Added the user {user!r}.")
        _, secret = users.create_token(user, role, spaces or None, days=expires, note=note)
    put(secret)
    say("This is shown once; keep it where only its user can read it, and use it as NACRE_TOKEN.")


@command("list", form_option(), group=token_command)
def list_tokens(cli: CliContext, form: Form) -> None:
    """List the tokens by their ids; the tokens themselves are nowhere."""
    columns: list[Column[Token]] = [
        Column("id", lambda each: each.id, style="cyan"),
        Column("user", lambda each: each.user),
        Column("role", lambda each: each.role),
        Column("spaces", lambda each: ", ".join(each.spaces) or "all"),
        Column("expires", lambda each: iso(each.expires_at) or "never"),
        Column("note", lambda each: each.note, wide=True),
    ]
    with registry(cli) as users:
        print_items(users.tokens(), columns, lambda each: {**vars_of(each)}, form, "There are no tokens yet.")


@command("revoke ID", group=token_command)
def revoke(cli: CliContext, id: str) -> None:
    """Revoke a token, at once and for good."""
    with registry(cli) as users:
        matches = [token.id for token in users.tokens() if token.id.startswith(id)]
        if len(matches) > 1:
            raise UsageProblem(f"several tokens begin with {id!r}; give more characters.")
        last = [token.id for token in admin_tokens(users, cli.now())] == matches
        users.revoke(matches[0] if matches else id)
    say(f"Revoked the token {matches[0]}.")
    if last:
        say(NO_ADMIN)


def vars_of(value: User | Token) -> dict[str, object]:
    from dataclasses import asdict

    return asdict(value)
