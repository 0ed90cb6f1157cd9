"""nacre lesson tags, contexts and sources"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import click

from nacre.cli.cli_context import CliContext
from nacre.cli.commands.review import Choice, Step, ask_text, is_interactive, review_steps
from nacre.cli.errors import UsageProblem
from nacre.cli.lesson.common import (
    LEVELS,
    UNDO,
    advice,
    is_remote,
    open_book,
    print_answer,
    print_list,
    terms_column,
    terms_option,
)
from nacre.cli.options import command, form_option, option, why_option, yes_option
from nacre.cli.ui.output import DATA, Column, Form, printable, say
from nacre.cli.ui.prompts import confirm as ask_confirmation
from nacre.cli.ui.prompts import count_of
from nacre.cli.ui.records import count_column
from nacre.errors import InvalidInput
from nacre.lessons import Answer, LessonBook
from nacre.lessons.lesson import ContextInfo, SourceInfo, TagInfo
from nacre.lessons.tag_review import MergeProposal
from nacre.lessons.vocabulary import CONTEXT, DEFAULT_LEVEL, SOURCE, TAG, Vocabulary, normalize

Pair = tuple[str, str] | None
MERGED = "{old!r} is {new!r} now, on {lessons}."
MERGE = Choice(
    key="m",
    label="merge",
    decision="merge",
    meaning="The second becomes the first, on every lesson.",
    outcome=MERGED,
)
REVERSE = Choice(
    key="o",
    label="the other way",
    decision="reverse",
    meaning="The first becomes the second.",
    outcome=MERGED,
)
DISTINCT = Choice(
    key="k",
    label="keep apart",
    decision="apart",
    meaning="They are different, and nobody is asked again.",
    outcome="Kept apart; nobody is asked again.",
)
ACCEPT = Choice(
    key="k",
    label="keep",
    decision="keep",
    meaning="It stays, and no longer waits.",
    outcome="The source stays, and no longer waits.",
)
REPLACE = Choice(
    key="m",
    label="merge",
    decision="merge",
    meaning="Another name is meant; its lessons get that.",
    outcome="Its lessons have {name!r} now.",
)


def one_action(**actions: object) -> str | None:
    """The action that the options ask for, if any."""
    chosen = [name for name, value in actions.items() if value]
    if len(chosen) > 1:
        names = ", ".join(f"--{name}" for name in chosen)
        raise UsageProblem(f"{names} are {len(chosen)} actions; give one of them.")
    return chosen[0] if chosen else None


def merge(book: LessonBook, kind: str, pair: tuple[str, str], form: Form, *, yes: bool, why: str) -> None:
    """Asks first, unless `yes`."""
    old, new = map(normalize, pair)
    if not yes:
        vocabulary = Vocabulary(book.store, kind)
        count = sum(n for name, n in vocabulary.counts().items() if name == old or name.startswith(f"{old}."))
        lessons = count_of(count, "lesson", "lessons")
        ask_confirmation(f"Merge the {kind} {old!r} into {vocabulary.resolve(new)!r}, on {lessons}?")
    merges = {TAG: book.merge_tags, CONTEXT: book.merge_contexts, SOURCE: book.merge_sources}
    merged = merges[kind](*pair, why=why)
    changed = count_of(merged.data, "lesson", "lessons")
    print_answer(merged, form, lambda _: say(f"The {kind} {old!r} is {new!r} now, on {changed} and in future; {UNDO}"))


def relate(book: LessonBook, kind: str, action: str, pair: tuple[str, str], form: Form, why: str) -> None:
    related, unrelated = book.relate_contexts, book.unrelate_contexts
    if kind == TAG:
        related, unrelated = book.relate_tags, book.unrelate_tags
    child = "{!r} is found under {!r} now" if kind == TAG else "What applies in {1!r} applies in {0!r} too now"
    actions: dict[str, tuple[Callable[..., Answer[bool]], str]] = {
        "alias": (book.alias_tag, "{!r} is stored as {!r} from now on"),
        "synonym": (partial(related, relation="synonym"), "{!r} and {!r} are found together now"),
        "child": (partial(related, relation="child_of"), child),
        "apart": (partial(book.keep_apart, kind), "{!r} and {!r} are different, and nobody is asked again"),
        "unrelate": (unrelated, "{!r} and {!r} are unrelated now"),
    }
    change, outcome = actions[action]
    done = f"{outcome.format(*pair)}; {UNDO}"
    print_answer(change(*pair, why=why), form, lambda new: say(done if new else "That is so already."))


@command("tags", yes_option, why_option, form_option())
@option("--counts", "With the number of lessons, most used first.")
@option("--review", "Tags that seem to mean the same; on a terminal, decide each.")
@option("--merge OLD NEW", "Replace OLD by NEW on every lesson.", nargs=2)
@option("--alias A B", "Store and search A as B from now on.", nargs=2)
@option("--synonym A B", "Find lessons with A by B, and the other way round.", nargs=2)
@option("--child A PARENT", "Find lessons with A by PARENT.", nargs=2)
@option("--unrelate A B", "Remove the relations between the two.", nargs=2)
@option("--apart A B", "Never propose to merge the two.", nargs=2)
@terms_option("--know", "Add tags, so that they give no warning.")
def tags_command(
    cli: CliContext, /, counts: bool, review: bool, know: tuple[str, ...] | None, yes: bool, why: str, form: Form,
    **pairs: Pair,
) -> None:  # fmt: skip
    """List the tags; merge, relate and review them.

    \b
      nacre lesson tags --merge javscript javascript
      nacre lesson tags --child jira api
    """
    action = one_action(review=review, know=know, **pairs)
    pair = pairs.get(action or "")
    with open_book(cli, make=action not in (None, "review")) as book:
        if action is None:
            list_tags(book, form, counts=counts)
        elif know:
            known = "They are known already."
            added = book.know_tags(*know, why=why)
            print_answer(added, form, lambda new: say(f"Added: {', '.join(new)}." if new else known))
        elif pair is None:
            review_tags(book, form)
        elif action == "merge":
            merge(book, TAG, pair, form, yes=yes, why=why)
        else:
            relate(book, TAG, action, pair, form, why)


def list_tags(book: LessonBook, form: Form, *, counts: bool) -> None:
    tags = book.tags(counts=counts or form in DATA)  # these formats always have a count
    columns: list[Column[TagInfo]] = [
        Column("tag", lambda each: each.name, style="cyan"),
        *([count_column("lessons", lambda each: each.count)] if counts else []),
        terms_column("also", lambda each: each.aliases),
        terms_column("synonyms", lambda each: each.synonyms),
        terms_column("under", lambda each: each.parents, wide=True),
    ]
    print_list(tags, columns, form, "No lesson has a tag yet.")


def review_tags(book: LessonBook, form: Form) -> None:
    proposals = book.review_tags()
    if proposals.data and is_interactive(form):
        say(*proposals.warnings)
        review_steps([partial(tag_step, book, each) for each in proposals.data], book.store)
        return
    columns: list[Column[MergeProposal]] = [
        Column("old", lambda each: each.merge, lambda each: with_count(each, each.merge), style="cyan"),
        Column("new", lambda each: each.keep, lambda each: with_count(each, each.keep), style="cyan"),
        Column("why", lambda each: each.reason, wide=True, wraps=True),
    ]
    print_list(proposals, columns, form, "No two tags seem to mean the same.")
    if proposals.data:
        say("`nacre lesson tags --merge OLD NEW` merges two, --apart A B records that they are different.")


def tag_step(book: LessonBook, proposal: MergeProposal) -> Step:
    keep, merged = proposal.keep, proposal.merge

    def apply(choice: Choice) -> str:
        if choice is DISTINCT:
            book.keep_apart(TAG, keep, merged)
            return DISTINCT.outcome
        old, new = (merged, keep) if choice is MERGE else (keep, merged)
        changed = count_of(book.merge_tags(old, new).data, "lesson", "lessons")
        return choice.outcome.format(old=old, new=new, lessons=changed)

    title = f"{with_count(proposal, keep)} and {with_count(proposal, merged)}"
    return Step(title, (MERGE, REVERSE, DISTINCT), apply, printable(f"  {proposal.reason}"))


def with_count(proposal: MergeProposal, name: str) -> str:
    return f"{name} ({proposal.counts.get(name, 0):,})"


@command("contexts", yes_option, why_option, form_option())
@option("--merge OLD NEW", "Replace OLD by NEW on every lesson.", nargs=2)
@option("--child A PARENT", "What applies in PARENT applies in A too.", nargs=2)
@option("--synonym A B", "A and B are two names of one situation.", nargs=2)
@option("--unrelate A B", "Remove the relations between the two.", nargs=2)
def contexts_command(cli: CliContext, /, yes: bool, why: str, form: Form, **pairs: Pair) -> None:
    """List the situations that lessons apply in; merge them or relate them."""
    action = one_action(**pairs)
    pair = pairs.get(action or "")
    with open_book(cli, make=action is not None) as book:
        if pair is None:
            list_contexts(book, form)
        elif action == "merge":
            merge(book, CONTEXT, pair, form, yes=yes, why=why)
        elif action:
            relate(book, CONTEXT, action, pair, form, why)


def list_contexts(book: LessonBook, form: Form) -> None:
    contexts = book.contexts()
    columns: list[Column[ContextInfo]] = [
        Column("context", lambda each: each.name, style="cyan"),
        count_column("applies", lambda each: each.count),
        count_column("not", lambda each: each.anti_count),
        terms_column("also", lambda each: each.aliases),
        terms_column("in", lambda each: each.parents, wide=True),
    ]
    empty = advice(book, "No lesson has a context; `nacre lesson edit ID --context …` sets one")
    print_list(contexts, columns, form, empty)


@command("sources", yes_option, why_option, form_option())
@option("--review", "Sources that were added automatically; on a terminal, decide each.")
@option("--add NAME", "Describe a new or existing source, with the two options below.")
@option("--description TEXT", "How a lesson from it is known.")
@option("--typical LEVEL", f"How sure its lessons usually are: {LEVELS}.")
@option("--confirm NAME", "Accept a source that was added automatically.")
@option("--merge OLD NEW", "Replace OLD by NEW on every lesson.", to="merged", nargs=2)
@option("--deprecate NAME", "Warn on every new use.")
@option("--undeprecate NAME", "No longer warn.")
def sources_command(
    cli: CliContext, review: bool, add: str | None, description: str | None, typical: str | None, confirm: str | None,
    merged: Pair, deprecate: str | None, undeprecate: str | None, yes: bool, why: str, form: Form,
) -> None:  # fmt: skip
    """List where lessons come from; add, merge and review sources.

    \b
      nacre lesson sources --add benchmarked --description "measured, with figures" --typical very-high
      nacre lesson sources --merge test tested
    """
    action = one_action(
        review=review, add=add, confirm=confirm, merge=merged, deprecate=deprecate, undeprecate=undeprecate
    )
    if action != "add" and (description or typical) is not None:
        raise click.UsageError("--description and --typical need --add NAME.")
    with open_book(cli, make=action not in (None, "review")) as book:
        if add:
            print_source(describe_source(book, add, description, typical, why), form, "is described")
        elif confirm:
            print_source(book.confirm_source(confirm, why=why), form, "stays")
        elif deprecate:
            print_source(book.deprecate_source(deprecate, why=why), form, "is deprecated")
        elif undeprecate:
            changed = book.deprecate_source(undeprecate, deprecated=False, why=why)
            print_source(changed, form, "is no longer deprecated")
        elif merged:
            merge(book, SOURCE, merged, form, yes=yes, why=why)
        else:
            list_sources(book, form, review=review)


def describe_source(
    book: LessonBook, name: str, description: str | None, typical: str | None, why: str
) -> Answer[SourceInfo]:
    """An option that is not given keeps the current value."""
    current = next((each for each in book.sources().data if each.name == normalize(name)), None)
    if current is not None:
        description = current.description if description is None else description
        typical = typical or current.typical_confidence
    return book.add_source(name, description or "", typical or DEFAULT_LEVEL, why=why)


def print_source(answer: Answer[SourceInfo], form: Form, outcome: str) -> None:
    typical = f"its lessons are usually {answer.data.typical_confidence}"
    print_answer(answer, form, lambda source: say(f"The source {source.name!r} {outcome}; {typical}. {UNDO}"))


def list_sources(book: LessonBook, form: Form, *, review: bool) -> None:
    sources = book.sources(review=review)
    if review and sources.data and is_interactive(form) and not is_remote(book):
        review_steps([partial(source_step, book, each) for each in sources.data], book.store)
        return
    columns: list[Column[SourceInfo]] = [
        Column("source", lambda each: each.name, style="cyan"),
        count_column("lessons", lambda each: each.count),
        Column("typical", lambda each: each.typical_confidence, style="magenta"),
        Column("status", source_status),
        Column("description", lambda each: each.description, wide=True, wraps=True),
    ]
    print_list(sources, columns, form, "No source waits for review." if review else "")
    if review and sources.data:
        say(advice(book, "`nacre lesson sources --confirm NAME` accepts one, --merge OLD NEW replaces it"))


def source_status(source: SourceInfo) -> str:
    return "deprecated" if source.deprecated else "waits for review" if source.review else ""


def source_step(book: LessonBook, source: SourceInfo) -> Step:
    def apply(choice: Choice) -> str:
        if choice is ACCEPT:
            book.confirm_source(source.name)
            return ACCEPT.outcome
        into = ask_text("Which source is meant? ")
        if not into:
            raise InvalidInput("no source was named; it still waits.")
        if into not in {each.name for each in book.sources().data}:
            raise InvalidInput(f"there is no source {into!r}; `nacre lesson sources` lists them.")
        book.merge_sources(source.name, into)
        return REPLACE.outcome.format(name=into)

    return Step(f"source {source.name!r} was added automatically, on {source.count:,}", (ACCEPT, REPLACE), apply)
