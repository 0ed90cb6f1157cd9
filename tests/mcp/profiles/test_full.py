"""The full profile over real stdio: every tool that it adds to the core."""

from __future__ import annotations

import time
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path

import pytest

from nacre import MemoryStore
from nacre.mcp.calls import DATA
from nacre.mcp.profiles import core, full
from tests.hooks.hook_client import eventually
from tests.mcp.agents import Agent, stdio_agent


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("full")


@pytest.fixture(scope="module")
def agent(place: Path) -> Iterator[Agent]:
    with stdio_agent(place / "store.db", place, "full") as agent:
        yield agent


def keep(agent: Agent, text: str, **fields: object) -> str:
    return str(agent.ok("remember", text=text, **fields)["id"])


def test_it_has_the_core_and_more(agent: Agent) -> None:
    assert list(agent.tools()) == [tool.name for tool in full.PROFILE.tools]
    assert {tool.name for tool in core.PROFILE.tools} < set(agent.tools())


def test_memories_are_read_and_listed(agent: Agent) -> None:
    a, b = keep(agent, "Basin one is drained"), keep(agent, "Basin two is full", type="episodic")
    assert [each["id"] for each in agent.ok("get", ids=[b, a[:8]])["memories"]] == [b, a]
    assert [each["id"] for each in agent.ok("list", limit=2)["memories"]] == [b, a]
    assert [each["id"] for each in agent.ok("list", limit=1, offset=1)["memories"]] == [a]
    assert [each["id"] for each in agent.ok("list", type="episodic")["memories"]] == [b]
    assert agent.ok("list", until="2001-01-01")["memories"] == []
    assert "<memories>" in agent.told("list")


def test_an_edit_says_what_it_conflicts_with_and_what_was_left_out(agent: Agent) -> None:
    older = keep(agent, "The capstan turns 30 tons")
    id = keep(agent, "The capstan is oiled in May")
    edited = agent.ok("edit", id=id, text="The capstan turns 45 tons")
    assert [each["older"]["id"] for each in edited["conflicts"]] == [older]
    told = agent.told("edit", id=id, text="The capstan turns 50 tons")
    assert "replace them with `supersede`" in told and "30 tons" in told
    token = "ghp_" + "a1B2c3D4e5F6g7H8i9J0" + "k1L2m3N4o5P6q7R8"
    told = agent.told("edit", id=id, text=f"The capstan opens with {token}")
    assert "Kept without what looked like a secret" in told and token not in told


def test_the_past_can_be_listed(agent: Agent) -> None:
    id = keep(agent, "The sluice is painted green")
    noted = time.time()
    before = datetime.fromtimestamp(noted, UTC).isoformat()
    assert eventually(lambda: time.time() > noted + 0.001)  # whatever a tick of the clock is here
    agent.ok("edit", id=id, text="The sluice is painted grey", tags=["sluice"], why="repainted")
    assert "The sluice is painted green" in agent.told("list", as_of=before, limit=1)
    assert [each["id"] for each in agent.ok("diff", since=before)["changed"]] == [id]
    assert "The sluice is painted grey [" in agent.told("diff", since=before)
    assert "painted green -> The sluice is painted grey [repainted]" in agent.told("history", id=id)
    assert [each["what"] for each in agent.ok("journal", id=id)["operations"]] == ["edit", "remember"]
    assert [each["what"] for each in agent.ok("journal", id=id, operation="edit")["operations"]] == ["edit"]


def test_memories_are_superseded_and_restored(agent: Agent) -> None:
    old, new = keep(agent, "Gate staff change at noon"), keep(agent, "Gate staff change at two")
    assert agent.ok("supersede", old=old, new=new) == {"old": old, "new": new}
    assert old not in [each["id"] for each in agent.ok("list", limit=100)["memories"]]
    assert agent.ok("restore", ids=[old])["restored"]
    assert old in [each["id"] for each in agent.ok("list", limit=100)["memories"]]
    assert "itself" in agent.refused("supersede", old=old, new=old)


def test_what_expired_and_is_restored_no_longer_expires(agent: Agent, place: Path) -> None:
    id = keep(agent, "The crane is hired until March")
    with MemoryStore(place / "store.db") as store:
        space = next(name for name in store.spaces() if store.in_space(name).get(id))
        store.in_space(space).edit(id, expires_at="2020-03-01")
    agent.ok("forget", ids=[id])
    assert agent.told("restore", ids=[id]) == "Restored. 1 had expired, and no longer expires."
    assert id in [each["id"] for each in agent.ok("list", limit=100)["memories"]]
    assert agent.told("restore", ids=[id]).startswith("Nothing to do")


def test_what_expired_and_leaves_the_archive_no_longer_expires(agent: Agent, place: Path) -> None:
    id = keep(agent, "The barge is hired until April")
    agent.ok("archive", ids=[id])
    with MemoryStore(place / "store.db") as store:
        space = next(name for name in store.spaces() if store.in_space(name).get(id))
        store.in_space(space).edit(id, expires_at="2020-04-01")
    assert agent.told("archive", ids=[id], remove=True).endswith(" 1 had expired, and no longer expires.")
    assert "expire" not in agent.told("archive", ids=[id])


def test_memories_are_pinned_archived_and_validated(agent: Agent) -> None:
    id = keep(agent, "Spare keys hang in the pilot house")
    assert agent.ok("pin", ids=[id])["changed"] == [id]
    assert agent.ok("pin", ids=[id])["changed"] == []
    assert agent.ok("pin", ids=[id], remove=True)["changed"] == [id]
    assert agent.ok("archive", ids=[id])["changed"] == [id]
    assert id not in str(agent.ok("recall", query="spare keys pilot house"))
    assert agent.ok("archive", ids=[id], remove=True)["changed"] == [id]
    assert agent.ok("validate", id=id, confidence=0.7) == {"id": id, "confidence": 0.7}


@pytest.mark.parametrize("tool", ["pin", "archive"])
def test_what_is_in_the_trash_is_said_to_be_there(agent: Agent, tool: str) -> None:
    gone, kept = keep(agent, f"The winch was sold before the {tool}"), keep(agent, f"A capstan stays for the {tool}")
    agent.ok("forget", ids=[gone])
    said = f"In the trash, and left as it is: {gone[:8]}; `restore` it first."
    assert agent.told(tool, ids=[gone]) == said
    assert agent.told(tool, ids=[gone, kept]) == f"Changed: {kept[:8]}. {said}"
    assert agent.told(tool, ids=[gone, kept]) == f"Nothing to do: it is so already. {said}"


@pytest.mark.parametrize("tool", ["pin", "archive", "restore", "forget"])
def test_a_list_without_a_memory_is_refused(agent: Agent, tool: str) -> None:
    assert "No memory is named" in agent.refused(tool, ids=[])


def test_links_are_walked_and_drawn(agent: Agent) -> None:
    texts = ("Sand drifts in from the bar", "The channel silts up each spring", "Dredgers are hired in May")
    a, b, c = (keep(agent, text) for text in texts)
    agent.ok("link", source=a, target=b, rel="causes")
    agent.ok("link", source=b, target=c, rel="part_of")
    near = agent.ok("neighbors", id=a, depth=2)["neighbors"]
    assert [(each["id"], each["depth"]) for each in near] == [(b, 1), (c, 2)]
    assert "causes, out" in agent.told("neighbors", id=a)
    assert agent.ok("neighbors", id=a, rel="part_of")["neighbors"] == []
    way = agent.ok("path", start=a, end=c)
    assert way["found"] and [each["id"] for each in way["memories"]] == [a, b, c]
    alone = keep(agent, "A gull without ties")
    assert not agent.ok("path", start=a, end=alone)["found"]
    drawn = agent.ok("export_graph", ids=[a], depth=2)
    assert (drawn["memories"], drawn["links"]) == (3, 2)
    assert "flowchart" in agent.told("export_graph", ids=[a], depth=2)
    assert "digraph" in agent.told("export_graph", form="dot")


def test_what_is_known_of_a_name_is_found(agent: Agent) -> None:
    id = keep(agent, "Captain Ingrid Solberg prefers the southern berth", entities=["Ingrid Solberg"])
    assert id in [each["id"] for each in agent.ok("about", name="ingrid solberg")["memories"]]


def test_an_act_is_undone_by_its_id_or_as_the_last(agent: Agent) -> None:
    id = keep(agent, "The ferry bell is cracked")
    act = agent.ok("journal", id=id)["operations"][0]["operation"]
    assert agent.ok("undo", operation=act)["undone"] == [id]
    assert id not in str(agent.ok("recall", query="ferry bell cracked"))
    assert agent.ok("undo", operation=agent.ok("journal", id=id)["operations"][0]["operation"])["undone"] == [id]
    assert agent.ok("undo")["undone"] == [id]
    assert "not both" in agent.refused("undo", operation=act, last=2)


def test_conflicts_of_a_whole_space_are_found_and_noted_with_progress(agent: Agent) -> None:
    keep(agent, "The dry dock holds 3 ships")
    id = keep(agent, "The dry dock holds 5 ships")
    seen: list[float] = []

    async def progressed(progress: float, total: float | None, message: str | None) -> None:
        assert total is not None and message
        seen.append(progress / total)

    found = agent.do(agent.client.call_tool, "conflicts", {"note": True}, progress_callback=progressed)
    assert not found.is_error and found.meta[DATA]["found"] >= 1
    assert seen and seen[-1] == 1.0
    (one, *_) = agent.ok("conflicts", id=id)["conflicts"]
    assert one["kind"] in ("contradiction", "update") and one["newer"]["id"] == id


def test_episodes_are_condensed_only_when_asked_to(agent: Agent) -> None:
    for day in ("Monday", "Tuesday", "Friday"):
        keep(agent, f"On {day} the harbour pump failed again and was restarted by hand", type="episodic")
    shown = agent.ok("reflect", min_cluster=2)
    assert not shown["applied"] and shown["summaries"]
    applied = agent.ok("reflect", apply=True, min_cluster=2)
    (summary, *_) = applied["summaries"]
    assert "harbour pump failed" in agent.told("get", ids=[summary["id"]])
    assert "offers no model" in agent.refused("reflect", ask_model=True)


def test_maintenance_does_what_is_due_and_says_how_far_it_is(agent: Agent) -> None:
    seen: list[str] = []

    async def progressed(progress: float, total: float | None, message: str | None) -> None:  # noqa: ARG001
        seen.append(message or "")

    done = agent.do(agent.client.call_tool, "maintenance_tick", {"dry_run": True}, progress_callback=progressed)
    assert {each["job"] for each in done.meta[DATA]["jobs"]} >= {"decay", "trash"}
    assert seen[-1] == "maintenance"
    assert agent.ok("maintenance_tick")["jobs"]
    assert {each["job"] for each in agent.ok("maintenance_tick")["jobs"]} <= {"reflect"}  # which was only tried out


def test_every_tool_is_driven_here_or_with_the_core() -> None:
    written = "".join(Path(__file__).with_name(f"test_{name}.py").read_text("utf-8") for name in ("core", "full"))
    assert [
        tool.name
        for tool in full.PROFILE.tools
        if f'"{tool.name}", ' not in written and f'"{tool.name}")' not in written
    ] == []
