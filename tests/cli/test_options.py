"""Errors name a parameter by the option that was typed, in every command."""

from __future__ import annotations

from collections.abc import Iterator

import click
import pytest
from click.core import ParameterSource

from nacre.cli.main import nacre as command_line
from nacre.cli.options import with_option_names
from tests.cli.test_reference import walked
from tests.command_line import CommandLine

FREE = ("TIME", "WHEN")  # options with such a value take any text, which is read later
NOT_OURS = ("help", "compat run", "compat alias")  # made without `command`: they take words alone
SECOND = ("OTHER", "NEW", "TARGET", "END")  # arguments that name another memory than the first


def leaves() -> Iterator[tuple[str, click.Command]]:
    yield from ((path, each) for path, each in walked(command_line) if not isinstance(each, click.Group))


def valued(command: click.Command) -> Iterator[click.Option]:
    yield from (each for each in command.params if isinstance(each, click.Option) and not each.is_flag)


@pytest.mark.parametrize(("path", "command"), [(path, each) for path, each in leaves() if path not in NOT_OURS])
def test_every_command_calls_its_parameters_as_they_are_typed(path: str, command: click.Command) -> None:
    assert hasattr(command.callback, "__wrapped__"), f"{path} is not made by `command`"
    for option in valued(command):
        name, typed = option.name or "", max(option.opts, key=len)
        ctx = click.Context(command)
        ctx.params[name] = "dawn"
        assert with_option_names(f"{name} is odd; mend it.", ctx) == f"{name} is odd; mend it.", "it was not typed"
        ctx.set_parameter_source(name, ParameterSource.COMMANDLINE)
        for said in ("{}: 'x' is odd; mend it.", "{} must be text, not int."):
            assert with_option_names(said.format(name), ctx) == said.format(typed), path
        assert with_option_names("'dawn' is no time; mend it.", ctx) == f"{typed}: 'dawn' is no time; mend it."
        assert with_option_names(f"The text is odd; leave out {name}.", ctx) == f"The text is odd; leave out {name}."


def times() -> Iterator[tuple[str, str]]:
    for path, command in leaves():
        for option in valued(command):
            if option.metavar in FREE:
                yield path, max(option.opts, key=len)


@pytest.mark.parametrize(("path", "option"), list(times()))
def test_a_time_that_cannot_be_read_is_named_by_its_option(nacre: CommandLine, path: str, option: str) -> None:
    nacre.after(("remember", "The kettle is on", "--id", "x"), ("remember", "A boat", "--id", "y"))
    command = dict(leaves())[path]
    words = [
        "y" if (each.metavar or "").strip("[.]") in SECOND else "x"
        for each in command.params
        if isinstance(each, click.Argument) and each.required
    ]
    if path == "remember":
        words = ["A"]
    if path == "export":
        words = [str(nacre.store.with_name("all.nacre"))]
    result = nacre(*path.split(), *words, option, "blah")
    assert result.exit_code == 2, result.output
    assert f"{option}: 'blah' is not" in result.stderr


def test_no_option_is_blamed_for_a_value_that_another_one_has_too(nacre: CommandLine) -> None:
    nacre.ok("remember", "The kettle is on", "--id", "x")
    assert nacre("list", "--entity", "blah", "--until", "blah").stderr.startswith("nacre: 'blah' is not a time")


def test_both_options_that_do_not_fit_together_are_named(nacre: CommandLine) -> None:
    nacre.ok("remember", "The kettle is on", "--id", "x")
    asked = nacre("list", "--since", "today", "--until", "2020-01-01").stderr
    assert "--since is later than --until, so nothing can match" in asked
    edited = nacre("edit", "x", "--valid-from", "2026-03-02", "--valid-until", "2026-02-01").stderr
    assert "--valid-until (" in edited and "is before --valid-from (" in edited
