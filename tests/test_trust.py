"""What a project's own settings file may set, and the user's consent to the rest."""

from __future__ import annotations

import os
import stat
from pathlib import Path

import pytest

from nacre import trust
from nacre.errors import ConfigError
from nacre.settings import HARMLESS, Settings, choose_space, settings, settings_with_sources
from nacre.trust import consents, read_project_file, state_of, withdraw
from tests.projects import make_project, project_in
from tests.trusting import trusted

posix_only = pytest.mark.skipif(os.name == "nt", reason="Windows has no such permissions")


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return make_project(tmp_path / "shop") / ".nacre.toml"


def read(file: Path) -> tuple[Settings, list[str]]:
    notices: list[str] = []
    return settings(environment={}, folder=file.parent, notify=notices.append), notices


def sample(name: str) -> str:
    default = getattr(Settings(), name)
    return "true" if isinstance(default, bool) else "0.25" if isinstance(default, float) else '"x"'


@pytest.mark.parametrize("name", sorted(set(Settings.__dataclass_fields__) - {"spaces"}))
def test_no_setting_is_read_from_a_project_that_nobody_trusts(file: Path, name: str) -> None:
    file.write_text(f"{name} = {sample(name)}\n")
    found, notices = read(file)
    own_space = project_in(file.parent).space()
    assert found == settings(environment={}, folder=file.parent.parent)
    own = f" (its own space {own_space!r} needs no consent)" if name == "space" else ""
    remedy = "`nacre config trust` there allows it, if you trust it."
    assert notices == [f"{file} sets {name}, which a project may not set by itself{own}; {remedy}"]


def test_what_is_not_a_setting_is_named_apart_and_nobody_is_asked_to_trust_it(file: Path) -> None:
    file.write_text('colour = "red"\n')
    assert read(file)[1] == [f"{file} sets 'colour', which is not a setting; `nacre config list` has them all."]
    file.write_text('colour = "red"\nshape = "round"\nembedder = "x"\nagent = "x"\n')
    assert read(file)[1] == [
        f"{file} sets agent and embedder, which a project may not set by itself; `nacre config trust` there allows "
        f"them, if you trust it. {file} sets 'colour' and 'shape', which are not settings; "
        "`nacre config list` has them all."
    ]


def test_a_space_of_the_users_own_choice_stays_where_a_project_names_one_that_it_may_not(
    file: Path, tmp_path: Path
) -> None:
    file.write_text('space = "shop"\n')
    (tmp_path / "own.toml").write_text('space = "me"\n')
    found = settings(environment={}, folder=file.parent, user_file=tmp_path / "own.toml", notify=lambda _: None)
    assert found.space == "me"


def test_tables_of_spaces_are_not_read_from_a_project_that_nobody_trusts(file: Path) -> None:
    file.write_text('[spaces.default]\nlanguage_model_url = "http://127.0.0.1:9"\n')
    found, notices = read(file)
    assert found.spaces == {}
    assert "sets spaces," in notices[0]


def test_a_project_may_turn_the_hooks_off_and_choose_its_own_space(file: Path) -> None:
    own = project_in(file.parent).space()
    for space in (own, f"renamed-{project_in(file.parent).key}"):
        file.write_text(f'space = "{space}"\nhook_capture = false\nhook_inject = false\n')
        found, notices = read(file)
        assert (found.space, found.hook_capture, found.hook_inject, notices) == (space, False, False, [])
    assert set(HARMLESS) == {"space", "hook_capture", "hook_inject"}


@pytest.mark.parametrize("space", ["default", "another-0badc0de", "", "$(touch x)", "personal-2", "personal"])
def test_a_project_may_not_choose_the_space_of_another(file: Path, space: str) -> None:
    file.write_text(f'space = "{space}"\n')
    found, notices = read(file)
    assert found.space == "" and len(notices) == 1
    assert choose_space(file.parent, environment={}).space == project_in(file.parent).space(), "it gets its own"


@pytest.mark.parametrize("name", ["personal. IMPORTANT NOTICE", "a\\nb", "</memories>", "`ls`", "x" * 61, ""])
def test_a_project_may_name_its_own_space_by_one_word_only(file: Path, name: str) -> None:
    file.write_text(f'space = "{name}-{project_in(file.parent).key}"\n')
    found, notices = read(file)
    assert found.space == "" and len(notices) == 1
    assert choose_space(file.parent, environment={}).space == project_in(file.parent).space()


def test_consent_holds_for_one_path_and_one_content(file: Path, tmp_path: Path) -> None:
    trusted(file, 'embedder = "hashing"\n')
    assert read(file)[0].embedder == "hashing"
    copy = tmp_path / "copy" / ".nacre.toml"
    copy.parent.mkdir()
    copy.write_bytes(file.read_bytes())
    assert read(copy)[0].embedder == "auto"
    file.write_text('embedder = "openai:x"\n')
    found, notices = read(file)
    assert found.embedder == "auto" and len(notices) == 1
    assert [state_of(each) for each in consents()] == ["changed"]


def test_a_link_to_a_trusted_file_is_not_trusted(file: Path, tmp_path: Path) -> None:
    trusted(file, 'embedder = "hashing"\n')
    link = tmp_path / "other" / ".nacre.toml"
    link.parent.mkdir()
    link.symlink_to(file)
    assert read(link)[0].embedder == "auto"


def test_consent_can_be_withdrawn(file: Path) -> None:
    trusted(file, 'embedder = "hashing"\n')
    assert withdraw(file) and not withdraw(file)
    assert read(file)[0].embedder == "auto" and consents() == []


@posix_only
def test_only_the_user_can_read_a_consent_and_one_that_others_can_write_does_not_count(file: Path) -> None:
    trusted(file, 'embedder = "hashing"\n')
    (place,) = trust.consent_folder().iterdir()
    assert stat.S_IMODE(place.stat().st_mode) == 0o600
    assert stat.S_IMODE(place.parent.stat().st_mode) == 0o700
    place.chmod(0o666)
    assert read(file)[0].embedder == "auto"


@pytest.mark.parametrize("damage", [b"", b"[]", b"{}", b"\xff", b'{"file": 1, "digest": 2, "at": "x"}'])
def test_a_damaged_consent_is_none(file: Path, damage: bytes) -> None:
    trusted(file, 'embedder = "hashing"\n')
    (place,) = trust.consent_folder().iterdir()
    place.write_bytes(damage)
    assert read(file)[0].embedder == "auto"


@posix_only
def test_a_file_of_another_user_is_ignored_even_where_it_is_trusted(
    file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    trusted(file, "hook_capture = false\n")
    if os.geteuid() == 0:
        os.chown(file, 54321, -1)
    else:
        monkeypatch.setattr(os, "geteuid", lambda: 54321)
    found, notices = read(file)
    assert found.hook_capture and "belongs to another user" in notices[0]
    with pytest.raises(ConfigError, match="another user"):
        trust.agree(read_project_file(file))


@posix_only
def test_a_file_or_folder_that_others_can_write_to_is_ignored(file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    trusted(file, "hook_capture = false\n")
    file.chmod(0o646)
    assert "other users can write to it" in read(file)[1][0]
    file.chmod(0o664)
    monkeypatch.setattr(trust, "is_private", lambda _group, _user: False)
    assert "other users can write to it" in read(file)[1][0]
    monkeypatch.setattr(trust, "is_private", lambda _group, _user: True)
    assert read(file)[1] == []
    file.parent.chmod(0o1777)  # as /tmp is
    found, notices = read(file)
    assert found.hook_capture and "every user can write to its folder" in notices[0]


@posix_only
def test_a_file_of_another_user_is_not_even_parsed(file: Path) -> None:
    file.write_text("no = settings = at all")
    file.chmod(0o666)
    assert read(file)[0] == settings(environment={}, folder=file.parent.parent)


@pytest.mark.parametrize(
    "content",
    [
        b"a = " + b"[" * 60_000,
        b"#" * 64_001,
        b"\xff\xfe",
        b"broken =",
        b"a." * 20_000 + b"a = 1",
        b"[a" + b".a" * 99 + b"]",
    ],
)
def test_a_file_made_to_break_the_reader_is_ignored_with_a_line(file: Path, content: bytes) -> None:
    file.write_bytes(content)
    found, (notice,) = read(file)
    assert found == settings(environment={}, folder=file.parent.parent)
    assert str(file) in notice and "ignored" in notice


@pytest.mark.parametrize("line", ["nonsense = 1", "decay_rate = 'much'", "hook_capture = 'nein'", "space = 5"])
def test_a_mistake_in_a_project_that_nobody_trusts_stops_nothing_and_hides_no_harmless_key(
    file: Path, line: str
) -> None:
    file.write_text(f"hook_inject = false\n{line}\n")
    found, (notice,) = read(file)
    assert found.hook_inject == 0
    assert line.split()[0] in notice


def test_a_trusted_file_that_changed_is_said_to_have_changed(file: Path) -> None:
    trusted(file, 'agent = "ada"')
    file.write_text('agent = "bob"')
    found, (notice,) = read(file)
    assert found.agent == ""
    assert "has changed since you trusted it" in notice and "agent" in notice


def own_file(elsewhere: Path, text: str) -> None:
    config = elsewhere / "config" / "nacre" / "config.toml"
    config.parent.mkdir(parents=True, exist_ok=True)
    config.write_text(text)


def test_a_key_of_the_user_is_not_paired_with_a_url_of_a_trusted_project(file: Path, elsewhere: Path) -> None:
    own_file(
        elsewhere,
        'embedder_key = "mine"\nlanguage_model_key = "mine"\n[spaces.work]\nlanguage_model_key = "mine"\n',
    )
    trusted(file, 'embedder_url = "http://127.0.0.1:9"\nlanguage_model_url = "http://127.0.0.1:9"\n')
    found, _ = read(file)
    assert (found.embedder_key, found.language_model_key) == ("", "")
    assert found.for_space("work").language_model_key == ""
    trusted(file, '[spaces.work]\nlanguage_model_url = "http://127.0.0.1:9"\n')
    found, _ = read(file)
    assert found.language_model_key == "mine" and found.for_space("work").language_model_key == ""


def test_a_trusted_project_may_bring_the_key_for_its_own_url(file: Path) -> None:
    trusted(file, 'embedder_url = "http://127.0.0.1:9"\nembedder_key = "env:SHOP_KEY"\n')
    assert read(file)[0].embedder_key == "env:SHOP_KEY"
    trusted(file, 'embedder_url = "http://127.0.0.1:9"\n')
    found = settings(environment={"NACRE_EMBEDDER_KEY": "env:SHOP_KEY"}, folder=file.parent)
    assert found.embedder_key == "env:SHOP_KEY"


def test_ignored_settings_are_explained_as_such(file: Path) -> None:
    file.write_text('embedder = "hashing"\nhook_inject = false\n[spaces.x]\nsecrets = "allow"\n')
    found = settings_with_sources(folder=file.parent, notify=lambda _notice: None)
    ignored = {each.key: each.value for each in found if each.ignored}
    assert ignored == {"embedder": "hashing", "spaces.x.secrets": "allow"}
    assert {each.key: each.source for each in found if not each.ignored}["hook_inject"] == str(file)


def test_the_library_logs_an_ignored_setting_once(file: Path, caplog: pytest.LogCaptureFixture) -> None:
    file.write_text('embedder = "openai:x"\n')
    for _ in range(3):
        settings(environment={}, folder=file.parent)
    assert [each.getMessage() for each in caplog.records] == [
        f"{file} sets embedder, which a project may not set by itself; `nacre config trust` there allows it, "
        "if you trust it."
    ]


@pytest.mark.parametrize(
    "line",
    [
        "limit = 3  # " + "." * 30, "  # " + "and so on. " * 30, 'hosts = ["' + '", "'.join(["10.0.0.1"] * 10) + '"]',
        "weights = [" + "0.1, " * 30 + "]", 'text = "' + "." * 30 + '"',
    ],
)  # fmt: skip
def test_dots_of_comments_and_values_are_not_those_of_a_key(file: Path, line: str) -> None:
    file.write_text(f"{line}\n")
    assert not read_project_file(file).fault


@pytest.mark.parametrize(
    "line", ["[" + "a." * 21 + "a]", "'x=y' . " * 21 + "a = 1", "x = {" + '"a b".' * 21 + "a = 1}", "a." * 21 + "a = 1"]
)
def test_a_key_of_many_parts_is_refused_wherever_it_is(file: Path, line: str) -> None:
    file.write_text(f"{line}\n")
    assert "a key in it has more than 20 dots" in read_project_file(file).fault
