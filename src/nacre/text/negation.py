"""Which words deny, and how far they reach."""

from __future__ import annotations

from functools import cache

from nacre.text.synonyms import base
from nacre.text.tokens import words

# Written without their apostrophes, as careless writers and the tokeniser do.
NEGATION_WORDS = frozenset(
    "not never no dont doesnt didnt wont wouldnt shouldnt cant cannot couldnt mustnt neednt isnt arent wasnt"
    " werent hasnt havent hadnt aint mightnt shant without avoid neither nor nothing nobody nowhere none".split()
)
# They deny the whole clause they stand in, wherever they stand in it: as they are, and in every form.
DENYING_WORDS = frozenset(
    "never cannot nobody nothing none nowhere neither hardly barely rarely seldom scarcely".split()
)
DENYING_VERBS = (
    "forbid avoid refuse refrain impossible false untrue unable incorrect wrong deny unacceptable exclude".split()
)
# They deny what follows at once.
NEAR_NEGATORS = frozenset("no non without nor lacks lack lacking except minus absent".split())
# «no» before one of these denies nothing.
NO_DENIAL = frozenset("later more less fewer matter doubt problem other sooner earlier".split())
WHOLE_CLAUSE = frozenset(("longer", "need"))  # «no longer» denies all that is said with it
NOT_BUT_MORE = frozenset(("only", "just"))  # «not only» affirms
# They can say by themselves what the other text says by denying: «not longer than eight» is «eight at most».
COMPENSATING = (
    "only exceed until till unless maximum minimum less least fewer longer than other otherwise except off out"
    " away down against beyond besides fail break skip slow interrupt miss lose hate dislike postpone cancel"
    " free vegetarian vegan rather instead ignore hide prevent empty absent exempt unavailable restrict sole"
    " abstain omit forget fear guard spare expire cap limit delay late defective dead locked dry sober stop"
    " quit drop few seldom bad poor illegal dangerous bother trouble worry problem difficult quiet silent short"
    " brief small low weak single alone last disable forbid prohibit block exclude untouched lock remove close"
    " manual automatic".split()
)
# Of these, those that turn a denial round when they stand in it: «not exceed», «none other».
LIMITS = "exceed until till unless less fewer longer than other only skip forget fail miss lose ignore prevent".split()


@cache
def denying_verbs() -> frozenset[str]:
    return frozenset(map(base, DENYING_VERBS))


def denies_clause(word: str) -> bool:
    return word in DENYING_WORDS or base(word) in denying_verbs()


@cache
def limits() -> frozenset[str]:
    return frozenset(map(base, LIMITS))


@cache
def compensating() -> frozenset[str]:
    return frozenset(map(base, COMPENSATING))


def negation_diff(a: str, b: str) -> bool:
    """Whether one text denies an odd number of times more than the other."""
    return (count(a) - count(b)) % 2 == 1


def count(text: str) -> int:
    return sum(word in NEGATION_WORDS for word in words(text))
