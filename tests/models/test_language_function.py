from __future__ import annotations

import pytest

from nacre.errors import LanguageModelError
from nacre.models.language_model import FromCallable
from nacre.protocols import LanguageModel


def test_any_function_becomes_a_language_model() -> None:
    model: LanguageModel = FromCallable(str.upper, "shouting")
    assert model.identity == "shouting"
    assert model.complete(" hello ") == "HELLO"


def test_what_the_system_says_comes_first() -> None:
    assert FromCallable(lambda prompt: prompt, "echo").complete("p", system="s") == "s\n\np"


@pytest.mark.parametrize("given", ["", "  ", None, 3])
def test_no_text_is_an_error_with_its_remedy(given: object) -> None:
    with pytest.raises(LanguageModelError, match="Return some text for every prompt"):
        FromCallable(lambda _: given, "odd").complete("p")  # type: ignore[arg-type, return-value]
