"""Which space a folder belongs to, with real repositories."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

import pytest

from nacre import project
from nacre.project import normalised, project_of
from nacre.settings import choose_space
from tests.projects import make_project, project_in
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
    found = [project_in(folder) for folder in (orchard, inner, tmp_path / "tree", tmp_path / "copy")]
    assert len({each.key for each in found}) == 1
    assert [each.name for each in found] == ["or-chard", "or-chard", "or-chard", "copy"]
    space = found[0].space()
    assert found[-1].space(["default", space]) == space == f"or-chard-{found[0].key}"


def test_two_repositories_are_two_projects(orchard: Path, tmp_path: Path) -> None:
    other = repository(tmp_path / "other", "another first")
    assert project_in(orchard).key != project_in(other).key


def test_a_submodule_is_a_project_of_its_own(orchard: Path, tmp_path: Path) -> None:
    outer = repository(tmp_path / "outer", "outer")
    git(outer, "submodule", "add", "-q", str(orchard), "inner")
    assert project_in(outer / "inner").key == project_in(orchard).key != project_in(outer).key


def test_a_bare_repository_and_its_worktrees_are_one_project(orchard: Path, tmp_path: Path) -> None:
    git(tmp_path, "clone", "-q", "--bare", str(orchard), "bare.git")
    git(tmp_path / "bare.git", "worktree", "add", "-q", "../out")
    found = {project_in(folder) for folder in (tmp_path / "bare.git", tmp_path / "out")}
    assert len(found) == 1
    assert (found.pop().name, project_in(orchard).key) == ("bare", project_in(tmp_path / "out").key)


def test_a_repository_keeps_its_space_when_it_gets_a_commit_and_a_remote(tmp_path: Path) -> None:
    young = tmp_path / "young"
    young.mkdir()
    git(young, "init", "-q")
    began = project_in(young).space()
    project_of.cache_clear()
    git(young, "commit", "-q", "--allow-empty", "-m", "first")
    committed = project_in(young)
    assert committed.space() != began == committed.space([began])
    project_of.cache_clear()
    git(young, "remote", "add", "origin", "https://example.org/a/b.git")
    shared = project_in(young)
    assert shared.space().startswith("b-") and shared.known_by == "its remote example.org/a/b"
    for known in (began, committed.space()):
        assert shared.space(["personal", known]) == known and shared.owns(known)
    assert shared.space([began, shared.space()]) == shared.space(), "the best key first"


def test_clones_of_one_remote_share_a_space_and_forks_do_not(orchard: Path, tmp_path: Path) -> None:
    for name, remote in (
        ("one", "git@example.org:a/b.git"),
        ("two", "https://example.org/a/b"),
        ("fork", "https://x.org/b"),
    ):
        git(tmp_path, "clone", "-q", str(orchard), name)
        git(tmp_path / name, "remote", "set-url", "origin", remote)
    one, two, fork = (project_in(tmp_path / name).space() for name in ("one", "two", "fork"))
    assert one == two != fork


def test_a_clone_of_a_clone_is_known_as_the_first_one(orchard: Path, tmp_path: Path) -> None:
    git(orchard, "remote", "add", "origin", "https://example.org/a/b.git")
    git(tmp_path, "clone", "-q", str(orchard), "second")
    git(tmp_path, "clone", "-q", "second", "third")
    assert {project_in(tmp_path / name).key for name in ("second", "third")} == {project_in(orchard).key}


def test_a_path_as_remote_is_not_believed_without_the_commits(orchard: Path, tmp_path: Path) -> None:
    unpacked = repository(tmp_path / "unpacked", "of somebody else")
    git(unpacked, "remote", "add", "origin", str(orchard))
    project_of.cache_clear()
    assert project_in(unpacked).key != project_in(orchard).key


def test_a_foreign_history_that_is_merged_in_changes_nothing(orchard: Path, tmp_path: Path) -> None:
    before = project_in(orchard)
    other = repository(tmp_path / "other", "another first")
    git(orchard, "pull", "-q", "--no-rebase", "--allow-unrelated-histories", "--no-edit", str(other), "main")
    project_of.cache_clear()
    project.cache_file().unlink()
    assert project_in(orchard) == before


def test_where_the_history_was_cut_short_the_remote_tells(orchard: Path, tmp_path: Path) -> None:
    git(orchard, "commit", "-q", "--allow-empty", "-m", "second")
    for name in ("one", "two"):
        git(tmp_path, "clone", "-q", "--depth", "1", f"file://{orchard}", name)
    assert project_in(tmp_path / "one").key == project_in(tmp_path / "two").key != project_in(orchard).key


def test_a_folder_in_no_repository_belongs_to_no_project(tmp_path: Path) -> None:
    assert project_of(tmp_path) is project_of(tmp_path / "gone") is None


def test_without_a_git_program_the_remote_tells(orchard: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "")
    alone = project_in(orchard).key
    git_settings = orchard / ".git" / "config"
    git_settings.write_text(git_settings.read_text() + '[remote "origin"]\n\turl = git@example.org:a/b.git\n')
    project_of.cache_clear()
    assert project_in(orchard).key not in ("", alone)


def test_git_is_asked_once(orchard: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    before = project_in(orchard)
    monkeypatch.setattr(project, "first_commit", lambda _repository: pytest.fail("git was asked again"))
    assert project_in(orchard) == before
    project_of.cache_clear()  # another process
    assert project_in(orchard / "deeper") == before


def test_another_repository_in_the_same_place_is_another_project(orchard: Path) -> None:
    before = project_in(orchard)
    kept = orchard.with_name("kept")
    orchard.rename(kept)
    repository(orchard, "a new beginning")
    project_of.cache_clear()
    assert project_in(orchard).key != before.key
    assert project_in(kept).key == before.key


def test_a_callers_git_variables_do_not_mislead(orchard: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    other = repository(tmp_path / "other", "another first")
    before = project_in(orchard).key
    project_of.cache_clear()
    project.cache_file().unlink()
    monkeypatch.setenv("GIT_DIR", str(other / ".git"))
    assert project_in(orchard).key == before


@pytest.mark.parametrize("told", ["", "not json", "[]", '{"a": 1}'])
def test_a_broken_cache_is_no_fault(orchard: Path, told: str) -> None:
    before = project_in(orchard)
    project.cache_file().write_text(told)
    project_of.cache_clear()
    assert project_in(orchard) == before


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


def test_the_space_is_the_chosen_one_else_the_project_s_else_personal(orchard: Path, elsewhere: Path) -> None:
    def space(folder: Path, environment: dict[str, str] | None = None, **flags: str) -> tuple[str, str]:
        choice = choose_space(folder, flags=flags, environment=environment or {})
        return choice.space, choice.beside

    assert space(elsewhere) == ("personal", "")
    assert space(orchard) == (project_in(orchard).space(), "personal")
    config = elsewhere / "config" / "nacre" / "config.toml"
    config.parent.mkdir(parents=True)
    config.write_text('space = "mine"')
    assert space(orchard) == ("mine", "personal")
    trusted(orchard / ".nacre.toml", 'space = "ours"')
    assert space(orchard / "deeper") == ("ours", "personal")
    trusted(orchard / ".nacre.toml", 'space = "personal"')
    assert space(orchard) == ("personal", "")
    assert space(orchard, {"NACRE_SPACE": "now"}) == ("now", "")
    assert space(orchard, {"NACRE_SPACE": "now"}, space="this") == ("this", "")


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
    assert project_in(inside) == project_in(clone)
    assert project_in(inside).key != project_in(victim).key


def test_a_git_file_that_names_another_project_s_repository_is_not_believed(tmp_path: Path) -> None:
    victim, unpacked = repository(tmp_path / "victim", "private"), tmp_path / "unpacked"
    unpacked.mkdir()
    (unpacked / ".git").write_text(f"gitdir: {victim}/.git\n")
    assert project_of(unpacked) is None


@pytest.mark.parametrize("line", ["gitdir: a\0b", f"gitdir: {'x' * 5000}"])
def test_a_git_file_that_names_no_path_is_passed_over(tmp_path: Path, line: str) -> None:
    (tmp_path / ".git").write_text(line)
    assert project_of(tmp_path) is None


def test_another_repository_at_the_same_path_is_another_project(tmp_path: Path) -> None:
    keys = set()
    for number in range(4):
        place = repository(tmp_path / "place", f"text {number}")
        project_of.cache_clear()
        keys.add(project_in(place).key)
        shutil.rmtree(place)
    assert len(keys) == 4


def test_links_to_another_project_s_repository_are_not_followed(tmp_path: Path) -> None:
    victim = repository(tmp_path / "victim", "private")
    git(victim, "worktree", "add", "-q", "../tree", "-b", "side")
    for name, target in (("linked", victim / ".git"), ("linked-tree", tmp_path / "tree" / ".git")):
        (tmp_path / name).mkdir()
        (tmp_path / name / ".git").symlink_to(target)
    parts = tmp_path / "parts" / ".git"
    parts.mkdir(parents=True)
    for each in ("config", "objects", "refs"):
        (parts / each).symlink_to(victim / ".git" / each)
    shutil.copy(victim / ".git" / "HEAD", parts)
    common = make_project(tmp_path / "common") / ".git"
    (common / "commondir").write_text(f"{victim}/.git\n")
    for folder in ("linked", "linked-tree", "parts", "common"):
        found = project_in(tmp_path / folder)
        assert found.known_by == f"its path {tmp_path.resolve() / folder / '.git'}" and found.others == ()
        assert found.key not in (project_in(victim).key, *project_in(victim).others)


def test_a_git_file_that_names_the_repository_of_a_submodule_elsewhere_is_not_believed(
    orchard: Path, tmp_path: Path
) -> None:
    outer = repository(tmp_path / "outer", "outer")
    git(outer, "submodule", "add", "-q", str(orchard), "inner")
    (outer / "unpacked").mkdir()
    (outer / "unpacked" / ".git").write_text(f"gitdir: {outer}/.git/modules/inner\n")
    assert project_in(outer / "unpacked").key == project_in(outer).key != project_in(orchard).key


def test_a_remote_counts_only_with_commits(tmp_path: Path) -> None:
    folder = make_project(tmp_path / "unpacked")
    (folder / ".git" / "config").write_text('[remote "origin"]\n\turl = https://example.org/a/b.git\n')
    assert project_in(folder).known_by.startswith("its path")


@pytest.mark.skipif(os.name == "nt", reason="needs POSIX pipes")
def test_a_pipe_is_not_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(project, "first_commit", lambda _repository: pytest.fail("git would wait for it"))
    folder = make_project(tmp_path / "unpacked")
    os.mkfifo(folder / ".git" / "config")
    assert project_in(folder).known_by.startswith("its path")


def test_a_file_that_is_larger_than_git_writes_is_not_read_whole(orchard: Path) -> None:
    git(orchard, "remote", "add", "origin", "https://example.org/orchard.git")
    assert project.origin(orchard / ".git") and project.first_line(orchard / ".git" / "HEAD")
    for name, longest in (("config", project.LONGEST_CONFIG), ("HEAD", project.LONGEST_POINTER)):
        with (orchard / ".git" / name).open("a") as file:
            file.write("#" * longest)
    assert project.origin(orchard / ".git") == project.first_line(orchard / ".git" / "HEAD") == ""


def test_a_long_name_is_cut(orchard: Path) -> None:
    git(orchard, "remote", "add", "origin", f"https://example.org/{'x' * 3000}.git")
    assert len(project_in(orchard).space()) < 100
