"""Which space commands work in: the project's, with `personal` beside it."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from pathlib import Path

import pytest

from nacre import MemoryStore
from nacre.model import ExpandSpec, Hit, Recollection
from nacre.models.embedders import Hashing
from nacre.project import Project
from nacre.project_store import ProjectStore, merged
from nacre.protocols import Vectors
from nacre.remember.suggest import is_about_user
from nacre.settings import Settings, SpaceChoice, choose_space, settings
from tests.command_line import CommandLine
from tests.projects import make_project, project_in
from tests.samples import memory

FRIDAY = "Releases of the bakery shop go out on Friday."
TABS = "I prefer tabs to spaces in every file."


class Projects:
    """The command line in two projects, and in a folder that belongs to none."""

    def __init__(self, nacre: CommandLine, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        self.nacre, self.monkeypatch = nacre, monkeypatch
        self.shop, self.farm = (make_project(tmp_path / name) for name in ("shop", "farm"))
        self.home = tmp_path

    def go(self, folder: Path) -> CommandLine:
        self.monkeypatch.chdir(folder)
        return self.nacre

    def space(self, folder: Path) -> str:
        return project_in(folder).space()


@pytest.fixture
def projects(nacre: CommandLine, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Projects:
    monkeypatch.delenv("NACRE_SPACE")
    return Projects(nacre, tmp_path, monkeypatch)


@pytest.fixture
def filled(projects: Projects) -> Projects:
    """The shop has a memory, and so has `personal`, written from the farm."""
    projects.go(projects.shop).ok("remember", FRIDAY, "--id", "friday")
    projects.go(projects.farm).ok("remember", TABS, "--id", "tabs", "--personal")
    return projects


def texts(nacre: CommandLine, *words: str) -> list[str]:
    return [each["text"] for each in nacre.json(*words)]


def test_a_memory_is_stored_for_the_project_and_elsewhere_for_the_person(filled: Projects) -> None:
    filled.go(filled.home).ok("remember", "My bicycle is red.")
    spaces = {each["space"]: each["memories"] for each in filled.nacre.json("spaces")}
    assert spaces == {filled.space(filled.shop): 1, "personal": 2}


@pytest.mark.slow
def test_a_search_finds_what_is_personal_in_every_project_and_nothing_of_another_one(filled: Projects) -> None:
    assert texts(filled.go(filled.shop), "recall", "tabs or spaces in files?") == [TABS]
    assert texts(filled.go(filled.farm), "recall", "tabs or spaces in files?") == [TABS]
    assert texts(filled.go(filled.shop), "recall", "when do releases of the bakery shop go out?") == [FRIDAY]
    assert filled.go(filled.farm)("recall", "when do releases of the bakery shop go out?").exit_code == 1
    assert texts(filled.go(filled.shop), "list") == [TABS, FRIDAY] and texts(filled.go(filled.farm), "list") == [TABS]
    assert texts(filled.go(filled.home), "list") == [TABS]


@pytest.mark.slow
def test_a_hit_names_its_space_where_there_is_more_than_one(filled: Projects) -> None:
    question = ("recall", "bakery releases on Friday, tabs and spaces in every file", "--all")
    both = filled.go(filled.shop).ok(*question).splitlines()
    assert {line.split("\t")[-1] for line in both} == {filled.space(filled.shop), "personal"}
    (alone,) = filled.go(filled.farm).ok(*question).splitlines()
    assert alone.split("\t")[-2:] == [TABS, "personal"], "rows have the same columns whatever is found"
    listed = [filled.go(folder).ok("list").splitlines()[0].split("\t") for folder in (filled.shop, filled.home)]
    assert [len(row) for row in listed] == [7, 7], "and in every folder"
    assert filled.nacre.ok("list").split("\t")[-1].strip() == "personal"
    assert "personal" not in filled.nacre.ok(*question, "-f", "markdown")
    assert "personal" not in filled.nacre.ok("--space", "personal", "list", "-f", "markdown")
    packed = filled.go(filled.shop).ok("pack", "bakery releases on Friday, tabs and spaces in every file")
    assert f"space {filled.space(filled.shop)}]" in packed


def test_the_first_screen_counts_what_a_review_asks_about_besides_names(filled: Projects) -> None:
    shop = filled.go(filled.shop)
    shop.ok("remember", "Ask Priya Raman about the oven", "--entity", "Priya Raman", "--entity", "P. Raman")
    shop.ok("remember", "I bake at dawn", "--created-at", "2019-01-01", "--personal")
    shop.ok("remember", "The till is blue", "--created-at", "2020-01-01")
    waiting = shop.json("review", "--list")
    assert {item["kind"] for item in waiting} == {"entity", "stale"} and len(waiting) == 3
    assert shop.ok().splitlines()[-1].startswith("2 review items wait for you (names")


def test_the_chosen_space_is_used_alone(filled: Projects) -> None:
    nacre = filled.go(filled.shop)
    assert texts(nacre, "--space", "personal", "list") == [TABS]
    assert texts(nacre, "--space", filled.space(filled.shop), "list") == [FRIDAY]
    assert nacre("--space", filled.space(filled.shop), "show", "tabs").exit_code == 1
    assert f"in the spaces '{filled.space(filled.shop)}' and 'personal'" in nacre("show", "zzzz").stderr
    refused = nacre("--space", filled.space(filled.shop), "remember", "x", "--personal")
    assert refused.exit_code == 2 and "cannot be combined with the space" in refused.stderr


@pytest.mark.slow
def test_what_is_named_by_its_id_is_found_in_either_space(filled: Projects) -> None:
    nacre = filled.go(filled.shop)
    nacre.ok("edit", "tabs", "--text", "I prefer tabs to blanks.")
    nacre.ok("tag", "tabs", "--add", "style")
    nacre.ok("pin", "tabs")
    assert nacre.json("show", "tabs")["tags"] == ["style"]
    assert [each["text"] for each in nacre.json("history", "tabs")["versions"]] == ["I prefer tabs to blanks."]
    assert {each["act"] for each in nacre.json("journal", "tabs")} == {"remember", "edit", "tag", "pin"}
    nacre.ok("forget", "tabs", "--yes")
    assert texts(nacre, "list") == [FRIDAY]
    nacre.ok("restore", "tabs")
    nacre.ok("remember", "I prefer blanks now.", "--replaces", "tabs")
    with MemoryStore(nacre.store, space="personal", embedder="hashing") as store:
        assert [memory.text for memory in store.list_recent()] == ["I prefer blanks now."]


def test_a_table_names_the_space_of_each_memory_where_two_are_read(filled: Projects) -> None:
    nacre = filled.go(filled.farm)
    for words in (("list",), ("recall", "tabs or spaces in files?")):
        header, _, row = nacre.ok(*words, "-f", "markdown").splitlines()[:3]
        assert "| space |" in header and "| personal |" in row
    assert "space" not in filled.go(filled.home).ok("list", "-f", "markdown").splitlines()[0]


def test_the_trash_that_is_listed_is_that_of_both_spaces(filled: Projects) -> None:
    nacre = filled.go(filled.shop)
    nacre.ok("forget", "tabs", "--yes")
    assert [(each["id"], each["space"]) for each in nacre.json("trash")] == [("tabs", "personal")]
    emptied = nacre("trash", "empty", "--all", "--yes").stderr
    assert f"The trash of the space {filled.space(filled.shop)!r} is empty." in emptied
    assert "That of 'personal' has 1 memory; `nacre --space personal trash empty` empties it." in emptied
    nacre.ok("forget", "friday", "--yes")
    assert [each["id"] for each in nacre.json("trash")] == ["friday", "tabs"]
    assert "| space |" in nacre.ok("trash", "-f", "markdown")
    nacre.ok("trash", "empty", "--all", "--yes")
    assert [each["id"] for each in nacre.json("trash")] == ["tabs"]


def test_differences_graphs_and_names_are_of_both_spaces(filled: Projects) -> None:
    nacre = filled.go(filled.shop)
    nacre.ok("remember", "The oven is in the cellar.", "--id", "oven", "--entity", "Pim")
    nacre.ok("remember", "I write to Pim in English.", "--id", "pim", "--entity", "Pim", "--personal")
    nacre.ok("link", "oven", "friday")
    nacre.ok("link", "pim", "tabs")
    added = {(each["id"], each["space"]) for each in nacre.json("diff", "1h")["added"]}
    shop = filled.space(filled.shop)
    assert added == {("friday", shop), ("oven", shop), ("tabs", "personal"), ("pim", "personal")}
    assert "| space |" in nacre.ok("diff", "1h", "-f", "markdown")
    graph = nacre.json("graph")
    assert {each["id"] for each in graph["nodes"]} == {"friday", "oven", "tabs", "pim"} and len(graph["edges"]) == 2
    assert {"name": "Pim", "aliases": [], "count": 2} in nacre.json("graph", "entities")
    nacre.ok("edit", "pim", "--text", "I write to Pim in Dutch.")
    assert {each["space"] for each in nacre.json("diff", "1h")["added"]} == {shop, "personal"}


def test_counts_are_of_the_project_and_name_the_other_space(filled: Projects) -> None:
    result = filled.go(filled.shop)("stats", "-f", "json")
    assert json.loads(result.stdout)["active"] == 1
    assert (
        f"This is the space {filled.space(filled.shop)!r}; 'personal' has 1 memory, and `nacre --space" in result.stderr
    )
    assert "personal" not in filled.go(filled.home)("stats").stderr


def test_memories_of_two_spaces_are_not_changed_together(filled: Projects) -> None:
    refused = filled.go(filled.shop)("link", "friday", "tabs")
    assert refused.exit_code == 2 and "in two spaces" in refused.stderr
    assert filled.nacre("forget", "friday", "tabs", "--yes").exit_code == 2
    assert texts(filled.nacre, "list") == [TABS, FRIDAY]


@pytest.mark.slow
def test_the_last_operation_is_undone_in_whichever_space_it_was(filled: Projects) -> None:
    nacre = filled.go(filled.shop)
    refused = nacre("undo", "--last", "2")
    assert refused.exit_code == 2 and "in two spaces" in refused.stderr
    assert " in personal; " in nacre("undo").stderr
    assert texts(nacre, "list") == [FRIDAY]
    assert "personal" not in nacre("undo").stderr
    assert texts(nacre, "list") == []
    for operation in {each["batch"] for each in nacre.json("journal") if each["act"] == "undo"}:
        nacre.ok("undo", operation)
    assert texts(nacre, "list") == [TABS, FRIDAY]


def test_what_waits_for_review_is_decided_in_either_space(projects: Projects) -> None:
    nacre = projects.go(projects.shop)
    for words in ([], ["--personal"]):
        nacre.ok("remember", "The office is on floor 3.", *words)
        nacre.ok("remember", "The office is on floor 5.", *words)
    items = nacre.json("review", "--list", "--kind", "conflict")
    assert len(items) == 2
    known = Settings(store=str(nacre.store), embedder="hashing", space=projects.space(projects.shop))
    with ProjectStore(settings=known).looking_into("personal") as store:
        for item in items:
            assert store.decide(":".join(half[:8] for half in item["id"].split(":")), "keep_both")
    assert nacre.json("review", "--list", "--kind", "conflict") == []


@pytest.mark.slow
def test_a_list_of_two_spaces_is_walked_by_cursors(projects: Projects) -> None:
    nacre = projects.go(projects.shop)
    for number in range(7):
        nacre.ok("remember", f"number {number}", *(["--personal"] if number % 3 else []))
    walked, cursor = list[str](), ""
    while cursor is not None:
        result = nacre("list", "-n", "2", "--cursor", cursor, "-f", "json")
        walked += [each["text"] for each in json.loads(result.stdout)]
        _, found, rest = result.stderr.partition("next: --cursor ")
        cursor = rest.split()[0] if found else None  # type: ignore[assignment]
    assert walked == [f"number {number}" for number in reversed(range(7))]


def test_what_is_about_the_user_is_suggested_for_personal_and_stays(projects: Projects) -> None:
    nacre = projects.go(projects.shop)
    result = nacre("remember", TABS)
    told = result.stderr
    assert "about you" in told and "--personal" in told and f"`nacre forget {result.stdout[:8]}`" in told
    assert [each["space"] for each in nacre.json("list")] == [projects.space(projects.shop)]
    assert "about you" not in nacre("remember", FRIDAY).stderr
    assert "about you" not in nacre("remember", "I like olives.", "--personal").stderr


@pytest.mark.parametrize("text", ["I prefer tabs", "My dog is called Rex", "The user likes short answers", "I'm Ann"])
def test_such_texts_are_about_the_user(text: str) -> None:
    assert is_about_user(text)


@pytest.mark.parametrize(
    "text", ["Icons are SVG", "Mypy is strict here", "In May we ship", "Users log in", "I fixed it"]
)
def test_such_texts_are_not(text: str) -> None:
    assert not is_about_user(text)


def test_spaces_says_the_rule_and_what_it_gives_here(filled: Projects) -> None:
    result = filled.go(filled.shop)("spaces")
    assert (
        f"Here: {filled.space(filled.shop)}, because {filled.shop} is in a repository known by its path"
        in result.stderr
    )
    assert "personal too." in result.stderr and "else personal" in result.stderr
    assert f"Here: personal, because {filled.home} is in no repository." in filled.go(filled.home)("spaces").stderr
    assert "Here: x, because --space names it." in filled.nacre("spaces", "--space", "x").stderr
    uses = {each["space"]: each["here"] for each in filled.go(filled.shop).json("spaces")}
    assert uses == {filled.space(filled.shop): "written and read", "personal": "read"}


@pytest.mark.slow
def test_memories_of_python_programs_do_not_seem_lost(projects: Projects) -> None:
    nacre = projects.go(projects.shop)
    with MemoryStore(nacre.store, embedder="hashing") as store:
        store.remember(FRIDAY)
    for words in (["list"], ["recall", "releases"], ["pack", "releases"], ["stats"], ["lesson", "search", "releases"]):
        assert nacre(*words).stderr.count("'default', which is not read here, has 1 memory") == 1, words
    nacre.ok("remember", "Something else entirely.", "--id", "other")
    missing = nacre("recall", "when do releases go out?")
    assert missing.exit_code == 1 and "'default', which is not read here, has 1 memory" in missing.stderr
    assert "which is not read here" not in nacre("list").stderr
    nacre.ok("space", "delete", projects.space(projects.shop), "--purge", "--yes")
    advice = nacre("spaces").stderr
    way = f"nacre space copy default {projects.space(projects.shop)}"
    assert f"`{way}`" in advice and "the space of Python programs" in advice
    nacre.ok(*way.split()[1:])
    assert texts(nacre, "list") == [FRIDAY]


def test_a_question_to_two_spaces_is_embedded_once(filled: Projects) -> None:
    embedded: list[str] = []

    class Counting(Hashing):
        def embed(self, texts: Sequence[str]) -> Vectors:
            embedded.extend(texts)
            return super().embed(texts)

    known, choice = settings(), choose_space(filled.shop, environment={})
    with ProjectStore.open(known, lambda _: choice, actor="test", embedder=Counting()) as store:
        store.recall("Which day?")
        embedded.clear()
        assert {hit.space for hit in store.recall("tabs, spaces, Friday releases", min_relevance=0.0)} == {
            choice.space, "personal"
        }  # fmt: skip
        assert embedded == ["tabs, spaces, Friday releases"]


def recalled(space: str, *hits: tuple[str, float, float]) -> Recollection:
    """Of each hit its id, score and relevance."""
    return Recollection(tuple(Hit(memory(id, id), score, relevance=fit, space=space) for id, score, fit in hits))


def test_hits_of_two_spaces_are_merged_by_relevance_and_the_time_asked_for() -> None:
    own = recalled("shop", ("march", 0.6, 0.3), ("other", 0.2, 0.01))
    personal = recalled("personal", ("september", 0.9, 0.4))
    by_relevance = merged(own, personal, 5, lambda _: 1.0)
    assert [hit.memory.id for hit in by_relevance] == ["september", "march", "other"]
    assert [hit.score for hit in by_relevance] == pytest.approx([0.9, 0.45, 0.15]), "no tie, and comparable"
    by_time = merged(own, personal, 5, lambda memory: float(memory.id == "march"))
    assert [hit.memory.id for hit in by_time] == ["march", "september", "other"]


def test_a_weak_hit_is_not_raised_above_a_fair_one_of_the_other_space() -> None:
    own = recalled("shop", ("first", 0.9, 0.01), ("second", 0.8, 0.3))
    both = merged(own, recalled("personal", ("fair", 0.7, 0.25)), 5, lambda _: 1.0)
    assert [hit.memory.id for hit in both] == ["fair", "first", "second"], "the order of a space is kept"


def test_what_links_lead_to_comes_on_top_in_two_spaces_too_and_is_counted() -> None:
    known = Settings(store=":memory:", embedder="hashing", space="shop")
    with ProjectStore(settings=known).looking_into("personal") as store:
        assert store.beside is not None
        for place, rule in (
            (store, "Run the linter before a commit."),
            (store.beside, "I run the linter at a commit."),
        ):
            rule_id = place.remember(rule).id
            for fruit in ("Oranges grow in Valencia.", "Lemons grow in Sicily."):
                place.link(rule_id, place.remember(fruit).id, "refines")
        for cap, added in ((5, 4), (3, 3), (0, 0)):
            before = sum(edge.walks for edge in (*store.edges(), *store.beside.edges()))
            hits = store.recall("linter commit", 2, expand=ExpandSpec(cap=cap))
            assert ["linter" in hit.memory.text for hit in hits] == [True, True, *[False] * added]
            assert sum(edge.walks for edge in (*store.edges(), *store.beside.edges())) == before + added
        (alone,) = store.recall("linter commit", 1, expand=ExpandSpec(cap=0))
        linked = store.recall("linter commit", 1, expand=ExpandSpec())[1:]
        assert {hit.space for hit in linked} == {alone.space}, "not what links from hits lead to that are cut off"


def test_what_happened_in_a_month_is_answered_from_that_month_in_both_spaces() -> None:
    known = Settings(store=":memory:", embedder="hashing", space="shop")
    with ProjectStore(settings=known).looking_into("personal") as store:
        store.remember("The payments service was down for an hour.", occurred_at="2026-03-03")
        assert store.beside is not None
        store.beside.remember("I moved to Porto.", occurred_at="2026-09-01")
        hits = store.recall("What happened in March 2026?", asked_at="2026-11-01")
        assert [hit.memory.text for hit in hits] == ["The payments service was down for an hour."]
        outside = store._fits_time("Who was there in March 2026?", {"asked_at": "2026-11-01"})
        assert outside(store.beside.list_recent()[0]) < 0.01


def test_a_restricted_agent_looks_into_personal_and_shares_the_space_of_its_project(tmp_path: Path) -> None:
    known = Settings(store=str(tmp_path / "m.db"), embedder="hashing")
    alone = replace(known, agent="bob", scope="cross_session_write")

    def choose(name: str) -> Callable[[Iterable[str]], SpaceChoice]:
        return lambda spaces: SpaceChoice(Project(name, "0badc0de").space(spaces), "", "personal")

    with ProjectStore.open(known, choose("shop"), actor="test") as store:
        store.remember(FRIDAY)
    with ProjectStore.open(alone, choose("copy"), actor="test") as store:
        assert store.space == "shop-0badc0de" and store.beside is not None
        store.beside.remember(TABS)
        assert [hit.memory.text for hit in store.recall("tabs or spaces, and releases")] == [TABS]
    with ProjectStore.open(replace(alone, scope_spaces="copy-0badc0de"), choose("copy"), actor="test") as store:
        assert (store.space, store.beside) == ("copy-0badc0de", None)


def test_a_memory_of_personal_is_found_by_an_id_that_is_given_by_its_name(filled: Projects) -> None:
    known, choice = settings(), choose_space(filled.shop, environment={})
    with ProjectStore.open(known, lambda _: choice, actor="test", embedder=Hashing()) as store:
        (own,) = store.in_space("personal").list_recent(1)
        assert store.edit(id=own.id, tags=["style"]).tags == ("style",)
        assert [each.id for each in store.history(id=own.id).versions] == [own.id]


def test_the_space_of_the_project_keeps_its_key_when_it_is_renamed(filled: Projects) -> None:
    nacre, space = filled.go(filled.shop), filled.space(filled.shop)
    key = space.rpartition("-")[2]
    for options in ([], ["--dry-run"]):
        refused = nacre("space", "rename", space, "shop", *options)
        assert refused.exit_code == 2 and f"such as shop2-{key}" in refused.stderr
    assert sorted(texts(nacre, "list")) == sorted([FRIDAY, TABS])
    nacre.ok("space", "rename", space, f"bakery-{key}")
    assert sorted(texts(nacre, "list")) == sorted([FRIDAY, TABS])
    nacre.ok("undo")
    filled.go(filled.farm).ok("space", "rename", space, "shop")


def test_a_project_without_memories_hints_at_the_space_of_one_with_its_name(filled: Projects) -> None:
    other = make_project(filled.home / "clone" / "shop")
    nacre, old, new = filled.go(other), filled.space(filled.shop), filled.space(other)
    way = f"nacre space copy {old} {new}"
    for words in (["list"], ["recall", "releases"]):
        assert f"The space {old!r} has 1 memory" in nacre(*words).stderr and f"`{way}`" in nacre(*words).stderr
    nacre.ok(*way.split()[1:])
    assert sorted(texts(nacre, "list")) == sorted([FRIDAY, TABS])
    assert "has 1 memory" not in nacre("list").stderr


def test_a_new_space_beside_that_of_a_namesake_is_told(filled: Projects) -> None:
    other = make_project(filled.home / "clone" / "shop")
    assert f"`nacre space copy {filled.space(filled.shop)} " in filled.go(other)("remember", "A note.").stderr


def test_an_empty_space_says_where_the_memories_are(projects: Projects) -> None:
    nacre = projects.go(projects.shop)
    with MemoryStore(nacre.store, space="ada", embedder="hashing") as store:
        store.remember(FRIDAY)
    assert nacre("list").stderr.count("Memories are in 'ada' (1); `--space ada` looks there.") == 1
    assert "Memories are in" not in nacre("--space", "ada", "list").stderr
    nacre.ok("remember", "A note.")
    assert "Memories are in" not in nacre("list").stderr


def test_the_personal_space_keeps_its_name(nacre: CommandLine) -> None:
    nacre.ok("--space", "personal", "remember", "The bicycle is in the cellar")
    refused = nacre("space", "rename", "personal", "mine")
    assert refused.exit_code == 2 and "nacre space copy personal mine" in refused.stderr
