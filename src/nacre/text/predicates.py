"""Verbs: where they stand, and which leave room for one value only (one lives in one town, but speaks many tongues)."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache

from nacre.text.closed_classes import ARTICLES, AUXILIARIES
from nacre.text.pieces import Piece, kind, lower
from nacre.text.stems import STOP_WORDS
from nacre.text.synonyms import base, irregular

# With these a second value replaces the first.
EXCLUSIVE = """
live reside work report weigh cost name call title base locate host store keep run deploy default set configure
schedule start begin end finish expire close open hold take lead manage head own maintain chair direct use rely
prefer favorite favourite primary main current deadline due version port limit timeout password address phone
email birthday age height weight salary budget price rent size capacity owner manager lead boss employer company
team role title position location headquarters capital color colour language framework library tool database
editor provider vendor platform region branch format style engine backend frontend host drive sit stay move
relocate switch migrate marry date study major attend graduate born indent order sort return respond default
encode serialize authenticate cache log build compile package route expose listen bind point target cap total
average measure last go become remain equal choose pick decide select meet happen occur
""".split()
# With these values add up.
MULTIPLE = """
have there like love hate dislike enjoy adore know speak visit see watch read play own contain include support
buy order eat drink try learn teach write create make collect attend meet help add install test fix mention
discuss talk tell say ask recommend suggest invite join follow need want consist offer provide sell share
""".split()
VERBS = """
accept add agree allow answer appear apply approve arrive ask assign attach attend authenticate avoid base
become begin believe belong bind block book break bring build bump buy cache call cancel cap carry change charge
check choose close collect come commute compile complete configure confirm connect contain contribute cook cost
cover create cut cycle date deal decide decline default delete deliver deploy describe design develop die direct
discuss dislike display divorce draw drink drive drop earn eat email enable encode end enforce enjoy enter equal
exceed exclude execute exercise expect expire explain export expose extend fail fall favor feed feel fetch fill
find finish fix flag fly follow forbid force format generate get give go graduate grow handle happen hate have
head hear help hide hire hit hold host house ignore implement import include increase indent index insist
install integrate invest invite join keep know label lack land last launch lead learn leave lend let like limit
link lint listen live load locate lock log look lose love maintain make manage mark marry match mean measure
meet mention merge migrate modify monitor mount move name need notify number obtain occur offer omit open
operate order own pack paint park pass pay permit pick pin plan plant play point postpone prefer prevent print
process produce prohibit promote provide publish pull push put quit raise reach read receive recommend record
reduce refactor refuse reject release rely relocate rely remain remember remove rename rent repair replace
report represent request require reserve reside resign resolve respond restart retire return review rewrite ride
rise rotate route run save say schedule see seem select sell send serialize serve set share ship show sign sit
sleep smoke sort speak specialize specify spend stand start state stay stop store stream study submit subscribe
suffer suggest supersede supply support switch take talk target teach tell test think time total track trade
train transfer translate travel trigger try turn update upgrade upload use validate vary verify visit vote wait
wake walk want watch wear weigh win wish work wrap write yield
""".split()
# At the beginning of a text these give an instruction: «Use mutable defaults» has no subject.
INSTRUCTIONS = frozenset(
    "use avoid keep put give write prefer ask tell add make leave send don't dont do run never always please ensure"
    " remember explain reply respond answer address store save delete remove install include exclude skip wear bring"
    " follow treat drain merge rebase squash commit deploy translate sort return wrap cover bake fry boil cook water"
    " sow prune feed call email wait let stick go take serve choose pick turn switch enable disable allow"
    " forbid".split()
)
# After one of these a noun follows, whatever it looks like.
BEFORE_NOUNS = ARTICLES | frozenset("to of in on at for with by from and or every each all no some any new".split())
PLAIN_VERBS = frozenset("get go come put take make need want went came took made got wrote ran".split())
LIKE_A_PAST = frozenset("left read lost bound felt found thought written driven taken known grown hidden".split())
LONGEST_ED_NOUN = 4  # letters; «seed» and «red» are no past tense
SINGULAR_VERBS = frozenset("is was has does took leads owns manages works lives joined founded wrote runs".split())


@cache
def exclusive_words() -> frozenset[str]:
    return frozenset(map(base, EXCLUSIVE))


@cache
def multiple_words() -> frozenset[str]:
    return frozenset(map(base, MULTIPLE))


@cache
def verb_words() -> frozenset[str]:
    return frozenset(map(base, VERBS))


def verb_place(pieces: Sequence[Piece]) -> int:
    """Where the first verb stands, as far as that can be told without a grammar; 0 in an instruction."""
    if pieces and pieces[0].lower in INSTRUCTIONS and lower(pieces, 1) not in AUXILIARIES:
        return 0
    inflected = (place for place in range(len(pieces)) if is_finite(pieces, place))
    plain = (place for place in range(1, len(pieces)) if is_plain_verb(pieces, place))
    return next(inflected, next(plain, 0))


def is_finite(pieces: Sequence[Piece], place: int) -> bool:
    """An auxiliary, a past tense, a known verb with its ending; or the colon that stands for «is»: «Port: 80»."""
    word = pieces[place].lower
    if word in AUXILIARIES or word == ":":
        return True
    if (
        place == 0
        or pieces[place].kind != "word"
        or kind(pieces, place - 1) == "number"
        or after_a_determiner(pieces, place)
    ):
        return False
    past = word.endswith("ed") and len(word) > LONGEST_ED_NOUN
    phrase = " " in pieces[place].text and base(word) in verb_words()  # «can't stand», read as «hate»
    irregular_past = word in irregular() and word not in LIKE_A_PAST and base(word) in verb_words()
    return past or phrase or irregular_past or (word.endswith("s") and base(word) in verb_words())


def is_plain_verb(pieces: Sequence[Piece], place: int) -> bool:
    """«Customers on the plan get a reply»: a verb without an ending has an object or a preposition after it."""
    word = pieces[place].lower
    object_follows = lower(pieces, place + 1) in STOP_WORDS or kind(pieces, place + 1) not in ("", "word")
    known = word in PLAIN_VERBS or base(word) in verb_words()
    return known and object_follows and not after_a_determiner(pieces, place)


def after_a_determiner(pieces: Sequence[Piece], place: int) -> bool:
    return lower(pieces, place - 1) in BEFORE_NOUNS
