"""nacre graph link, unlink, neighbors, graph, path, relations, prune-links"""

from __future__ import annotations

import os

import pytest

from tests.command_line import CommandLine


@pytest.fixture
def filled(nacre: CommandLine) -> CommandLine:
    texts = (("api", "Flask answers requests"), ("pg", "Postgres keeps orders"), ("cat", "Tom sleeps"))
    return nacre.after(*(("remember", text, "--id", f"{id}-memory") for id, text in texts))


@pytest.fixture
def linked(filled: CommandLine) -> CommandLine:
    return filled.after(
        ("link", "api", "pg", "--rel", "depends_on"),
        ("link", "cat", "pg", "--weight", "0.2", "--why", "both are grey"),
    )


def ids(results: list[dict[str, object]]) -> list[str]:
    return [str(each["id"]) for each in results]


def test_link_prints_the_link_in_three_forms(filled: CommandLine) -> None:
    assert filled.ok("link", "api", "pg") == "api-memory\trelated\tpg-memory\t1"
    assert filled.ok("link", "api", "cat", "-f", "text") == (
        "api-memory (Flask answers requests) related → cat-memory (Tom sleeps)"
    )
    result = filled.json("link", "api", "pg", "-r", "mentions", "-w", "0.5")
    assert result == {"source": "api-memory", "target": "pg-memory", "rel": "mentions", "weight": 0.5, "new": True}


def test_adding_the_same_link_again_is_reported_and_changes_nothing(linked: CommandLine) -> None:
    result = linked("link", "api", "pg", "--rel", "depends_on")
    assert result.exit_code == 0 and "already" in result.stderr
    assert [entry["act"] for entry in linked.json("journal", "api")] == ["link", "remember"]


def test_a_relation_similar_to_a_known_one_is_reported(filled: CommandLine) -> None:
    assert "did you mean 'depends_on'" in filled("link", "api", "pg", "--rel", "depnds_on").stderr


def test_a_link_may_name_what_is_not_there_yet(filled: CommandLine) -> None:
    assert "the link waits for it" in filled("link", "api", "later").stderr
    result = filled("neighbors", "api")
    assert (result.exit_code, result.stdout) == (0, "")
    assert "not here: later" in result.stderr
    filled.ok("unlink", "api", "lat")
    assert filled.json("show", "api")["links"] == []


@pytest.mark.slow
@pytest.mark.parametrize(
    ("words", "code", "says"),
    [
        (["link", "zzz", "pg"], 1, "'zzz'"),
        (["link", "api", "api"], 3, "itself"),
        (["link", "api", "pg", "--weight", "heavy"], 2, "not a valid float"),
        (["link", "api", "pg", "--weight", "nan"], 2, "weight"),
        (["link", "api", "pg", "--rel", " "], 2, "rel"),
        (["link", "api"], 2, "TARGET"),
        (["unlink", "api", "cat"], 1, "no link"),
        (["unlink", "api", "pg", "--rel", "related"], 1, "no link of the relation 'related'"),
        (["neighbors", "zzz"], 1, "'zzz'"),
        (["neighbors", "api", "--depth", "0"], 2, "depth"),
        (["neighbors", "api", "--direction", "up"], 2, "direction"),
        (["graph", "zzz"], 1, "'zzz'"),
        (["path", "api", "zzz"], 1, "'zzz'"),
        (["relations", "--description", "x"], 2, "--add"),
        (["relations", "--add", ""], 2, "relation"),
    ],
)
def test_what_cannot_be_linked_or_walked_is_one_sentence_and_a_code(
    linked: CommandLine, words: list[str], code: int, says: str
) -> None:
    before = linked.json("journal", "--all")
    result = linked(*words)
    assert (result.exit_code, result.stdout) == (code, "")
    assert says in result.stderr
    assert linked.json("journal", "--all") == before


def test_strict_links_refuse_unknown_relations_and_ends(filled: CommandLine, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NACRE_STRICT_LINKS", "true")
    unknown, nowhere = filled("link", "api", "pg", "--rel", "depnds_on"), filled("link", "api", "nowhere")
    assert unknown.exit_code == 2 and "did you mean 'depends_on'" in unknown.stderr
    assert nowhere.exit_code == 1 and "'nowhere'" in nowhere.stderr


@pytest.mark.slow
def test_unlink_takes_one_relation_or_all_and_undo_brings_them_back(linked: CommandLine) -> None:
    linked.ok("link", "api", "pg", "--rel", "mentions")
    linked.ok("unlink", "api", "pg", "--rel", "mentions")
    assert [link["rel"] for link in linked.json("show", "api")["links"]] == ["depends_on"]
    linked.ok("undo")
    assert "2 links" in linked("unlink", "api", "pg").stderr
    linked.ok("undo")
    assert len(linked.json("show", "api")["links"]) == 2


@pytest.mark.slow
def test_neighbors_are_walked_by_relation_direction_and_depth(linked: CommandLine) -> None:
    assert sorted(ids(linked.json("neighbors", "pg"))) == ["api-memory", "cat-memory"]
    assert ids(linked.json("neighbors", "pg", "--rel", "depends_on")) == ["api-memory"]
    assert len(linked.json("neighbors", "pg", "--rel", "depends_on", "--rel", "related")) == 2
    assert linked.json("neighbors", "pg", "--direction", "out") == []
    assert linked.ok("neighbors", "api", "-d", "2").split("\n") == [
        "pg-memory\t1\tout\tdepends_on\t1\tsemantic\tPostgres keeps orders",
        "cat-memory\t2\tin\trelated\t0.2\tsemantic\tTom sleeps",
    ]
    assert "→ depends_on" in linked.ok("neighbors", "api", "-f", "table")


def test_neighbors_pass_by_what_is_trashed_unless_it_is_asked_for(linked: CommandLine) -> None:
    linked.ok("forget", "pg", "--yes")
    result = linked("neighbors", "api")
    assert result.stdout == "" and "nacre graph link" in result.stderr
    assert ids(linked.json("neighbors", "api", "--hidden", "-d", "2")) == ["pg-memory", "cat-memory"]


def test_a_circle_of_links_is_walked_once(linked: CommandLine) -> None:
    linked.ok("link", "pg", "api")
    assert sorted(ids(linked.json("neighbors", "api", "-d", "9"))) == ["cat-memory", "pg-memory"]
    assert linked.ok("graph", "api", "-d", "9").split("\n") == [
        "api-memory Flask answers requests",
        "├─ depends_on → pg-memory Postgres keeps orders",
        "│  └─ related ← cat-memory Tom sleeps",
        "└─ related ← pg-memory (above)",
    ]


def test_a_graph_without_ids_begins_with_the_most_tied(linked: CommandLine) -> None:
    linked.ok("remember", "nothing is linked to this")
    assert linked.ok("graph").split("\n") == [
        "pg-memory Postgres keeps orders",
        "├─ depends_on ← api-memory Flask answers requests",
        "└─ related ← cat-memory Tom sleeps",
    ]


def test_a_graph_of_nothing_is_no_failure(nacre: CommandLine) -> None:
    result = nacre("graph")
    assert (result.exit_code, result.stdout.strip()) == (0, "")
    assert "nacre graph link" in result.stderr
    assert nacre.json("graph") == {"nodes": [], "edges": [], "dangling": []}


def test_a_graph_for_programs_has_nodes_edges_and_what_is_missing(linked: CommandLine) -> None:
    linked.ok("link", "pg", "later")
    result = linked.json("graph", "pg")
    assert sorted(ids(result["nodes"])) == ["api-memory", "cat-memory", "pg-memory"]
    assert {(edge["source"], edge["rel"], edge["target"]) for edge in result["edges"]} == {
        ("api-memory", "depends_on", "pg-memory"),
        ("cat-memory", "related", "pg-memory"),
    }
    assert result["dangling"] == ["later"]
    assert linked.json("graph", "pg", "--depth", "0")["edges"] == []


def test_dot_quotes_what_would_end_a_label(linked: CommandLine) -> None:
    linked.ok("remember", 'say "hi" \\ bye', "--id", 'quo"ted')
    linked.ok("link", "quo", "pg")
    drawn = linked.ok("graph", "quo", "-f", "dot")
    assert drawn.startswith("digraph nacre {") and drawn.endswith("}")
    assert '"quo\\"ted" [label="say \\"hi\\" \\\\ bye"];' in drawn
    assert '"quo\\"ted" -> "pg-memory" [label="related"];' in drawn


def test_a_terminal_without_fine_strokes_gets_plain_ones(linked: CommandLine) -> None:
    drawn = linked.process("graph", "pg", env={**os.environ, "PYTHONIOENCODING": "ascii"}).stdout
    assert "|- depends_on <- api-memory" in drawn and "`- related <- cat-memory" in drawn


def test_a_path_leads_from_one_to_the_other(linked: CommandLine) -> None:
    assert linked.ok("path", "api", "cat").split("\n") == [
        "\t\tapi-memory\tFlask answers requests",
        "out\tdepends_on\tpg-memory\tPostgres keeps orders",
        "in\trelated\tcat-memory\tTom sleeps",
    ]
    assert "depends_on →" in linked.ok("path", "api", "cat", "-f", "table")
    assert [step["tie"] and step["tie"]["rel"] for step in linked.json("path", "api", "cat")] == [
        None,
        "depends_on",
        "related",
    ]


def test_where_no_links_lead_the_code_is_one(linked: CommandLine) -> None:
    result = linked("path", "api", "cat", "--direction", "out", "-f", "json")
    assert (result.exit_code, result.stdout) == (1, "[]\n")
    assert "no links lead" in result.stderr


def test_relations_are_listed_added_and_confirmed(linked: CommandLine) -> None:
    linked.ok("link", "api", "pg", "--rel", "adores")
    assert "adores\twaits\t" in linked.ok("relations")
    assert "nacre review" in linked.ok("relations", "-f", "table")
    linked.ok("relations", "--add", "adores", "--description", "likes very much")
    known = {each["relation"]: each for each in linked.json("relations")}
    assert (known["adores"]["description"], known["adores"]["waits_for_review"]) == ("likes very much", False)
    assert known["depends_on"]["description"] == "depends on the other"


def test_pruning_lists_first_and_removes_only_with_apply(linked: CommandLine) -> None:
    plan = linked("prune-links")
    assert plan.stdout == "cat-memory\trelated\tpg-memory\t0.2\t0\n"
    assert "--apply" in plan.stderr
    assert len(linked.json("prune-links", "--below", "2")) == 2
    refused = linked("prune-links", "--apply", input="n\n")
    assert refused.exit_code == 2 and "1 link?" in refused.stderr
    assert len(linked.json("show", "cat")["links"]) == 1
    linked.ok("prune-links", "--apply", "--yes")
    assert linked.json("show", "cat")["links"] == []
    assert "No link is that weak" in linked("prune-links").stderr
    linked.ok("undo")
    assert len(linked.json("show", "cat")["links"]) == 1


def test_a_link_that_was_walked_is_not_pruned(linked: CommandLine) -> None:
    linked.ok("neighbors", "cat")
    assert linked.json("prune-links") == []
    assert len(linked.json("prune-links", "--walks", "1")) == 1


def test_show_lists_links_in_both_directions(linked: CommandLine) -> None:
    output = linked.ok("show", "pg")
    assert "depends_on ←" in output and "Flask answers requests" in output
    assert "depends_on →" in linked.ok("show", "api")
    inward = linked.json("show", "pg")["links_in"]
    assert {edge["source"] for edge in inward} == {"api-memory", "cat-memory"}
    assert linked.json("prune-links") != [], "looking at a memory walks no link"


@pytest.mark.slow
def test_a_nasty_relation_or_id_does_not_act_on_a_terminal(linked: CommandLine) -> None:
    linked.ok("remember", "x", "--id", "\x1b[31mred")
    linked.ok("link", "\x1b[31mred", "pg", "--rel", "\x1b[31mbad")
    for words in (["graph"], ["graph", "-f", "dot"], ["neighbors", "pg"], ["relations"], ["review"], ["journal"]):
        for form in ([], ["-f", "table"]):
            assert "\x1b" not in linked(*words, *form).output
