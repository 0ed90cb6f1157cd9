"""What a capital word is when it is no name: a title, a month, the first word of any sentence."""

from __future__ import annotations

from functools import cache

from nacre.text.closed_classes import AUXILIARIES, CLAUSE_WORDS, FUNCTION_WORDS
from nacre.text.predicates import LONGEST_ED_NOUN, VERBS, verb_words
from nacre.text.synonyms import GRADABLE, SYNONYMS, base, groups, irregular

TITLES = frozenset(
    "mr mrs ms miss dr prof sir madam professor doctor president captain mayor judge uncle aunt coach officer detective"
    " senator minister engineer manager director ceo cto cfo coo vp hr mom mum dad".split()
)
MONTHS = frozenset(
    "january february march april may june july august september october november december"
    " jan feb mar apr jun jul aug sep sept oct nov dec".split()
)
DAYS = "monday tuesday wednesday thursday friday saturday sunday".split()
WEEKDAYS = frozenset((*DAYS, *(f"{day}s" for day in DAYS), *"mon tue tues wed thu thur thurs fri sat sun".split()))
NAME_LIKE_MONTHS = frozenset("april may june august".split())
# Before a month they date: «In May Sarah left» speaks of Sarah, not of May Sarah.
DATING = frozenset("in since until till by last next this every during from of early late mid on before after".split())
# Between two capital words they belong to the name.
PARTICLES = frozenset("van von der den de del della di da dos du la le el al bin ibn ter zu".split())
# After one of these «of» belongs to the name: the University of Oxford.
INSTITUTIONS = frozenset(
    "university bank ministry department house school museum institute college academy republic kingdom states city"
    " church cathedral bay isle gulf cape court board council bureau office library lord tower port temple".split()
)
# Adjectives that begin a name: New York, San Francisco.
NAME_OPENERS = frozenset(
    "new san santa los las saint st mount north south east west united great old port lake".split()
)
# Ordinary words that people are called by as well.
GIVEN_NAMES = frozenset(
    "mark will rose drew may grant bill pat rob sue chase jack grace hope joy faith dawn page skip lance ward art ray"
    " frank miles april june august summer james charles thomas lucas carlos nicholas trinity felicity mike".split()
)
NAMES_AMONG_SYNONYMS = frozenset(
    "kubernetes k8s javascript js typescript ts postgresql postgres pgsql pg mongodb mongo elasticsearch elastic usa"
    " america uk britain mate pat max min".split()
)
# In capitals without being anybody's acronym; «IT» and «US» in capitals are.
CAPITAL_ORDINARY = frozenset(
    "ok okay todo fixme fyi asap am pm nb ps wip tbd tba lol omg eta aka eg ie vs etc q1 q2 q3 q4 note warning"
    " important urgent yes no".split()
)
ACRONYMS_LIKE_WORDS = frozenset(("it", "us", "who"))
OPENERS = frozenset(
    "hi hello hey dear thanks thank sorry welcome congratulations please yesterday today tomorrow tonight here there"
    " recently finally originally usually actually generally currently previously eventually suddenly apparently"
    " obviously clearly initially unfortunately luckily hopefully sadly personally honestly similarly additionally"
    " specifically typically normally occasionally frequently meanwhile maybe perhaps later afterwards moreover"
    " furthermore nevertheless besides despite given according regarding based during following note reminder"
    " summary update todo action question answer example status overall first second third another both several"
    " whatever somebody someone anybody beyond inside outside near behind beside under over like unlike plus".split()
)
COMMON_NOUNS = frozenset(
    "coffee tea water breakfast lunch music traffic weather life time people bread milk cheese rice meat fruit sugar"
    " rain snow sunlight sleep health stress homework news luck love hope sport sports chess yoga code data memory"
    " access support feedback latency throughput performance security hardware traffic staging latency downtime"
    " everything nothing anything two three four five six seven eight nine ten half".split()
)
ABSTRACT = ("tion", "sion", "ment", "ness", "ity", "ship", "ware", "ism", "ology", "ance", "ence")
PLURAL = ("ss", "us", "is", "as", "os")  # endings in s that no plural has


@cache
def known_words() -> frozenset[str]:
    """Every ordinary word at hand that may begin a sentence."""
    same = {word for group in groups(SYNONYMS) for word in group} - NAMES_AMONG_SYNONYMS
    return FUNCTION_WORDS | AUXILIARIES | CLAUSE_WORDS | OPENERS | COMMON_NOUNS | same | set(GRADABLE) | set(VERBS)


def is_closed(lower: str) -> bool:
    """A word that holds a sentence together; it is no name wherever it stands."""
    return lower in FUNCTION_WORDS or lower in AUXILIARIES or lower in CLAUSE_WORDS


def is_ordinary(lower: str) -> bool:
    """A word that needs no name to begin a sentence with."""
    head = lower.partition("-")[0]
    if head in GIVEN_NAMES:
        return False
    known = lower in known_words() or head in known_words() or lower.endswith("n't")
    return known or (base(head) in verb_words() and head not in NAMES_AMONG_SYNONYMS) or head.endswith(ABSTRACT)


def starts_a_statement(subject: str, verb: str) -> bool:
    """Whether one thing does something: «Berlin is», «Élodie prefers», but not «Tests failed» or «Customers had»."""
    verb = verb.replace("’", "'").removesuffix("n't")
    if singular(verb):
        return True
    several = (
        subject.endswith("s") and not subject.endswith(PLURAL) and subject not in GIVEN_NAMES | NAMES_AMONG_SYNONYMS
    )
    return not several and (verb in AUXILIARIES - {"are", "were", "have", "do"} or past(verb))


def singular(verb: str) -> bool:
    return verb in ("is", "was", "has", "does") or (verb.endswith("s") and base(verb) in verb_words())


def past(verb: str) -> bool:
    irregular_past = verb in irregular() and base(verb) in verb_words()
    return irregular_past or (verb.endswith("ed") and len(verb) > LONGEST_ED_NOUN)


def is_plain_verb(lower: str) -> bool:
    return lower in VERBS
