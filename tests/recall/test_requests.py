"""Which turns only ask for a piece of work, or say that it was done, in several languages."""

from __future__ import annotations

import pytest

from nacre import MemoryStore
from nacre.recall.requests import names_something
from nacre.recall.turns import is_chatter
from tests.samples import memory


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
