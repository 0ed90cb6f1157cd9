"""What a restricted agent is shown of the vocabulary, may write there, and which of its walks are counted."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from nacre import MemoryStore
from nacre.access.capabilities import AgentCapabilities, ScopeLevel
from nacre.errors import AccessDenied
from nacre.model import Link
from nacre.model.graph import RELATIONS
from nacre.protocols import Data, TermSet
from tests.embedders import Moody

REVIEW: Data = {"review": True}


@pytest.fixture
def owner(tmp_path: Path) -> Iterator[MemoryStore]:
    with MemoryStore(tmp_path / "s.db", embedder=Moody()) as opened:
        yield opened


@pytest.fixture
def agent(owner: MemoryStore, tmp_path: Path) -> Iterator[MemoryStore]:
    """Sees and changes its own memories alone."""
    owner.backend.commit(
        [
            TermSet("relation", "taught", {"meaning": "known to all"}),
            TermSet("relation", "waiting", REVIEW),
            TermSet("source/default", "handbook", {"meaning": "a book"}),
            TermSet("type", "recipe", {"meaning": "how to cook"}),
        ]
    )
    can = AgentCapabilities(ScopeLevel.CROSS_SESSION_WRITE)
    with MemoryStore(tmp_path / "s.db", embedder=Moody(), agent="ann", capabilities=can) as opened:
        yield opened


@pytest.mark.parametrize(
    ("kind", "name", "shown"),
    [
        ("relation", "taught", False),
        ("relation", "waiting", False),
        ("source/default", "handbook", False),
        ("type", "recipe", True),
    ],
)
def test_a_restricted_agent_is_shown_types_and_no_terms_of_others(
    agent: MemoryStore, kind: str, name: str, shown: bool
) -> None:
    assert (agent.backend.term(kind, name) is not None) is shown


def test_a_relation_may_come_up_by_itself_and_go_again(owner: MemoryStore, agent: MemoryStore) -> None:
    agent.backend.commit([TermSet("relation", "foretells", REVIEW)])
    assert owner.backend.terms("relation")["foretells"] == REVIEW
    agent.backend.commit([TermSet("relation", "foretells", None)])
    assert "foretells" not in owner.backend.terms("relation")


def test_a_relation_that_still_ties_something_does_not_go(owner: MemoryStore, agent: MemoryStore) -> None:
    barn = agent.remember("The barn stores hay").id
    agent.remember("The cat sleeps", links=[Link(barn, "guards")], on_conflict="ignore")
    agent.backend.commit([TermSet("relation", "guards", None)])
    assert "guards" in owner.backend.terms("relation")


@pytest.mark.parametrize(
    ("kind", "name", "data"),
    [
        ("relation", "new", {"meaning": "mine"}),
        ("relation", "waiting", {"meaning": "mine"}),
        ("source/default", "handbook", None),
        ("source/default", "another", REVIEW),
        ("type", "recipe", None),
    ],
)
def test_a_restricted_agent_does_not_change_what_is_everybodys(
    owner: MemoryStore, agent: MemoryStore, kind: str, name: str, data: Data | None
) -> None:
    before = owner.backend.terms(kind)
    with pytest.raises(AccessDenied, match=r"may not change (the|a) .+: that concerns memories beyond its scope"):
        agent.backend.commit([TermSet(kind, name, data)])
    assert owner.backend.terms(kind) == before


def test_relations_of_others_are_neither_named_nor_described(owner: MemoryStore, agent: MemoryStore) -> None:
    owner.register_relation("smuggles", "what the harbour master must not know")
    barn = agent.remember("The barn stores hay").id
    agent.remember("The cat sleeps", links=[Link(barn, "guards")], on_conflict="ignore")
    own = set(agent.relations()) - set(RELATIONS)
    assert own == {"guards"} and agent.relations()["guards"] == ""
    assert agent.vocabulary("relation") == {}


def test_an_agent_may_use_a_relation_that_it_cannot_see_and_leaves_it_as_it_is(
    owner: MemoryStore, agent: MemoryStore
) -> None:
    owner.register_relation("guards", "keeps thieves away")
    barn, cat = agent.remember("The barn stores hay").id, agent.remember("The cat sleeps", on_conflict="ignore").id
    assert agent.link(cat, barn, "guards").notes == ()
    assert agent.relations()["guards"] == "" and owner.relations()["guards"] == "keeps thieves away"
    agent.undo()
    assert "guards" not in agent.relations() and owner.relations()["guards"] == "keeps thieves away"


def test_walks_along_an_agents_own_links_are_counted_and_along_others_are_not(
    owner: MemoryStore, agent: MemoryStore
) -> None:
    barn = agent.remember("The barn stores hay").id
    cat = agent.remember("The cat sleeps", links=[Link(barn, "related")], on_conflict="ignore").id
    owner.remember("The dog barks", id="dog", links=[Link(barn, "related")], on_conflict="ignore")
    assert [near.memory.id for near in agent.neighbors(cat)] == [barn]
    assert [near.memory.id for near in agent.neighbors(barn)] == [cat]
    walks = {edge.source: edge.walks for edge in owner.backend.edges("default")}
    assert walks == {cat: 2, "dog": 0}
    with_foreign = owner.backend.edges("default")
    agent.backend.walked("default", with_foreign)
    assert {edge.source: edge.walks for edge in owner.backend.edges("default")} == {cat: 3, "dog": 0}
