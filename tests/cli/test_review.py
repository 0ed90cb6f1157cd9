"""nacre review conflicts, review, validate, redact, and remember --on-conflict"""

from __future__ import annotations

import re
import sys
from pathlib import Path

import pytest

from nacre.cli.cli_context import CliContext
from nacre.cli.commands.review import CHOICES, SKIP, current_item
from nacre.engine import entities
from nacre.model.review import DECISIONS
from tests.cli.terminal import conversation
from tests.command_line import CommandLine

OLD, NEW = "The office is in Berlin", "The office is in Munich"
KEYS = "[?] "


@pytest.fixture
def office(nacre: CommandLine) -> CommandLine:
    return nacre.after(("remember", OLD, "--id", "berlin-memory"))


@pytest.fixture
def noted(office: CommandLine) -> CommandLine:
    return office.after(("remember", NEW, "--id", "munich-memory"))


def live(nacre: CommandLine) -> list[str]:
    return sorted(each["id"] for each in nacre.json("list"))


# remember --on-conflict


def test_a_conflict_is_reported_with_the_remedy(office: CommandLine) -> None:
    result = office("remember", NEW, "--id", "munich-memory")
    assert result.stdout == "munich-memory\n"
    assert "seems to update berlin-memory" in result.stderr and OLD in result.stderr
    assert "new 'Munich', old 'Berlin'" in result.stderr
    assert "`nacre memory supersede berlin-memory munich-memory`" in result.stderr
    assert "`nacre review`" in result.stderr and "`nacre undo`" in result.stderr


def test_an_edit_reports_its_conflicts_as_a_new_memory_does(office: CommandLine) -> None:
    office.ok("remember", "The cat sleeps", "--id", "munich-memory")
    result = office("edit", "munich", "--text", NEW)
    assert "seems to update berlin-memory" in result.stderr and "new 'Munich', old 'Berlin'" in result.stderr
    assert "`nacre review` settles it" in result.stderr
    again = office("edit", "berlin", "--text", "The office is in Berlin now")
    assert "`nacre review` settles it" in again.stderr  # the link of the other side notes it


def test_several_conflicts_have_a_command_each(noted: CommandLine) -> None:
    result = noted("remember", "The office is in Hamburg", "--id", "hamburg-memory")
    assert "All are kept: `nacre review` settles them, " in result.stderr
    for other in ("berlin-memory", "munich-memory"):
        assert (
            f"`nacre memory supersede {other} hamburg-memory`" in result.stderr
            and f"` replaces {other}" in result.stderr
        )


def test_the_decision_chooses_among_the_items_of_a_memory(nacre: CommandLine) -> None:
    nacre.ok("remember", OLD, "--id", "berlin-memory", "--created-at", "2020-01-01")
    nacre.ok("remember", NEW, "--id", "munich-memory", "--created-at", "2021-01-01")
    assert {item["kind"] for item in nacre.json("review")} == {"conflict", "stale"}
    nacre.ok("review", "decide", "munich", "newer")
    assert live(nacre) == ["munich-memory"] and nacre.json("review") == []  # it was confirmed by that


def test_a_pair_is_asked_about_by_the_dates_that_are_shown(nacre: CommandLine) -> None:
    """A decision between two of one day lets the chosen one hold from then on."""
    for id, text, created in (("b", "Berlin", "2024"), ("h", "Hamburg", "2024"), ("m", "Munich", "2025")):
        nacre.ok("remember", f"The office is in {text}", "--id", id, "--created-at", f"{created}-01-01")
    with CliContext().open_with_personal() as store:
        waiting = {item.id: item for item in store.review(kinds="conflict")}
        assert store.decide(waiting["h:b"], "newer")
        item = current_item(store, waiting["m:h"])
        assert item is not None and item.conflict is not None
        assert (item.conflict.a.id, item.conflict.b.id, item.conflict.words) == ("h", "m", ("Hamburg", "Munich"))
        assert store.decide(item, "newer") and current_item(store, waiting["m:h"]) is None


def test_an_ignored_conflict_is_neither_reported_nor_noted(office: CommandLine) -> None:
    assert office("remember", NEW, "--on-conflict", "ignore").stderr == ""
    assert office.json("review") == []


def test_a_warning_is_printed_as_a_sentence_and_not_noted(office: CommandLine) -> None:
    result = office("remember", NEW, "--on-conflict", "warn")
    assert "seems to update" in result.stderr and "nacre review" not in result.stderr
    assert "ConflictWarning" not in result.stderr
    assert office.json("review") == []


def test_what_is_replaced_by_name_is_named(office: CommandLine) -> None:
    result = office("remember", NEW, "--id", "munich-memory", "--replaces", "berlin")
    assert "It took the place of berlin-memory; `nacre undo`" in result.stderr


def test_a_newer_truth_can_take_the_place_of_the_older_one_at_once(office: CommandLine) -> None:
    office.ok("remember", "The deadline is Friday", "--id", "friday")
    result = office("remember", "The deadline is Monday", "--id", "monday", "--on-conflict", "supersede")
    assert "took the place of friday" in result.stderr
    assert sorted(live(office)) == ["berlin-memory", "monday"]
    office.ok("undo")
    assert sorted(live(office)) == ["berlin-memory", "friday"]


def test_a_repeated_text_can_be_merged_and_the_remaining_id_is_printed(office: CommandLine) -> None:
    result = office("remember", OLD, "--on-conflict", "supersede")
    assert result.stdout == "berlin-memory\n"
    assert "It was not stored again" in result.stderr
    assert live(office) == ["berlin-memory"]


def test_a_conflict_can_be_refused(office: CommandLine) -> None:
    result = office("remember", NEW, "--on-conflict", "raise")
    assert (result.exit_code, result.stdout) == (3, "")
    assert OLD in result.stderr and "nothing was stored" in result.stderr
    assert live(office) == ["berlin-memory"]


def test_the_setting_decides_where_no_option_does(office: CommandLine, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NACRE_ON_CONFLICT", "raise")
    assert office("remember", NEW).exit_code == 3
    assert office("remember", NEW, "--on-conflict", "ignore").exit_code == 0


def test_lines_are_compared_only_where_that_is_asked(office: CommandLine) -> None:
    office.ok("remember", "--lines", input=f"{NEW}\n")
    assert office.json("review") == []
    office.ok("undo")
    result = office("remember", "--lines", "--on-conflict", "note", input=f"{NEW}\nTom sleeps\n")
    assert "seems to update" in result.stderr and "Stored 2 of 2 lines." in result.stderr
    assert len(office.json("review")) == 1


def test_a_refused_line_ends_the_command_and_the_stored_lines_are_counted(office: CommandLine) -> None:
    result = office("remember", "--lines", "--on-conflict", "raise", input=f"Tom sleeps\n{NEW}\nnever read\n")
    assert result.exit_code == 3 and len(result.stdout.split()) == 1
    assert "Stored 1 of 3 lines." in result.stderr
    assert len(live(office)) == 2


# conflicts


def test_conflicts_are_listed_worst_first_in_three_forms(office: CommandLine, monkeypatch: pytest.MonkeyPatch) -> None:
    office.ok("remember", NEW, "--id", "munich-memory", "--on-conflict", "ignore")
    result = office("conflicts")
    kind, reason, newer, older, alike, *both = result.stdout.rstrip("\n").split("\t")
    assert (kind, reason, newer, older) == ("update", "conflict_model", "Munich", "Berlin")
    assert 0 < float(alike) < 1
    assert both == ["munich-memory", "berlin-memory", NEW, OLD]
    assert "--note" in result.stderr
    (output,) = office.json("conflicts", "berlin")
    assert {output["newer"]["id"], output["older"]["id"]} == {"munich-memory", "berlin-memory"}
    monkeypatch.setenv("COLUMNS", "100")
    assert "munich-memory The office is in Munich" in office.ok("conflicts", "-f", "table")


def test_conflicts_are_noted_once_and_then_wait_for_review(office: CommandLine) -> None:
    office.ok("remember", NEW, "--id", "munich-memory", "--on-conflict", "ignore")
    assert office.json("review") == []
    assert "1 conflict waits" in office("conflicts", "--note", "--why", "spring clean").stderr
    assert [item["kind"] for item in office.json("review")] == ["conflict"]
    assert "wait already" in office("conflicts", "--note").stderr
    assert len(office.json("conflicts")) == 1


def test_conflicts_of_what_is_not_there_or_beyond_one_are_refused(office: CommandLine) -> None:
    assert office("conflicts", "zzz").exit_code == 1
    assert office("conflicts", "--threshold", "1.5").exit_code == 2


@pytest.mark.usefixtures("noted")
def test_a_whole_space_is_compared_with_a_line_of_progress() -> None:
    seen, code = conversation("conflicts")
    assert code == 0 and "comparing memories" in seen


# review, listed


def test_review_lists_in_a_pipe_what_waits_and_how_it_can_be_decided(noted: CommandLine) -> None:
    item, kind, decisions, why, what = noted.ok("review").split("\t")
    assert (item, kind) == ("munich-memory:berlin-memory", "conflict")
    assert decisions.startswith("keep_both,not_a_conflict,newer,older,merge")
    assert why == "judged by reading both: new 'Munich', old 'Berlin'" and OLD in what and NEW in what
    (record,) = noted.json("review")
    assert record["conflict"]["words"] == {"newer": "Munich", "older": "Berlin"}
    assert "munich-memory:berlin-memory" in noted.ok("review", "-f", "table")


def test_review_can_be_narrowed_to_a_kind(noted: CommandLine) -> None:
    noted.ok("link", "munich", "berlin", "--rel", "adores")
    assert [item["kind"] for item in noted.json("review")] == ["conflict", "word"]
    assert [item["word"] for item in noted.json("review", "--kind", "word")] == ["adores"]
    assert len(noted.json("review", "-n", "1")) == 1
    stale = noted.json("review", "--kind", "stale", "--stale-days", "0")
    assert sorted(item["memory"]["id"] for item in stale) == ["berlin-memory", "munich-memory"]
    assert noted("review", "--kind", "gossip").exit_code == 2


def test_an_empty_queue_is_no_failure(nacre: CommandLine) -> None:
    result = nacre("review")
    assert (result.exit_code, result.stdout) == (0, "")
    assert "Nothing waits" in result.stderr


def test_show_says_what_a_memory_may_replace_until_somebody_decides(nacre: CommandLine) -> None:
    nacre.ok("remember", "The kettle is blue", "--id", "blue-kettle")
    nacre.ok("remember", "Tea is made in a pot", "--id", "pot-of-tea")
    nacre.ok("graph", "link", "pot", "blue", "--rel", "may_replace", "--weight", "0.61")
    told = " ".join(nacre.ok("show", "pot").split())
    assert "may replace blue-kettle (61% likely); `nacre memory supersede blue-kettle pot-of-tea` settles it" in told
    nacre.ok("memory", "supersede", "blue", "pot")
    told = nacre.ok("show", "pot")
    assert "supersedes →" in told and "may replace" not in told


def test_show_says_that_a_review_waits(noted: CommandLine) -> None:
    assert "for a decision on munich-memory" in noted.ok("show", "berlin")
    assert noted.json("show", "munich")["waits_for_review"] == ["berlin-memory"]
    noted.ok("review", "decide", "munich", "keep_both")
    assert noted.json("show", "munich")["waits_for_review"] == []


# review decide


@pytest.mark.slow
@pytest.mark.parametrize(
    ("decision", "left", "says"),
    [
        ("keep_both", ["berlin-memory", "munich-memory"], "Both are kept."),
        ("keep-both", ["berlin-memory", "munich-memory"], "Both are kept."),
        ("not-a-conflict", ["berlin-memory", "munich-memory"], "Kept as two different things"),
        ("newer", ["munich-memory"], "The newer one replaced the older."),
        ("older", ["berlin-memory"], "The older one replaced the newer."),
        ("merge", ["munich-memory"], "Merged into the newer one."),
        ("trash_newer", ["berlin-memory"], "The newer one is in the trash."),
        ("trash_older", ["munich-memory"], "The older one is in the trash."),
    ],
)
def test_a_script_decides_by_a_prefix_learns_what_was_done_and_undo_takes_it_back(
    noted: CommandLine, decision: str, left: list[str], says: str
) -> None:
    result = noted("review", "decide", "munich:berlin", decision, "--why", "because")
    assert result.exit_code == 0 and "`nacre undo` takes it back" in result.stderr
    assert says in result.stderr and "munich-memory:berlin-memory" in result.stderr
    assert live(noted) == left
    assert noted.json("review") == []
    noted.ok("undo")
    assert live(noted) == ["berlin-memory", "munich-memory"]
    assert len(noted.json("review")) == 1


def test_all_of_a_kind_are_settled_alike_and_undone_together(noted: CommandLine) -> None:
    noted.ok("remember", NEW.replace("Munich", "Hamburg"), "--id", "hamburg-memory")
    waiting = noted.json("review", "--kind", "conflict")
    assert len(waiting) > 1
    assert noted("review", "decide-all", "conflict", "keep-both").exit_code  # nobody answers
    assert noted.json("review", "--kind", "conflict") == waiting
    result = noted("review", "decide-all", "conflict", "keep-both", "--yes")
    assert f"Settled {len(waiting)} items: Both are kept." in result.stderr
    assert noted.json("review", "--kind", "conflict") == []
    noted.ok("undo", "--last", str(len(waiting)))
    assert len(noted.json("review", "--kind", "conflict")) == len(waiting)
    assert "Nothing waits" in noted("review", "decide-all", "entity", "distinct").stderr


def test_what_an_earlier_of_all_decisions_settled_is_counted_apart(noted: CommandLine) -> None:
    noted.ok("remember", NEW.replace("Munich", "Hamburg"), "--id", "hamburg-memory")
    waiting = len(noted.json("review", "--kind", "conflict"))
    result = noted("review", "decide-all", "conflict", "newer", "--yes")
    assert "no longer waited" in result.stderr
    settled = int(result.stderr.split("Settled ")[1].split()[0])
    assert 0 < settled < waiting and f"`nacre undo --last {settled}` takes it back" in result.stderr
    assert live(noted) == ["hamburg-memory"]


def test_before_all_are_settled_the_question_shows_which_is_newer_and_of_when(noted: CommandLine) -> None:
    asked = noted("review", "decide-all", "conflict", "newer").stderr
    today = noted.json("show", "munich")["created_at"][:10]
    assert f"newer  munich-memory  {today}  {NEW}\n" in asked and f"older  berlin-memory  {today}  {OLD}\n" in asked
    assert "update: " in asked and "new 'Munich', old 'Berlin'" in asked
    assert "conflict_model" not in asked


@pytest.mark.parametrize(("kind", "decision"), [("conflict", "merge"), ("conflict", "keep"), ("conflicts", "newer")])
def test_decisions_for_all_that_cannot_be_are_misuse(noted: CommandLine, kind: str, decision: str) -> None:
    waiting = noted.json("review")
    assert noted("review", "decide-all", kind, decision, "--yes").exit_code
    assert noted.json("review") == waiting


def test_two_texts_merge_into_the_one_that_is_given(noted: CommandLine) -> None:
    noted.ok("review", "decide", "munich", "merge", "--text", "The office moved to Munich")
    assert noted.json("show", "munich")["text"] == "The office moved to Munich"
    assert noted.json("recall", "moved", "--strategy", "keyword")[0]["id"] == "munich-memory"


def test_a_word_is_kept_or_merged_with_another(noted: CommandLine) -> None:
    noted.ok("link", "munich", "berlin", "--rel", "depnds_on")
    assert noted("review", "decide", "relation:depnds", "merge").exit_code == 2
    noted.ok("review", "decide", "relation:depnds", "merge", "--into", "depends_on")
    assert "depends_on" in [link["rel"] for link in noted.json("show", "munich")["links"]]
    noted.ok("link", "munich", "berlin", "--rel", "adores")
    noted.ok("review", "decide", "relation:adores", "keep")
    assert noted.json("review", "--kind", "word") == []


def test_names_are_not_compared_for_what_cannot_be_two_names(
    noted: CommandLine, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*_: object) -> None:
        raise AssertionError("all names were compared")

    monkeypatch.setattr(entities, "suggestions", refuse)
    noted.ok("review", "decide", "munich:berlin", "merge", "--text", "The office moved to Munich")
    for item in ("ent", "entity:Ada"):
        with pytest.raises(AssertionError, match="compared"):
            noted("review", "decide", item, "distinct")


@pytest.mark.parametrize("kind", DECISIONS)
def test_every_decision_has_a_key_and_a_sentence_about_what_was_done(kind: str) -> None:
    choices = [each for choice in CHOICES[kind] for each in (choice, *choice.further)]
    outcomes = {each.decision: each.outcome for each in (*choices, SKIP) if each.decision}
    assert set(outcomes) == set(DECISIONS[kind]) and all(outcomes.values())


def test_skipping_decides_nothing(noted: CommandLine) -> None:
    assert "still waits" in noted("review", "decide", "munich", "skip").stderr
    assert len(noted.json("review")) == 1


@pytest.mark.parametrize(
    ("item", "decision", "says"),
    [
        ("zzz", "newer", "nothing that waits"),
        ("", "newer", "nothing that waits"),
        ("munich:zzz", "newer", "nothing that waits"),
        ("munich", "newest", "did you mean 'newer'"),
        ("munich", "validate", "Unknown decision"),
    ],
)
def test_what_cannot_be_decided_is_misuse(noted: CommandLine, item: str, decision: str, says: str) -> None:
    result = noted("review", "decide", item, decision)
    assert result.exit_code == 2 and says in result.stderr
    assert len(noted.json("review")) == 1


def test_a_prefix_of_several_items_is_reported_as_such(noted: CommandLine) -> None:
    noted.ok("remember", "The office is in Hamburg", "--id", "munich-other")
    assert len(noted.json("review", "--kind", "conflict")) > 1
    result = noted("review", "decide", "m", "newer")
    assert result.exit_code == 2 and "things that wait" in result.stderr


def test_repeating_a_text_with_what_it_replaces_stores_nothing_twice(noted: CommandLine) -> None:
    result = noted("remember", NEW, "--replaces", "berlin")
    assert (
        result.stdout == "munich-memory\n"
        and "Known already: munich-memory, which now replaces berlin-memory" in result.stderr
    )
    assert live(noted) == ["munich-memory"] and noted.json("review") == []
    noted.ok("undo")
    assert live(noted) == ["berlin-memory", "munich-memory"]


# What was written later may be older


@pytest.fixture
def backdated(office: CommandLine) -> CommandLine:
    """The office was in Munich before it was in Berlin, and that was stored last."""
    office.ok("remember", NEW, "--id", "munich-memory", "--created-at", "2020-02-01")
    return office


def test_remembering_what_is_older_says_so_and_offers_the_right_succession(office: CommandLine) -> None:
    said = office("remember", NEW, "--id", "munich-memory", "--created-at", "2020-02-01").stderr
    assert "berlin-memory, which is newer, seems to update this" in said and OLD in said
    assert "new 'Berlin', old 'Munich'" in said
    assert "`nacre memory supersede munich-memory berlin-memory` replaces this one, which is older" in said


def test_a_refusal_says_that_what_stands_is_newer(office: CommandLine) -> None:
    result = office("remember", NEW, "--created-at", "2020-02-01", "--on-conflict", "raise")
    assert result.exit_code == 3 and "berlin-memory, which is newer, seems to update this" in result.stderr


def test_a_review_names_the_newer_by_its_own_time(backdated: CommandLine) -> None:
    (item,) = backdated.json("review", "--kind", "conflict")
    assert item["id"] == "berlin-memory:munich-memory" and "new 'Berlin', old 'Munich'" in item["why"]
    assert (item["conflict"]["newer"]["id"], item["conflict"]["older"]["id"]) == ("berlin-memory", "munich-memory")
    (match,) = backdated.json("review", "conflicts", "munich")
    assert (match["newer"]["id"], match["words"]) == ("berlin-memory", {"newer": "Berlin", "older": "Munich"})


@pytest.mark.parametrize("item", ["berlin", "berlin:munich", "munich:berlin"])
def test_the_newer_by_its_own_time_replaces_the_older(backdated: CommandLine, item: str) -> None:
    backdated.ok("review", "decide", item, "newer")
    assert live(backdated) == ["berlin-memory"]


def test_all_at_once_replaces_the_older_by_its_own_time(backdated: CommandLine) -> None:
    asked = backdated("review", "decide-all", "conflict", "newer").stderr
    assert "older  munich-memory  2020-02-01" in asked
    backdated.ok("review", "decide-all", "conflict", "newer", "--yes")
    assert live(backdated) == ["berlin-memory"]


def test_at_a_terminal_the_ages_agree_with_what_is_called_newer(backdated: CommandLine) -> None:
    seen, _ = conversation("review", "--kind", "conflict", answers=((KEYS, "n"),))
    newer, older = seen.partition("  older  ")[0], seen.partition("  older  ")[2]
    assert "berlin-memory" in newer and "just now" in newer and "munich-memory" in older and "y ago" in older
    assert live(backdated) == ["berlin-memory"]


# review at a terminal


def test_at_a_terminal_one_key_decides_and_is_carried_out_at_once(noted: CommandLine) -> None:
    seen, code = conversation("review", answers=((KEYS, "n"),))
    assert code == 0
    assert "1 of 1" in seen and "office is in" in seen
    assert "\x1b[33m\x1b[1mMunich" in seen and "\x1b[33m\x1b[1mBerlin" in seen
    assert "replaced the older" in seen and "nacre undo" in seen and "Settled 1 of 1" in seen
    assert live(noted) == ["munich-memory"]


def test_at_a_terminal_help_unknown_keys_and_a_second_thought_decide_nothing(noted: CommandLine) -> None:
    answers = ((KEYS, "x\x1b[B?"), ("both are true   Keep both", ""), (KEYS, "t"), ("neither", "c"), (KEYS, "s"))
    seen, code = conversation("review", answers=answers)
    assert code == 0 and "still waits" in seen and "Settled 0 of 1" in seen
    assert "None of these keys; ? explains them." in seen and "trash one       Move one of them" in seen
    assert len(noted.json("review")) == 1


@pytest.mark.parametrize(("keys", "code"), [("q", 0), ("\x04", 0), ("\x03", 130)])
def test_at_a_terminal_one_can_leave_at_any_time(noted: CommandLine, keys: str, code: int) -> None:
    _, ended = conversation("review", answers=((KEYS, keys),))
    assert ended == code
    assert len(noted.json("review")) == 1


def test_at_a_terminal_a_merge_opens_both_texts_in_the_editor(noted: CommandLine, tmp_path: Path) -> None:
    editor = tmp_path / "editor.sh"
    editor.write_text('#!/bin/sh\nprintf "Moved from:\\n" | cat - "$1" > "$1.new" && mv "$1.new" "$1"\n')
    editor.chmod(0o755)
    conversation("review", answers=((KEYS, "m"),), EDITOR=str(editor))
    assert noted.json("show", "munich")["text"] == "Moved from:\nThe office is in Munich\n\nThe office is in Berlin"
    assert noted.json("list")[0]["id"] == "munich-memory"


def test_a_merge_does_not_overwrite_what_changed_while_the_editor_was_open(noted: CommandLine, tmp_path: Path) -> None:
    editor = tmp_path / "editor.sh"
    editor.write_text(f'#!/bin/sh\n{sys.executable} -m nacre edit munich --add-tag theirs\nprintf mine > "$1"\n')
    editor.chmod(0o755)
    seen, _ = conversation("review", answers=((KEYS, "m"),), EDITOR=str(editor))
    assert "Nothing was decided" in seen
    kept = re.search(r"your text is in (\S+\.md)", " ".join(seen.split()))
    assert kept is not None and Path(kept[1]).read_text() == "mine"
    Path(kept[1]).unlink()
    assert noted.json("show", "munich")["text"] == NEW and len(live(noted)) == 2


def test_a_merge_whose_editor_saves_nothing_decides_nothing(noted: CommandLine) -> None:
    seen, _ = conversation("review", answers=((KEYS, "m"),), EDITOR="true")
    assert "Nothing was decided" in seen and len(live(noted)) == 2


def test_at_a_terminal_the_last_decision_can_be_taken_back_and_made_again(noted: CommandLine) -> None:
    noted.ok("graph", "link", "munich", "berlin", "--relation", "outshines")
    answers = ((KEYS, "n"), ("undo", "u"), ("Taken back", ""), (KEYS, "b"), (KEYS, "q"))
    seen, _ = conversation("review", "--kind", "conflict", "--kind", "word", answers=answers)
    assert "1 of 2" in seen.partition("Taken back")[2] and "Settled 1 of 2." in seen
    assert len(live(noted)) == 2 and noted.json("review", "--kind", "conflict") == []


@pytest.mark.usefixtures("noted")
def test_no_undo_is_offered_before_anything_was_decided() -> None:
    seen, _ = conversation("review", answers=((KEYS, "q"),))
    assert "undo" not in seen.partition("Settled")[0]


def test_ctrl_c_in_a_review_says_what_is_settled_and_how_to_go_on(noted: CommandLine) -> None:
    noted.ok("graph", "link", "munich", "berlin", "--relation", "outshines")
    answers = ((KEYS, "b"), (KEYS, "\x03"))
    seen, code = conversation("review", "--kind", "conflict", "--kind", "word", answers=answers)
    assert code == 130
    assert "stopped. Settled 1 of 2. `nacre undo` takes back the last. `nacre review` goes on" in " ".join(seen.split())


def test_at_a_terminal_what_an_earlier_decision_settled_is_passed_over(noted: CommandLine) -> None:
    noted.ok("remember", "The office is in Hamburg", "--id", "hamburg-memory")
    waiting = len(noted.json("review"))
    assert waiting > 1
    seen, _ = conversation("review", answers=((KEYS, "t"), ("neither", "o"), (KEYS, "q")))
    assert "is in the trash" in seen
    assert len(live(noted)) == 2
    left = len(noted.json("review"))
    passed = waiting - 1 - left
    assert passed >= 1
    said = " ".join(seen.split())
    assert f"{passed} item{'s' * (passed > 1)} no longer wait{'s' * (passed == 1)}: an earlier decision settled" in said
    assert f"Settled 1 of {waiting}, and {passed} other" in said
    assert not left or f"{2 + passed} of {waiting}" in said.partition("an earlier decision settled")[2]


def test_at_a_terminal_what_was_passed_over_is_asked_about_again_after_an_undo(noted: CommandLine) -> None:
    noted.ok("remember", "The office is in Hamburg", "--id", "hamburg-memory")
    waiting = len(noted.json("review"))
    answers = ((KEYS, "t"), ("neither", "o"), (KEYS, "u"), ("Taken back", ""), (KEYS, "s"), (KEYS, "q"))
    seen, _ = conversation("review", answers=answers)
    assert f"2 of {waiting}" in seen.partition("Taken back")[2] and f"Settled 0 of {waiting}." in seen
    assert len(noted.json("review")) == waiting


def test_at_a_terminal_words_and_doubtful_memories_have_keys_of_their_own(noted: CommandLine) -> None:
    noted.ok("validate", "berlin", "--confidence", "0.4")
    noted.ok("link", "munich", "berlin", "--rel", "depnds_on")
    answers = ((KEYS, "m"), ("does it mean? ", "nonsense\n"), ("Nothing was decided", ""), (KEYS, "q"))
    conversation("review", "--kind", "word", "--kind", "stale", "--stale-days", "0", answers=answers)
    assert len(noted.json("review", "--kind", "word")) == 1
    conversation("review", "--kind", "word", answers=((KEYS, "m"), ("does it mean? ", "depends_on\n")))
    assert noted.json("review", "--kind", "word") == []
    conversation("review", "--kind", "stale", "--stale-days", "0", answers=((KEYS, "v"), (KEYS, "t")))
    assert len(live(noted)) == 1


@pytest.mark.usefixtures("noted")
def test_at_a_terminal_a_list_can_still_be_asked_for() -> None:
    seen, code = conversation("review", "--list")
    assert code == 0 and "munich-memory:berlin-memory" in seen and KEYS not in seen


# validate and redact


def test_validating_says_how_sure_it_is_now(office: CommandLine) -> None:
    assert "confidence 0.7" in office("validate", "ber", "--confidence", "0.7", "--why", "was there").stderr
    record = office.json("show", "ber")
    assert record["confidence"] == 0.7 and record["last_validated_at"] is not None
    assert office("validate", "ber", "--confidence", "7").exit_code == 2
    assert office("validate", "zzz").exit_code == 1


def test_redacting_asks_says_that_it_is_for_good_and_is(office: CommandLine) -> None:
    refused = office("redact", "ber", input="n\n")
    assert refused.exit_code == 2 and "for good" in refused.stderr and OLD in refused.stderr
    assert "backups" in office("redact", "ber", "--yes", "--why", "asked to").stderr
    assert "Berlin" not in office.ok("journal", "--all", "-f", "json")
    assert office.json("list", "--trashed")[0]["text"] == "[redacted]"
    assert office("undo").exit_code == 3
    assert office("restore", "ber").exit_code == 3
    assert office("redact", "zzz", "--yes").exit_code == 1
    assert "Berlin" not in office.store.read_bytes().decode("latin-1")


def test_the_help_lists_every_decision_that_is_accepted(nacre: CommandLine) -> None:
    words = set(nacre.ok("review", "decide", "--help").replace(",", " ").split())
    assert {decision for decisions in DECISIONS.values() for decision in decisions} <= words
