"""Which turns of a conversation tell something, only ask for a piece of work, or say that it was done."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from nacre import MemoryStore
from nacre.model import Hit, Memory
from nacre.recall.turns import (
    announced_changes,
    is_chatter,
    is_echo,
    is_no_statement,
    names_something,
    repeats_note,
    with_repeated_notes,
    without_repetitions,
)
from tests.samples import memory


def test_a_turn_that_states_something_before_it_asks_is_no_chatter() -> None:
    stated = "The server of the shop moved to Frankfurt because of the new contract. Shall I update the notes?"
    assert not is_chatter(memory("m", stated, role="user"))
    assert is_chatter(memory("m", "Where is the server of the shop? Who moved it?", role="user"))


@pytest.mark.parametrize(
    "text",
    [
        "which tool do we use for feature flags",
        "where do we keep feature flags",
        "ok and how do I rotate the key",
        "what's the port of staging",
        "what time is the standup",
        "how many nodes does the cache have",
        "which version of the index is live",
        "who leads payments now",
        "should we switch to pnpm",
        "is there a way to skip the slow tests",
        "do we still deploy on Fridays",
        "thanks. when was the last release",
        "wo liegt der Staging-Server jetzt",
        "wie heißt der neue Kunde",
        "which tool do we use here",
        "is the build green",
        "should we use the new port",
    ],
)
def test_a_question_without_its_mark_tells_nothing(text: str) -> None:
    turn = memory("m", text, role="user")
    assert is_no_statement(turn) and is_chatter(turn)
    assert not announced_changes([turn])
    assert not is_no_statement(memory("m", text))  # a note may keep a question


@pytest.mark.parametrize(
    "text",
    [
        "What we agreed on is the blue theme",
        "what matters is the order of the migrations",
        "what is urgent is the new index",
        "what is new: staging moved to Kiel",
        "when the build is red clear the cache",
        "which is why tests are slow on Windows",
        "how we deploy is in the wiki",
        "where possible use the retry helper",
        "should the build fail, clear the cache",
        "do not deploy on Fridays",
        "have the key rotated every month",
        "Who is on call now is in the calendar.",
        "Will is our new tester",
        "May is when the contract ends",
        "was früher Jenkins war, ist jetzt Buildkite",
        "did the migration of the billing database last night",
        "had the surgery in March",
        "should the nightly test fail restart the runner",
        "had we used SQLite the release would have been ready",
        "who owns the repo decides on releases",
        "how much memory is used depends on the batch",
        "which port is used does not matter",
        "what's important is the order of the migrations",
        "what did not work was the cache",
        "what was broken works again in staging",
        "did I mention that I moved to Kiel in May",
        "do they know I am vegan",
    ],
)
def test_a_statement_that_begins_like_a_question_tells_something(text: str) -> None:
    assert not is_no_statement(memory("m", text, role="user"))


def test_a_long_text_without_a_mark_is_no_question_and_is_looked_at_quickly() -> None:
    assert not is_no_statement(memory("m", "is it " + "am " * 33_000 + "Kiel", role="user"))
    assert not is_no_statement(memory("m", "is it " + "am/" * 33_000 + "Kiel", role="user"))


@pytest.mark.parametrize(
    ("text", "tells"),
    [
        ("fetch the docs of the webhook vendor", False),
        ("Please rename the module. Then run the tests.", False),
        ("could you fix the typo in README", False),
        ("Ok, run the tests.", False),
        ("Great, now fix the build.", False),
        ("please always use pnpm instead of npm in this repo", True),
        ("Run the tests. The staging server is called hera.", True),
        ("Tests run on hera.", True),
        ("Run the tests before every commit.", True),
        ("We no longer deploy on Fridays.", True),
    ],
)
def test_a_request_for_one_piece_of_work_tells_nothing(text: str, tells: bool) -> None:
    assert is_chatter(memory("m", text, role="user")) is not tells
    assert not is_chatter(memory("m", text))  # a note may be a task


@pytest.mark.parametrize(
    "text",
    [
        "Test server is now 10.0.0.7.",
        "Deploy target: Hetzner.",
        "Go is our backend language.",
        "Change of plan, Fly.io it is",
        "Push to main is forbidden.",
        "Write commit messages in German in this repo.",
        "Stop using emojis in your replies.",
        "Explain things to me in German, I don't read English well.",
        "let's go with Redis 7 for the cart sessions then, TTL 30 minutes",
        "Go for the blue theme.",
    ],
)
def test_a_statement_that_begins_like_a_request_tells_something(text: str) -> None:
    assert not is_chatter(memory("m", text, role="user"))


@pytest.mark.parametrize(
    ("text", "is_change"),
    [
        ("We no longer deploy with Fly.io.", True),
        ("Wir deployen jetzt auf Hetzner.", True),
        ("We don't use Fly.io anymore.", True),
        ("I work at Acme now.", True),
        ("The error tracker is Sentry now.", True),
        ("The office has been in Berlin since 2019.", False),
        ("The header should be 40px high.", False),
        ("It works now, the page is shown.", False),
        ("The error is gone now.", False),
        ("My branch is called fix/typo now.", False),
    ],
)
def test_only_what_says_that_something_changed_is_compared(text: str, is_change: bool) -> None:
    turn = memory("m", text, role="user")
    assert announced_changes([turn]) == ([turn] if is_change else [])


def test_a_word_of_agreement_is_no_part_of_what_is_repeated() -> None:
    said = memory("a", "We keep feature flags in config/flags.toml, not in the database.", role="user", session="s")
    answer = memory("b", "Noted, flags live in config/flags.toml.", role="assistant", session="s")
    assert is_echo(replace(answer, position=2), replace(said, position=1))
    assert not is_echo(replace(answer, text="Noted.", position=2), replace(said, position=1))


def test_an_answer_to_a_doubt_is_no_echo() -> None:
    doubt = memory(
        "m", "I never know whether the billing database is Postgres or MySQL.", role="user", session="s", position=0
    )
    answer = memory("n", "The billing database is Postgres.", role="assistant", session="s", position=1)
    assert not is_echo(answer, doubt) and is_echo(answer, replace(doubt, text="The billing database is now Postgres."))


def test_of_turns_with_the_same_words_the_first_is_listed_and_notes_are_left_alone() -> None:
    turns = [memory(f"t{number}", text, role="user") for number, text in enumerate(("One moment.", "one  moment."))]
    notes = [memory(f"n{number}", "One moment.") for number in range(2)]
    kept = without_repetitions([Hit(each, 1.0) for each in (*turns, *notes)])
    assert [hit.memory.id for hit in kept] == ["t0", "n0", "n1"]


@pytest.mark.parametrize(
    ("prompt", "names"),
    [
        ("do it please", False),
        ("mach es bitte", False),
        ("継続", True),
        ("はい、お願いします", False),
        ("deploy it", True),
        ("commit and push", True),
        ("zeig die Logs", True),
        ("lance les tests", True),
    ],
)
def test_a_prompt_names_something_or_not(prompt: str, names: bool) -> None:
    assert names_something(prompt) is names


@pytest.mark.parametrize(
    "text",
    [
        "bau das Modul neu und starte den Server",
        "zeig mir die Logs",
        "committe das bitte",
        "Kannst du die Tests laufen lassen?",
        "lance les tests",
        "ajoute un bouton à la page",
        "haz commit y push",
        "ejecuta las migraciones",
        "esegui le migrazioni",
        "execute os testes",
        "voer de tests uit",
        "uruchom testy",
        "запусти тесты",
        "testleri çalıştır",
        "テストを実行して",
        "运行测试",
        "테스트를 실행해 줘",
        "log in as admin and check the dashboard",
    ],
)
def test_a_request_in_another_language_tells_nothing(text: str) -> None:
    assert is_chatter(memory("m", text, role="user"))


@pytest.mark.parametrize(
    "text",
    [
        "Starte die Tests immer mit make check.",
        "Mach nie einen Commit ohne Tests.",
        "Der Server läuft auf Port 5173.",
        "Bau und Deployment laufen auf Jenkins.",
        "Lance est notre testeur.",
        "Lance toujours les tests avant un commit.",
        "Usamos pnpm en este repositorio.",
        "Ejecuta siempre las pruebas antes de subir.",
        "Usa pnpm.",
        "I test girano su Jenkins.",
        "Testy uruchamiamy na Jenkinsie.",
        "Тесты запускаются на сервере hera.",
        "Sunucu 5173 portunda çalışıyor.",
        "このプロジェクトではpnpmを使います。",
        "这个项目用 pnpm。",
        "必ずテストを実行して",
        "이 프로젝트는 pnpm을 사용합니다.",
        "I prefer to see the diff before you commit",
        "Log messages are in English.",
    ],
)
def test_a_statement_or_a_rule_in_another_language_tells_something(text: str) -> None:
    assert not is_chatter(memory("m", text, role="user"))


@pytest.mark.parametrize(
    "text",
    [
        "Will do.",
        "Done.",
        "Done again.",
        "Running it now. All 214 tests pass.",
        "Committed as `fix: typo`.",
        "Deployed to production.",
        "I restarted the server.",
        "It is done.",
        "Erledigt, der Server läuft.",
        "Ich mache weiter.",
        "Hier sind die Logs.",
        "Les tests passent.",
        "Je continue.",
        "Hecho.",
        "実行しました。",
        "好的",
    ],
)
def test_an_answer_that_only_says_that_it_was_done_tells_nothing(text: str) -> None:
    assert is_chatter(memory("m", text, role="assistant"))
    assert not is_chatter(memory("m", text))


@pytest.mark.parametrize(
    "text",
    [
        "Done: the port is 5433 now.",
        "Deployed to Hetzner with Kamal, since Fly.io was down.",
        "I set TAX_RATE, the tax rate, to 0.19.",
        "The tests depended on the clock; I froze it with vi.useFakeTimers.",
        "Noted: the release branch is called stable.",
        "All tests pass only with Node 22, because of the new fetch.",
        "Erledigt: Der Server läuft jetzt auf hera.",
        "I added the login button in Header.tsx and wired it to /api/login.",
        "Puffer vergrößert, weil der Stack übergelaufen ist.",
    ],
)
def test_an_answer_that_says_what_was_found_or_done_tells_something(text: str) -> None:
    assert not is_chatter(memory("m", text, role="assistant"))


def test_a_context_quotes_no_request_and_no_answer_that_says_it_was_done() -> None:
    with MemoryStore(":memory:", embedder="hashing") as store:
        said = (("user", "run the tests of the shop"), ("assistant", "All 12 tests pass."), ("user", "lance les tests"))
        for position, (role, text) in enumerate(said):
            store.remember(text, session="s", position=position, role=role)
        store.remember("The tests of the shop need Node 22.", session="s", position=9, role="assistant")
        packed = store.recall_pack("run the tests of the shop", min_relevance=0.0)
        assert [item.memory.text for item in packed.items] == ["The tests of the shop need Node 22."]


RULE: dict[str, Any] = {"text": "Never deploy on Fridays"}
UNDERSTOOD: dict[str, Any] = {"text": "Understood, I will not deploy on Fridays", "role": "assistant", "session": "s"}
OTHERS: tuple[dict[str, Any], ...] = tuple(
    {"text": text} for text in ("The database is PostgreSQL 15", "Ana leads the platform team")
)


@pytest.mark.parametrize(
    "items",
    [
        pytest.param((RULE, UNDERSTOOD), id="note first"),
        pytest.param((UNDERSTOOD, RULE), id="turn first"),
        pytest.param((*OTHERS, RULE, UNDERSTOOD), id="among others, where the note is no hit"),
        pytest.param((*OTHERS, RULE, {**UNDERSTOOD, "type": "episodic", "position": 7}), id="as a hook stores it"),
    ],
)
def test_a_pack_has_the_note_and_not_the_answer_that_only_repeats_it(items: tuple[dict[str, Any], ...]) -> None:
    with MemoryStore(":memory:") as store:
        for item in items:
            store.remember(**item)
        packed = store.recall_pack("prepare a deploy")
        assert [item.memory.text for item in packed.items] == [RULE["text"]]
        answers = store.recall_pack("prepare a deploy", role="assistant")  # asked for, they are packed as they are
        assert [item.memory.text for item in answers.items] == [UNDERSTOOD["text"]]


def test_a_note_that_the_filters_leave_out_takes_the_place_of_no_answer() -> None:
    with MemoryStore(":memory:") as store:
        store.remember(**RULE, tags=["private"])
        store.remember(**UNDERSTOOD, tags=["shown"])
        packed = store.recall_pack("prepare a deploy", tag="shown")
        assert [item.memory.text for item in packed.items] == [UNDERSTOOD["text"]]


def test_an_answer_that_only_denies_in_other_words_is_an_echo() -> None:
    said = memory("a", "Please never deploy on Fridays.", role="user", session="s", position=0)
    answer = memory("b", UNDERSTOOD["text"], role="assistant", session="s", position=1)
    assert is_echo(answer, said)


@pytest.mark.parametrize(
    ("answer", "repeats"),
    [
        ("Understood, I will not deploy on Fridays", True),
        ("Noted: never deploy on Fridays.", True),
        ("Understood, I will deploy on Fridays", False),
        ("I never deploy on Fridays, and the release branch is frozen from Thursday noon", False),
        ("Never deploy on Fridays after 15", False),
    ],
)
def test_an_answer_repeats_a_note_where_it_says_nothing_else(answer: str, repeats: bool) -> None:
    note = memory("n", "Never deploy on Fridays")
    assert repeats_note(memory("m", answer, role="assistant"), note) is repeats
    assert not repeats_note(memory("m", answer, role="assistant"), replace(note, role="user"))


def test_a_note_stands_where_the_answer_that_repeats_it_stood() -> None:
    note, other = Hit(memory("n", RULE["text"]), 0.2, relevance=0.1), Hit(memory("o", "Milk"), 0.5, relevance=0.3)
    answers = [Hit(memory(id, UNDERSTOOD["text"], role="assistant"), 0.7, relevance=0.6) for id in "ab"]
    asked: list[str] = []

    def look_up(memory: Memory) -> list[Hit]:
        asked.append(memory.id)
        return [note]

    raised = replace(note, score=0.7, relevance=0.6)
    assert with_repeated_notes([*answers, other], [note], look_up) == [raised, other]
    assert with_repeated_notes([note, *answers], [], look_up) == [note]
    assert with_repeated_notes([*answers, other], [], look_up) == [raised, other]
    assert asked == ["a"]  # the note that was found is known for the next one
    assert with_repeated_notes([*answers, other], [], lambda _: ()) == [*answers, other]
