"""nacre appraise"""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from nacre.cli.cli_context import CliContext
from nacre.cli.options import form_option, global_options
from nacre.cli.ui.output import DATA, one_line, print_data, put
from nacre.cli.ui.prompts import text_argument
from nacre.errors import InvalidInput

if TYPE_CHECKING:
    from nacre.remember.suggest import Appraisal
    from nacre.text.emotion import Emotion


@click.command("appraise")
@click.argument("words", nargs=-1, required=True, metavar="TEXT|-")
@click.option("-t", "--type", default="semantic", show_default=True, metavar="TYPE", help="The type it would have.")
@click.option("--role", default="", metavar="NAME", help="Who says it: user, assistant, tool, …")
@form_option("text", "json")
@global_options
@click.pass_obj
def command(cli: CliContext, words: tuple[str, ...], type: str, role: str, form: str | None) -> None:  # noqa: ARG001
    """Say how much a text is worth keeping, why, and what it feels like. Nothing is kept."""
    from nacre.remember.suggest import appraise
    from nacre.text.emotion import detect_emotion

    text = text_argument(words, stdin=False)
    if not text.strip():
        raise InvalidInput("There is no text to appraise; give some, or - to read it from stdin.")
    found, emotion = appraise(text, type=type, role=role), detect_emotion(text)
    if form in DATA:
        print_data(record(found, emotion), form)
    else:
        put("\n".join(lines(found, emotion)))


def lines(found: Appraisal, emotion: Emotion | None) -> list[str]:
    reasons = found.reasons or ("no word decides",)
    told = [labelled("importance", f"{found.importance:.2f}"), *(labelled("because", each) for each in reasons)]
    if emotion is None:
        return [*told, labelled("feeling", "none that a word tells")]
    return [
        *told,
        labelled("feeling", f"{emotion.quadrant} ({', '.join(emotion.words)})"),
        labelled("valence", f"{emotion.valence:+.2f}  from unpleasant, -1, to pleasant, +1"),
        labelled("arousal", f"{emotion.arousal:+.2f}  from calm, -1, to stirred up, +1"),
    ]


def labelled(name: str, value: str) -> str:
    return click.style(f"{name:<12}", fg="cyan") + one_line(value)


def record(found: Appraisal, emotion: Emotion | None) -> dict[str, object]:
    told = None if emotion is None else {
        "quadrant": emotion.quadrant, "valence": emotion.valence, "arousal": emotion.arousal,
        "salience": round(emotion.salience, 4), "words": list(emotion.words),
    }  # fmt: skip
    return {"importance": found.importance, "reasons": list(found.reasons), "emotion": told}
