"""Answers that end a request before it is carried out, each with what to do instead."""

from __future__ import annotations

from starlette.responses import JSONResponse, Response

from nacre.rest.problems import CONTENT_TYPE, problem_of
from nacre.server.openapi import OPENAPI


class Refusal(Exception):
    """Ends a request with an answer."""

    def __init__(self, response: Response) -> None:
        self.response = response


def refusal(name: str, status: int, title: str, sentence: str, **headers: str) -> Refusal:
    about = problem_of(name, status, title, sentence)
    named = {key.replace("_", "-"): value for key, value in headers.items()}
    return Refusal(JSONResponse(about, status, named, CONTENT_TYPE))


def too_many(sentence: str, wait: float) -> Refusal:
    """The sentence is ended with the time to wait."""
    seconds = max(1, round(wait + 0.5))
    return refusal("TooMany", 429, "Too many requests", f"{sentence} in {seconds} s.", retry_after=str(seconds))


def not_own_page() -> Refusal:
    sentence = "A request with a cookie must come from this server's own page; use a token instead."
    return refusal("WrongOrigin", 403, "The request comes from elsewhere", sentence)


def no_route(allowed: set[str]) -> Refusal:
    if allowed:
        named = ", ".join(sorted(allowed))
        sentence = f"This address takes only {named}; {OPENAPI} describes all of them."
        return refusal("WrongMethod", 405, "The HTTP method is not known here", sentence, allow=named)
    sentence = f"There is nothing at this address; {OPENAPI} describes all of them."
    return refusal("NoSuchAddress", 404, "There is nothing here", sentence)
