"""Every command over a server: it works, or says in a sentence what to do instead."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from pathlib import Path

import click
import pytest

from nacre import MemoryStore
from nacre.cli.main import nacre as command_line
from nacre.lessons import LessonBook
from nacre.model.review import DECISIONS
from tests.cli.terminal import conversation
from tests.command_line import CommandLine
from tests.server.running import Served, serving, tokens
from tests.server.samples import filled

SPACE = "harbour"
# The words of each command that works; those that change much come late.
WORKS: dict[str, list[str]] = {
    "remember": ["The tide is high at six"],
    "recall": ["When is the tide high?"],
    "list": [],
    "show": ["m1"],
    "edit": ["m1", "--title", "Ferry"],
    "undo": [],
    "forget": ["m3", "--yes"],
    "review": ["--list"],
    "review conflicts": [],
    "review decide": ["m9", "validate"],
    "review decide-all": ["conflict", "keep-both", "--yes"],
    "export": ["out.nacre"],
    "import": ["rows.jsonl", "--yes"],
    "info": ["out.nacre"],
    "stats": [],
    "doctor": [],
    "memory pin": ["m1"],
    "memory unpin": ["m7"],
    "memory archive": ["m1"],
    "memory unarchive": ["m1"],
    "memory tag": ["m1", "--add", "early"],
    "memory bump": ["m1", "+0.1"],
    "memory validate": ["m1"],
    "memory history": ["m1"],
    "graph draw": ["m1"],
    "graph link": ["m1", "m5"],
    "graph neighbors": ["m1"],
    "graph path": ["m1", "m5"],
    "graph unlink": ["m1", "m5"],
    "graph relations": [],
    "graph prune": [],
    "graph entities": [],
    "graph entities about": ["Harbour"],
    "graph entities merge": ["Harbour", "Haven"],
    "graph entities unalias": ["Haven"],
    "journal tail": ["--help"],  # it follows the journal until Ctrl-C
    "journal list": [],
    "journal show": ["BATCH"],
    "journal undo": ["LAST"],
    "journal diff": ["1h"],
    "journal compact": ["--help"],
    "trash list": [],
    "trash restore": ["m3"],
    "trash empty": ["--yes"],
    "lesson search": ["ferry", "--help"],
    "lesson list": [],
    "lesson show": ["l1"],
    "lesson related": ["l1"],
    "lesson link": ["l1", "l2"],
    "lesson unlink": ["l1", "l2"],
    "lesson validate": ["l1"],
    "lesson tags": [],
    "lesson sources": [],
    "lesson contexts": [],
    "lesson audit": [],
    "lesson review": [],
    "lesson export": ["-o", "lessons.json"],
    "context": ["When is the tide high?"],
    "pack": ["When is the tide high?"],
    "store models": [],
    "store backup create": [],
    "store backup list": [],
    "store reindex": [],
    "space list": [],
    "space create": ["pier"],
    "space copy": [SPACE, "pier two"],
    "space rename": ["pier two", "quay"],
    "space delete": ["quay", "--yes"],
    "maintenance status": [],
    "maintenance tick": ["--job", "decay"],
    "maintenance decay plot": [],
    "maintenance retain": [],
    "maintenance audit": [],
    "maintenance fade": [],
    "maintenance reflect": [],
    "maintenance consolidate": [],
    "lesson delete": ["l2"],
    "memory supersede": ["m1", "m2"],
    "memory merge": ["m5", "m6"],
    "memory move": ["m5", "--to", "attic"],
    "memory types": [],
    "memory redact": ["m7", "--yes"],
    "memory purge": ["m8", "--yes"],
    "user add": ["bea"],
    "user list": [],
    "token create": ["--user", "bea", "--role", "reader", "--expires", "30d"],
    "token list": [],
    "token revoke": ["TOKEN"],
    "user remove": ["bea", "--yes"],
}
SAYS: dict[str, list[str]] = {
    "maintenance prune": [],
    "maintenance decay scores": [],
    "maintenance run": [],
    "maintenance start": [],
    "maintenance stop": [],
    "store backup restore": ["copy.db", "--yes"],
    "store encrypt": ["--yes"],
    "store decrypt": ["--yes"],
    "store rekey": ["--yes"],
    "store migrate": ["SERVER", "other.db"],
    "lesson add": ["--title", "Tide", "--content", "Look at the tide first", "--source", "tested"],
    "lesson edit": ["l1", "--title", "x"],
    "lesson import": ["lessons.json"],
    "lesson reembed": [],
    "lesson stats": [],
    "mind consolidate": ["ada"],
    "mind due": ["ada", "The bell rings"],
    "mind episodes": ["ada"],
    "mind facts": ["ada"],
    "mind procedures": ["ada"],
    "mind status": ["ada"],
    "mind working": ["ada", "ferry"],
    "ingest": ["--format", "jsonl", "rows.jsonl"],
    "serve": [],
    "web": ["--no-open"],
}
# What does not touch the store, what runs until it is stopped, and hooks, which never fail.
LOCAL = ("config", "install", "uninstall", "mcp", "hook", "compat", "help", "completion", "bench",
         "store backup verify")  # fmt: skip


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("remote")


@pytest.fixture(scope="module")
def token(place: Path) -> str:
    with MemoryStore(place / "s.db", space=SPACE, embedder="hashing") as store:
        filled(store)
        book = LessonBook(store=store)
        book.learn("Tides", "Look at the table of tides before you cast off", id="l1")
        book.learn("Ropes", "A wet rope is a heavy rope", id="l2")
    return tokens(place / "s.db", ("ada", "admin", ()))[0]


@pytest.fixture(scope="module")
def served(place: Path, token: str) -> Iterator[Served]:
    assert token  # is made before it starts
    with serving(place / "s.db", place, "--limit-requests", "0", "--limit-writes", "0") as running:
        yield running


@pytest.fixture
def over_server(
    served: Served, token: str, nacre: CommandLine, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> CommandLine:
    for name, value in (("STORE", served.url), ("TOKEN", token), ("SPACE", SPACE)):
        monkeypatch.setenv(f"NACRE_{name}", value)
    monkeypatch.chdir(tmp_path)
    Path("rows.jsonl").write_text('{"text": "The quay was built in 1890"}\n')
    return nacre


def leaves(group: click.Group, above: click.Context, path: str = "") -> Iterator[str]:
    for name in group.list_commands(above):
        found = group.get_command(above, name)
        assert found is not None
        words = f"{path} {name}".strip()
        if isinstance(found, click.Group):
            if found.invoke_without_command:
                yield words
            yield from leaves(found, click.Context(found, parent=above, info_name=name), words)
        else:
            yield words


def test_the_tables_name_every_command() -> None:
    every = [each for each in leaves(command_line, click.Context(command_line)) if not each.startswith(LOCAL)]
    groups = {"graph", "journal", "maintenance decay", "trash", "lesson", "memory", "space", "store", "maintenance"}
    assert set(every) - groups == (WORKS.keys() | SAYS.keys()) - groups


@pytest.mark.slow
def test_every_command_works_or_says_what_to_do_instead(over_server: CommandLine, served: Served) -> None:
    batch, wrong = over_server.json("journal", "list")[0]["batch"], []
    for path, words in (*WORKS.items(), *SAYS.items()):
        given = [{"SERVER": served.url, "BATCH": batch}.get(word, word) for word in words]
        if given == ["LAST"]:
            given = [over_server.json("journal", "list")[0]["batch"]]
        if "TOKEN" in given:
            given = [next(each["id"] for each in over_server.json("token", "list") if each["user"] == "bea")]
        result = over_server(*path.split(), *given)
        said = result.stderr.strip().splitlines()
        fine = result.exit_code == 0
        if path in SAYS:
            fine = fine or (said[-1].startswith("nacre: ") and "server" in said[-1] and said[-1].endswith("."))
        if not fine:
            wrong.append(f"{path}: {result.exit_code}, {said[-2:]}")
    assert not wrong, "\n".join(wrong)


@pytest.mark.parametrize("role", ["reader", "writer"])
def test_a_token_that_may_not_decide_is_told_before_it_is_asked_anything(
    over_server: CommandLine, place: Path, monkeypatch: pytest.MonkeyPatch, role: str
) -> None:
    over_server.ok("graph", "link", "m1", "m5", "--rel", f"unknown to the {role}")
    waiting = over_server.json("review")
    monkeypatch.setenv("NACRE_TOKEN", tokens(place / "s.db", (f"only-{role}", role, ()))[0])
    seen, code = conversation("review")
    assert code == 0 and "[q]" not in seen and waiting[0]["id"][:4] in seen
    refusal = f"Decisions need the role reviewer, and this token has the role {role}; ask an admin of the server"
    assert refusal in " ".join(seen.split())
    refused = over_server("review", "decide-all", waiting[0]["kind"], DECISIONS[waiting[0]["kind"]][0])
    said = " ".join(refused.stderr.split())
    assert refused.exit_code != 0 and refusal in said and "Settle" not in said


def test_what_is_advised_about_lessons_works_through_the_server_or_says_where(
    over_server: CommandLine, place: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with MemoryStore(place / "s.db", space="quay", embedder="hashing") as store:
        store.remember("The quay is long")
        book = LessonBook(store=store)
        monkeypatch.setenv("NACRE_SPACE", "quay")
        assert "`nacre lesson add` stores one, on the machine of the server." in over_server("lesson", "list").stderr
        contexts = over_server("lesson", "contexts").stderr
        assert "`nacre lesson edit ID --context …` sets one, on the machine of the server." in contexts
        book.learn("Ropes", "A wet rope is a heavy rope", source="somewhere new")
    sources = over_server("lesson", "sources", "--review")
    assert "somewhere" in sources.stdout and "replaces it, on the machine of the server." in sources.stderr
    seen, code = conversation("lesson", "sources", "--review")
    assert code == 0 and "[q]" not in seen and "replaces it, on the machine of the server." in " ".join(seen.split())
    monkeypatch.setenv("NACRE_STORE", str(place / "empty.db"))
    over_server.ok("space", "create", "quay")
    assert "`nacre lesson add` stores one.\n" in over_server("lesson", "list").stderr


@pytest.mark.slow
def test_users_tokens_and_the_doctor_are_those_of_the_server(over_server: CommandLine, served: Served) -> None:
    secret = over_server.ok("token", "create", "--user", "cleo", "--space", SPACE, "--role", "reader").strip()
    assert served.caller(secret)("GET", "/v1/me").json == {"user": "cleo", "role": "reader", "spaces": [SPACE]}
    (known,) = (each for each in over_server.json("token", "list") if each["user"] == "cleo")
    over_server.ok("token", "revoke", known["id"])
    assert served.caller(secret)("GET", "/v1/me").status == 401
    assert {each["name"] for each in over_server.json("user", "list")} >= {"ada", "cleo"}
    over_server.ok("user", "remove", "cleo", "--yes")
    assert "cleo" not in {each["name"] for each in over_server.json("user", "list")}
    assert {"store", "models"} & {each["check"] for each in over_server.json("doctor")}


def test_the_curve_of_a_memory_that_was_changed_is_drawn_from_a_server_as_from_its_file(
    over_server: CommandLine, place: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    over_server.ok("remember", "The crane lifts nine tons")
    id = over_server.json("list")[0]["id"]
    over_server.ok("edit", id, "--title", "Cranes")
    plot = ["maintenance", "decay", "plot", id, "--days", "400"]
    remote = over_server.json(*plot)["curves"]
    monkeypatch.setenv("NACRE_STORE", str(place / "s.db"))
    (local,), (drawn,) = over_server.json(*plot)["curves"], remote
    assert [at for _, at in drawn["points"]] == pytest.approx([at for _, at in local["points"]], abs=0.001)


def test_a_file_is_imported_by_the_server_and_a_space_exported_from_it(over_server: CommandLine) -> None:
    lines = [{"text": f"Bollard {number} is painted red"} for number in range(3)]
    Path("bollards.jsonl").write_text("".join(f"{json.dumps(line)}\n" for line in lines))
    over_server.ok("import", "bollards.jsonl", "--dry-run")
    assert "ollard" not in over_server.ok("list")
    over_server.ok("import", "bollards.jsonl", "--yes")
    over_server.ok("export", "all.jsonl")
    texts = [json.loads(line)["text"] for line in Path("all.jsonl").read_text().splitlines()]
    assert {line["text"] for line in lines} <= set(texts)
    refused = over_server("import", "bollards.jsonl", "--yes", "--map", "text=title")
    assert refused.exit_code != 0 and "where the server runs" in refused.stderr


@pytest.mark.slow
def test_copies_and_maintenance_are_made_by_the_server(over_server: CommandLine, place: Path) -> None:
    name = over_server.ok("store", "backup", "create").strip()
    assert any(file.name == name for file in place.rglob("*.db"))
    assert name in {each["file"] for each in over_server.json("store", "backup", "list")}
    (done,) = over_server.json("maintenance", "tick", "--job", "retain")
    assert (done["job"], done["error"]) == ("retain", "")
    every = over_server.json("maintenance", "tick", "--dry-run")
    idle = {each["job"] for each in every if not each["done"]}
    assert idle
    printed = over_server.ok("maintenance", "tick", "--dry-run")
    assert idle.isdisjoint(line.split("\t")[0] for line in printed.splitlines())
    jobs = {each["job"]: each for each in over_server.json("maintenance", "status")["jobs"]}
    assert jobs["retain"]["last_run"] and not jobs["reflect"]["last_run"]
    refused = over_server("maintenance", "prune")
    assert refused.exit_code != 0 and "--job decay" in refused.stderr


@pytest.fixture(scope="module")
def team(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Served, dict[str, str]]]:
    """A server, and tokens: those of ada and bob open all spaces, that of cem one, that of dee two."""
    place = tmp_path_factory.mktemp("team")
    with MemoryStore(place / "s.db", space="personal", embedder="hashing") as store:
        store.remember("The door code of the office is on the board")
    users = ("ada", "writer", ()), ("bob", "writer", ()), ("cem", "writer", ("team",)), ("dee", "writer", ("a", "b"))
    made = tokens(place / "s.db", *users)
    with serving(place / "s.db", place) as running:
        yield running, dict(zip(("ada", "bob", "cem", "dee"), made, strict=True))


@pytest.fixture
def as_user(
    team: tuple[Served, dict[str, str]], nacre: CommandLine, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> Callable[[str], CommandLine]:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("NACRE_STORE", team[0].url)
    monkeypatch.delenv("NACRE_SPACE")

    def use(user: str) -> CommandLine:
        monkeypatch.setenv("NACRE_TOKEN", team[1][user])
        return nacre

    return use


def test_what_is_personal_is_each_users_own(
    as_user: Callable[[str], CommandLine], team: tuple[Served, dict[str, str]]
) -> None:
    ada = as_user("ada")
    ada.ok("remember", "--personal", "My salary is 71000 euros")
    ada.ok("remember", "My desk is by the window")
    assert {each["text"] for each in ada.json("list")} == {"My salary is 71000 euros", "My desk is by the window"}
    told = " ".join(ada("space", "list").stderr.split())
    assert "Here: personal@ada, because" in told
    assert "else personal@ada. A project's memories are searched together with those in personal@ada." in told
    bob = as_user("bob")
    assert "71000" not in bob("recall", "what is the salary?", "--all").output
    refused = bob("--space", "personal@ada", "list")
    assert refused.exit_code == 1 and "71000" not in refused.output
    assert "personal@ada" not in bob("space", "list").output
    rest = team[0].caller(team[1]["bob"])
    assert rest("GET", "/v1/spaces/personal@ada/memories").status == 404
    assert rest("POST", "/v1/spaces/personal@ada/memories", {"text": "x"}).status == 404
    assert b"personal@ada" not in rest("GET", "/v1/counts").body + rest("GET", "/v1/spaces").body


def test_a_token_for_one_space_needs_no_option(as_user: Callable[[str], CommandLine]) -> None:
    cem = as_user("cem")
    cem.ok("remember", "The release is on Thursday")
    assert [each["space"] for each in cem.json("list")] == ["team"]
    assert "Here: team, because the token opens it alone" in cem("space", "list").stderr
    assert "bytes on disk" not in cem.ok("stats", "-f", "table") and cem.json("stats")["bytes_on_disk"] is None
    cem.ok("undo")
    assert cem.json("list") == []


def test_a_token_for_other_spaces_says_which_and_does_not_deny_that_there_are_more(
    as_user: Callable[[str], CommandLine],
) -> None:
    dee = as_user("dee")
    for words in (["remember", "x"], ["--space", "personal", "recall", "door"]):
        result = dee(*words)
        assert result.exit_code == 1 and "there is no space" not in result.stderr
        assert "it opens a, b. Choose one of these" in result.stderr
    dee.ok("--space", "b", "remember", "The pier is closed")
