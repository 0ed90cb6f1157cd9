"""Which space a folder belongs to, with real repositories."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

import pytest

from nacre import project
from nacre.project import normalised, project_of
from nacre.settings import chosen_space, space_of
from tests.trusting import trusted

pytestmark = pytest.mark.skipif(shutil.which("git") is None, reason="git is not here")


@pytest.fixture(autouse=True)
def forgetful() -> None:
    project_of.cache_clear()


def git(folder: Path, *words: str) -> None:
    settings = {
        "GIT_CONFIG_GLOBAL": os.devnull, "GIT_AUTHOR_NAME": "n", "GIT_AUTHOR_EMAIL": "n@example.org",
        "GIT_COMMITTER_NAME": "n", "GIT_COMMITTER_EMAIL": "n@example.org",
    }  # fmt: skip
    words = ("-c", "protocol.file.allow=always", "-c", "init.defaultBranch=main", *words)
    subprocess.run(["git", *words], cwd=folder, check=True, capture_output=True, env={**os.environ, **settings})


@pytest.fixture
def orchard(tmp_path: Path) -> Path:
    return repository(tmp_path / "Or chard!", "first")


def repository(folder: Path, message: str) -> Path:
    folder.mkdir()
    git(folder, "init", "-q")
    git(folder, "commit", "-q", "--allow-empty", "-m", message)
    return folder


def test_a_worktree_a_clone_and_a_subfolder_are_one_project(orchard: Path, tmp_path: Path) -> None:
    git(orchard, "worktree", "add", "-q", "../tree", "-b", "side")
    git(tmp_path, "clone", "-q", str(orchard), "copy")
    git(orchard, "commit", "-q", "--allow-empty", "-m", "second")
    inner = orchard / "a" / "b"
    inner.mkdir(parents=True)
    found = [project_of(folder) for folder in (orchard, inner, tmp_path / "tree", tmp_path / "copy")]
    assert len({each.key for each in found}) == 1
    assert [each.name for each in found] == ["or-chard", "or-chard", "or-chard", "copy"]
    space = found[0].space()
    assert found[-1].space(["default", space]) == space == f"or-chard-{found[0].key}"


def test_two_repositories_are_two_projects(orchard: Path, tmp_path: Path) -> None:
    other = repository(tmp_path / "other", "another first")
    assert project_of(orchard).key != project_of(other).key


def test_a_submodule_is_a_project_of_its_own(orchard: Path, tmp_path: Path) -> None:
    outer = repository(tmp_path / "outer", "outer")
    git(outer, "submodule", "add", "-q", str(orchard), "inner")
    assert project_of(outer / "inner").key == project_of(orchard).key != project_of(outer).key


def test_a_bare_repository_and_its_worktrees_are_one_project(orchard: Path, tmp_path: Path) -> None:
    git(tmp_path, "clone", "-q", "--bare", str(orchard), "bare.git")
    git(tmp_path / "bare.git", "worktree", "add", "-q", "../out")
    found = {project_of(folder) for folder in (tmp_path / "bare.git", tmp_path / "out")}
    assert len(found) == 1
    assert (found.pop().name, project_of(orchard).key) == ("bare", project_of(tmp_path / "out").key)


def test_a_remote_that_is_added_later_changes_nothing(orchard: Path) -> None:
    before = project_of(orchard)
    project_of.cache_clear()
    project.cache_file().unlink()
    git(orchard, "remote", "add", "origin", "https://example.org/a/b.git")
    assert project_of(orchard) == before


def test_a_foreign_history_that_is_merged_in_changes_nothing(orchard: Path, tmp_path: Path) -> None:
    before = project_of(orchard)
    other = repository(tmp_path / "other", "another first")
    git(orchard, "pull", "-q", "--no-rebase", "--allow-unrelated-histories", "--no-edit", str(other), "main")
    project_of.cache_clear()
    project.cache_file().unlink()
    assert project_of(orchard) == before


def test_where_the_history_was_cut_short_the_remote_tells(orchard: Path, tmp_path: Path) -> None:
    git(orchard, "commit", "-q", "--allow-empty", "-m", "second")
    for name in ("one", "two"):
        git(tmp_path, "clone", "-q", "--depth", "1", f"file://{orchard}", name)
    assert project_of(tmp_path / "one").key == project_of(tmp_path / "two").key != project_of(orchard).key


def test_a_folder_without_git_is_known_by_its_path(tmp_path: Path) -> None:
    (tmp_path / "a").mkdir()
    (tmp_path / "b" / "a").mkdir(parents=True)
    first, second = project_of(tmp_path / "a"), project_of(tmp_path / "b" / "a")
    assert first.name == second.name == "a" and first.key != second.key
    assert project_of(tmp_path / "gone").name == "gone"


def test_without_a_git_program_the_remote_tells(orchard: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "")
    alone = project_of(orchard).key
    git_settings = orchard / ".git" / "config"
    git_settings.write_text(git_settings.read_text() + '[remote "origin"]\n\turl = git@example.org:a/b.git\n')
    project_of.cache_clear()
    project.cache_file().unlink()
    assert project_of(orchard).key not in ("", alone)


def test_git_is_asked_once(orchard: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    before = project_of(orchard)
    monkeypatch.setattr(project, "first_commit", lambda _repository: pytest.fail("git was asked again"))
    assert project_of(orchard) == before
    project_of.cache_clear()  # another process
    assert project_of(orchard / "deeper") == before


def test_another_repository_in_the_same_place_is_another_project(orchard: Path) -> None:
    before = project_of(orchard)
    kept = orchard.with_name("kept")
    orchard.rename(kept)
    repository(orchard, "a new beginning")
    project_of.cache_clear()
    assert project_of(orchard).key != before.key
    assert project_of(kept).key == before.key


def test_a_callers_git_variables_do_not_mislead(orchard: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    other = repository(tmp_path / "other", "another first")
    before = project_of(orchard).key
    project_of.cache_clear()
    project.cache_file().unlink()
    monkeypatch.setenv("GIT_DIR", str(other / ".git"))
    assert project_of(orchard).key == before


@pytest.mark.parametrize("told", ["", "not json", "[]", '{"a": 1}'])
def test_a_broken_cache_is_no_fault(orchard: Path, told: str) -> None:
    before = project_of(orchard)
    project.cache_file().write_text(told)
    project_of.cache_clear()
    assert project_of(orchard) == before


@pytest.mark.parametrize(
    "remote",
    [
        "https://example.org/a/b.git",
        "https://me:word@example.org/a/b",
        "git@example.org:a/b.git",
        "ssh://git@example.org:22/a/b/",
        "https://EXAMPLE.org/A/B",
    ],
)
def test_one_address_may_be_written_in_many_ways(remote: str) -> None:
    assert normalised(remote) == "example.org/a/b"


def test_what_somebody_chose_wins(orchard: Path, elsewhere: Path) -> None:
    assert chosen_space(orchard, {}) == ""
    config = elsewhere / "config" / "nacre" / "config.toml"
    config.parent.mkdir(parents=True)
    config.write_text('space = "mine"')
    assert space_of(orchard, (), {}) == "mine"
    trusted(orchard / ".nacre.toml", 'space = "ours"')
    assert space_of(orchard / "deeper", (), {}) == "ours"
    assert space_of(orchard, (), {"NACRE_SPACE": "now"}) == "now"


def bare_inside(folder: Path) -> Path:
    """Files that look like a repository, as a clone may contain them."""
    inside = folder / "sub"
    (inside / "objects").mkdir(parents=True)
    (inside / "refs").mkdir()
    (inside / "HEAD").write_text("ref: refs/heads/main\n")
    return inside


def test_files_that_look_like_a_repository_do_not_make_a_project_of_their_own(tmp_path: Path) -> None:
    victim, clone = repository(tmp_path / "victim", "private"), repository(tmp_path / "clone", "other")
    inside = bare_inside(clone)
    (inside / "commondir").write_text(f"{victim}/.git\n")
    assert project_of(inside) == project_of(clone)
    assert project_of(inside).key != project_of(victim).key


def test_a_git_file_that_names_another_project_s_repository_is_not_believed(tmp_path: Path) -> None:
    victim, unpacked = repository(tmp_path / "victim", "private"), tmp_path / "unpacked"
    unpacked.mkdir()
    (unpacked / ".git").write_text(f"gitdir: {victim}/.git\n")
    assert project_of(unpacked).key != project_of(victim).key


@pytest.mark.parametrize("line", ["gitdir: a\0b", f"gitdir: {'x' * 5000}"])
def test_a_git_file_that_names_no_path_is_passed_over(tmp_path: Path, line: str) -> None:
    (tmp_path / ".git").write_text(line)
    assert project_of(tmp_path).key


def test_another_repository_at_the_same_path_is_another_project(tmp_path: Path) -> None:
    keys = set()
    for number in range(4):
        place = repository(tmp_path / "place", f"text {number}")
        project_of.cache_clear()
        keys.add(project_of(place).key)
        shutil.rmtree(place)
    assert len(keys) == 4
