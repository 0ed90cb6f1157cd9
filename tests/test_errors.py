"""Errors say what is wrong and end with the remedy."""

from __future__ import annotations

import inspect
import pickle

import pytest

from nacre import errors

EXAMPLES: list[tuple[errors.NacreError, type[Exception], str]] = [
    (errors.UnknownName("memory type", "epsodic", ["episodic", "semantic"]), ValueError, "did you mean 'episodic'?"),
    (errors.UnknownName("status", "zzz", ["a", "b"]), ValueError, "use one of: a, b."),
    (errors.UnknownName("argument of status", "x", []), ValueError, "'x'; there are none, so leave it out."),
    (errors.NameNotFound("user", "adda", ["ada"], "X"), errors.UnknownName, "did you mean 'ada'? X lists them."),
    (errors.NameNotFound("job", "x", [], "/v1/jobs"), ValueError, "no job 'x'; /v1/jobs lists them."),
    (errors.OperationNotFound("x"), errors.UndoRefused, "as 'x'; `nacre journal` lists them."),
    (errors.AmbiguousId("ab", ["ab1", "ab2"]), ValueError, "give more characters."),
    (
        errors.MissingExtra("A plot", "plot", "write text"),
        ImportError,
        '`pip install ".[plot]"` in the checkout of Nacre, or write text.',
    ),
    (errors.MemoryNotFound("x", "s"), KeyError, "`--space` chooses another space."),
    (errors.SpaceNotFound("tem", ["team"]), KeyError, "did you mean 'team'? `nacre space list` shows them all."),
    (
        errors.SpaceNotOpen("x", ["a", "b"]),
        KeyError,
        "it opens a, b. Choose one of these, or ask an admin for a token.",
    ),
    (
        errors.SpaceNotOpen("x", ["a"], "with ?space=NAME"),
        KeyError,
        "of these with ?space=NAME, or ask an admin for a token.",
    ),
    (errors.SpaceNotOpen("x", []), KeyError, "'x'; choose another space, or ask an admin for a token."),
    (errors.ArchiveRefused("f", "it is cut short", "Export it again."), OSError, "Export it again."),
    (errors.ImportConflict(["a", "b"], 2), ValueError, "import into another space."),
    (errors.SupersedeCycle("old", "new"), ValueError, "Restore new first."),
    (errors.NotAStore("f", "why"), OSError, "choose another file with --store."),
    (errors.WrongKey("f", key_set=True), PermissionError, "(file:PATH, env:VARIABLE or keyring:NAME)."),
    (errors.NotEncrypted("f"), ValueError, "run `nacre store encrypt` to encrypt the store."),
    (errors.StoreUnreachable("f", "why"), OSError, "choose another file with --store."),
    (errors.StoreReadOnly("f"), OSError, "choose another file with --store."),
    (errors.StoreFull("f"), OSError, "Free some space and repeat."),
    (errors.StoreIncomplete("f", "g"), OSError, "delete the file, or the schema `nacre` of the database."),
    (errors.IssuerUnreachable("https://x", "404"), OSError, "tell an admin of the server."),
    (errors.StoreBusy("f", 10), OSError, "end the process that holds it."),
    (errors.SchemaMismatch("f", 9, 1), OSError, "to begin a new store, move the file to another folder."),
    (errors.EmbeddingMismatch("one", "two"), ValueError, "configure the first model again."),
    (errors.ModelUnavailable("m", "offline", "Go online."), RuntimeError, "Go online."),
    (errors.EmbeddingServiceFailed("http://x", "404"), RuntimeError, "the model's name is right."),
    (errors.LanguageModelError("m", "HTTP 500", "Check that it runs."), RuntimeError, "Check that it runs."),
    (errors.RerankingError("r", "no model", "Give another directory."), RuntimeError, "Give another directory."),
]


@pytest.mark.parametrize(("error", "kind", "remedy"), EXAMPLES, ids=lambda value: type(value).__name__)
def test_a_message_reads_as_written_and_ends_with_the_remedy(
    error: errors.NacreError, kind: type[Exception], remedy: str
) -> None:
    assert isinstance(error, kind)
    assert isinstance(error, errors.NacreError)
    assert str(error).endswith(remedy)
    assert "\n" not in str(error)


@pytest.mark.parametrize("error", [example[0] for example in EXAMPLES], ids=lambda value: type(value).__name__)
def test_an_error_reaches_another_process_as_it_is(error: errors.NacreError) -> None:
    again = pickle.loads(pickle.dumps(error))
    assert (type(again), str(again), vars(again)) == (type(error), str(error), vars(error))


def test_a_name_of_any_length_makes_a_short_message() -> None:
    for error in (errors.MemoryNotFound("i" * 100_000, "s"), errors.UnknownName("tool", "i" * 100_000, ["recall"])):
        assert "iii…'" in str(error) and len(str(error)) < 400


def test_the_drawn_tree_is_the_real_one() -> None:
    drawn = errors.__doc__ or ""
    classes = [each for _, each in inspect.getmembers(errors, inspect.isclass) if issubclass(each, errors.NacreError)]
    assert all(
        f" {each.__name__}" in drawn or drawn.startswith(each.__name__) or each.__name__ in drawn for each in classes
    )
    assert len(classes) == sum("─" in line for line in drawn.splitlines()) + 1


def test_a_misspelled_name_is_answered_with_the_nearest_one_whatever_its_case() -> None:
    assert "'semantic'" in str(errors.UnknownName("type", "SEMANTC", ["semantic", "episodic"]))
