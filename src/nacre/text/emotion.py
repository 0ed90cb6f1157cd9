"""English words of feeling, each with how pleasant it is and how stirred up: data for `emotion`, written for Nacre."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache, lru_cache
from itertools import pairwise

from nacre.errors import MissingExtra, UnknownName
from nacre.text.grammar import NEGATION_WORDS
from nacre.text.tokens import WORD

# Valence, arousal, words. A word with a star stands for all that begin so; without one for itself alone, because
# another form of it may mean something else: a person is alarmed, a monitor raises an alarm.
FELT = """
+1.0 +.9 ecstatic euphoric euphoria elated elation exhilarat*
+.9 +.9 overjoyed rapturous thrilled thrilling exuberant exultant jubilant
+.9 +.7 joyful joyous joyfully gleeful jubilation triumphant
+.8 +.8 excited exciting excitement excitedly enthusiastic enthusiastically enthusiasm
+.8 +.7 amazed astounded awestruck awesome
+.8 +.6 delight* passionate passionately wonderful amazing fantastic marvellous marvelous splendid
+.8 +.5 joy bliss blissful love loves loved loving adore* adoring gorgeous
+.8 +.4 happy happily happiness happier happiest
+.7 +.6 rejoic* laugh* giggl* playful fun
+.7 +.5 cheerful cheerfully cheery merry upbeat jolly proud proudly prouder proudest pride
+.7 +.4 enjoy* amused amusing amusement hilarious
+.7 +.3 smile smiles smiled smiling grinning hug hugs hugged hugging
+.7 +.2 glad gladly pleased gratified lucky lovely adorable
+.6 +.2 grateful gratefully gratitude thankful appreciative heartwarming charming
+.6 +.4 hopeful hopefulness inspiring uplifting fascinated fascinating
+.5 +.5 astonished surprised intrigued curious amazement
+.6 +.1 pleasant pleasantly fondness affection affectionate affectionately tenderness
+.6 -.2 relieved contentment cosy cozy heartened
+.6 -.4 contented soothing soothed comforting comforted reassured reassuring
+.6 -.6 calm calmer calmest calmly peaceful peacefully relaxing unwinding
+.6 -.7 serene serenely serenity tranquil tranquility tranquillity
+.4 -.6 mellow restful unhurried carefree
+.3 -.3 nostalgic nostalgia wistful bittersweet
-1.0 +.9 furious furiously fury enraged livid infuriat*
-.9 +.9 outraged outrage terrified terrifying horrified petrified
-.9 +.8 incensed seething hateful loathe loathes loathed loathing despise* detest* abhor*
-.8 +.8 angry angrily angrier angriest anger hate hates hated hating hatred hysterical
-.8 +.7 frightened frightening scared scary distraught disgust* revolted appalled appalling anguish anguished
-.8 +.6 devastat* traumatised traumatized traumatic betrayed horrible horribly dreadful
-.7 +.7 frustrat* exasperat* panicky frantic freaked humiliat* shocked shocking
-.7 +.6 stressed stressful despairing terrible awful dread dreading dreaded
-.6 +.7 alarmed anxious anxiously anxiety anxieties jealous jealously jealousy envious
-.6 +.6 worried worrying worry worries nervous nervously upset upsetting unnerved afraid fearful
-.6 +.5 annoy* irritated irritating irritable resentful resentment resented indignant offended insulted
-.5 +.5 uneasy unease apprehensive jittery impatient impatiently flustered embarrass* mortified
-.5 +.4 grumpy cranky grouchy crabby disgruntled displeased displeasure tearful
-.5 +.3 bothered perplexed bewildered puzzled troubled disturbed
-.6 +.1 disappoint* ashamed shame shameful guilt remorse remorseful regretful disillusioned
-.7 +.3 heartbroken heartbreaking grief grieving grieved grieve mourn* crying cried weeping wept sobbing sobbed
-.8 -.2 miserable miserably misery despair despondent hopeless hopelessly hopelessness suicidal
-.7 -.4 sad sadly sadness sadder saddest saddened sorrow sorrowful unhappy unhappily unhappiness gloomy gloom dismal
-.8 -.6 depressed depressing depression worthlessness dejected desolate crestfallen
-.6 -.4 lonely lonelier loneliness homesick melancholy melancholic forlorn
-.6 -.6 disheartened disheartening demoralised demoralized demoralising demoralizing helpless
-.6 -.7 burnout demotivated downhearted listless joyless
-.4 -.6 bored boredom apathetic apathy indifferent uninspired
-.4 -.7 weary wearily drowsy sleepy lethargic groggy
"""

# These are feelings only when somebody is said to be so: «I am exhausted», but «the pool is exhausted».
OF_A_PERSON = """
+.8 +.6 pumped stoked psyched buzzing
+.6 +.5 eager keen motivated energised energized inspired energetic
+.5 +.3 optimistic impressed encouraged touched blessed
+.6 -.3 satisfied content comfortable fulfilled
+.6 -.6 relaxed rested
-.7 +.7 panicking panicked mad crazy
-.6 +.6 paranoid tense shaken shaky desperate startled agitated distressed overwhelmed
-.5 +.4 restless suspicious unsettled insecure aggravated
-.5 +.3 confused bitter hurt wounded defensive stuck pessimistic sceptical skeptical
-.6 -.3 crushed shattered abandoned
-.5 -.6 exhausted tired drained fatigued deflated discouraged
-.6 -.5 lost defeated worthless numb
"""

# And these only of what somebody feels: «I feel low», but «we are low on disk space».
AFTER_FEEL = """
+.6 +.3 good great strong alive brilliant
+.5 -.3 safe fine better well light free secure
-.6 +.1 bad worse guilty ill sick stupid small rotten broken
-.6 -.5 low down blue dead heavy weak hollow flat alone trapped invisible unloved empty
"""

PHRASES = """
+.9 +.8 over the moon | on cloud nine | on top of the world | jumping for joy | best day ever
+.7 +.7 can't wait | cant wait | cannot wait | so pumped
+.6 +.4 looking forward | in high spirits | in love | made my day | warms my heart
+.6 -.5 at peace | felt at ease | feel at ease | peace of mind | weight off my shoulders | deep breath of relief
+.6 -.3 what a relief | big relief | huge relief | such a relief
-.8 +.8 pissed off | seeing red | lost my temper | blew up at | makes my blood boil | drives me mad
-.7 +.8 freaking out | freaked out | panic attack | scared to death | going crazy | driving me crazy | losing my mind
-.6 +.6 fed up | sick of | sick and tired | had it with | at my wit's end | nerves on edge
-.6 +.6 stressed out | worried sick
-.6 +.5 ticked off | gets on my nerves | creeped out | tired of | had enough of
-.6 -.1 let me down | let us down | feel let down | heart sank
-.7 +.3 in tears | burst into tears | broke my heart | breaks my heart
-.6 -.6 burned out | burnt out | worn out | down in the dumps | feeling blue | given up hope | gave up hope
"""

EMOJI = """
+.9 +.8 🤩 🥳 🎉 🎊
+.8 +.6 😀 😃 😄 😁 😆 😂 🤣 😍 🥰 😻
+.7 +.4 😊 🙂 ☺ 😋 😎 ❤ 💖 💕 💙 💚 💛 💜 😘 🤗
+.6 -.5 😌 🧘
-.9 +.8 🤬 😡 😱
-.7 +.7 😠 😤 😨 😰 👿
-.6 +.4 😖 😣 😫 😩 😬 😧 😟
-.7 -.1 😭 💔
-.7 -.4 😢 😞 😔 🙁 ☹ 😿 🥺
-.5 -.6 😴 🥱 😪
"""

# Look like a feeling and are not: technical terms, politeness, titles.
FALSE_FRIENDS = """
happy path | happy paths | happy eyeballs | happy flow | happy case | happy medium | happy hour | happy birthday
happy ending | happy new year | happy to help | happy to assist | happy to answer | happy to discuss | happy to review
happy to do | happy to provide | if you are happy | if you're happy | are you happy with | sad path | sad paths
sad flow | sad case | angry birds | would love to | i'd love to | we'd love to | love island | love letter
love seat | love triangle | with love | hate speech | hate crime | hate crimes | hate group | hate groups | fun fact
fun facts | for fun | great depression | tropical depression | economic depression | respiratory depression
st depression | depressed key | depressed button | depressed pedal | depressed market | depressed prices
depressed skull fracture | excited state | excited states | excited electron | excited electrons | excited atom
excited atoms | nervous system | nervous systems | nervous tissue | traumatic brain | traumatic injury | don't worry
dont worry | do not worry | no worries | not to worry | worry about it later | nothing to worry about
i'm afraid not | i'm afraid so | i'm afraid that | i'm afraid the | i'm afraid we | i'm afraid i | i'm afraid it
i am afraid that | i am afraid the | i am afraid we | i am afraid i | i am afraid it | i'm afraid there
amazing grace | pride parade | pride month | gay pride | pride and prejudice | lucky number | font awesome
awesome list | awesome lists | awesome wm | laugh track | laughing gas | laughing stock | guilt trip
cries for help | curious whether | curious if | curious how | curious about | fury road | inspired by
encouraged to | stuck in | stuck at | lost in | calm sea | calm seas | calm wind | calm winds
calm water | calm waters | restless leg | restless legs | hug of death | upset price
embarrassingly parallel | grief counselling | mad libs | shame on
smiley face | anxiety disorder | crying wolf | bad request
bad gateway | feel free | feel good movie | surprised to see that the | no surprise
"""

# What a borrowed lexicon takes for a feeling and a craft for a plain word.
PLAIN_WORDS = """
abort aborted abuse accept accepted accepts active admin aggressive aggressively agree agreed alert alerts argument
arguments arrest attack attacked attacker attacks attempt authority award bad base battle best better block blocked
blocks bloody bonus boost brilliant broke broken bug bugs burden cancel cancelled capable care catch challenge
challenging champion chance chances clean cleaner clear cleared clearly comfort commit committed common conflict
conflicts cool corrupt corrupted cost crash crashed crashes crime critical criticism cut damage damaged danger
dangerous dead deadline deadlock death defeat defect defense demand demands denied deny destroy destroyed destructive
die died difficult dirty disable disabled discard disconnected disturb divine doomed doubt dream drop dump ease easier
easily easy effective efficient emergency enable encourage energy engage error errors escape evil excellent exclude
excluded execute expired exploit exploits fail failed failing fails failure failures fair faith fake false fatal
fatality fault faults fight fine fire fired fit flaw flaws force forced forgive free freedom freeze fresh friendly
gain garbage gift good grace grand grant granted grave great greedy growth hack hacked handicap handy hang harm hell
help helper helpful helps hero hide honor hope hopes hoping huge hunt hurt ideal idle ignore ignored illegal important
impress impressive improve improved improvement inferior inhibit innocent innovation intact intelligence intelligent
interest interested interrupt interrupted invalid isolated jerk join joke jump kill killed killing kills kind kudos
lag lazy leak leaks legal lethal liability lie lies like liked likes limited live lock locked lose loss lost low loyal
luck lucky luxury magic master matter meaningful miss missed misses missing natural neat negative nice no noisy novel
numb odd ok okay opportunity optimal optimistic original orphan outstanding panic panicked panics passive pay peace
penalize penalty perfect pessimistic please poison poor popular positive premium pressure pretty prevent prison
privilege privileged privileges prize problem problems profit promise promises promote proper pros prospect protect
protected punish pure quit race rage ready rebel refuse reject rejected rejects reliable relief resolve resolved
respect respected responsible restrict reward rich risk risks rob robust romance safe safely safety satisfied
satisfies satisfy save saved scan score scream screw secure security sentence severe severity share shared sharp shock
shortage sick significant silent silly sin slave smart solid solution solve solved solves sorry spam special stall
starve static steal stop stopped straight strange strength stress strict strike strong strongly struggle stuck stupid
success successful successfully suffer sun sunny super support supported supports sure survive suspect suspended sweet
talent tank tension terminate terror thank thanks threat threats tops tough toxic tragedy trap trapped treasure treat
tricky trivial trouble true trust trusted ugly ultimate unable uncertain unclear unexpected unfair unfit unknown
unstable unsupported useful useless vague valid value victim violate violation violent virtue vital vulnerabilities
vulnerability vulnerable wait want war warfare warn warned warning warnings waste weak weakness wealth weird welcome
well win winner wise wish won worse worst worth worthy wounds wow wrong yeah yes zombie
"""


Shade = tuple[float, float]  # valence, arousal

AROUSAL_SHARE, VALENCE_SHARE = 0.7, 0.3  # what stirs is remembered better than what merely pleases
STRONGER, WEAKER = 1.3, 0.6
DENIED = -0.5  # «not happy» lies on the other side of happy, and less far out
EMPHASIS = 0.1  # of an exclamation mark, or of a word in capitals, on arousal
MOST_MARKS = 3
REACH = 4  # words that a denial reaches over: «I don't think it's sad»
LONGEST_WAY = 8  # words between «I feel» and what is felt
STEPS = 1000  # figures are rounded to a thousandth: more would only look exact

INTENSIFIERS = frozenset(
    "very really so extremely incredibly absolutely completely totally utterly deeply too super truly insanely terribly"
    " awfully unbelievably thoroughly immensely hugely damn fucking bloody beyond most".split()
)
DAMPERS = frozenset(
    "slightly somewhat bit little mildly rather fairly kinda sorta kind sort quite almost partly faintly".split()
)
DENIALS = NEGATION_WORDS - {"avoid"} | {"hardly", "barely", "scarcely", "fail", "fails", "failed"}
CLAUSE_ENDS = frozenset(", ; : . ! ? ( ) — – but and because when since while although though if".split())
PASSED_OVER = INTENSIFIERS | DAMPERS | DENIALS | frozenset("a an still just now already also again always of".split())
FEELING = frozenset("feel feels felt feeling".split())
LINKING = FEELING | frozenset(
    "am is are was were be been being get gets got getting become became becoming seem seems seemed look looks looked"
    " sound sounds sounded stay stayed remain remained".split()
)
CONTRACTED = frozenset("i'm im we're you're youre he's she's they're theyre everyone's".split())
MADE = frozenset("make makes made making leave leaves left leaving drive drives drove".split())
OBJECTS = frozenset("me us him her them you everyone".split())
PEOPLE = OBJECTS | frozenset(
    "i we he she they everybody somebody someone nobody people mom mum mother dad father parents sister brother son"
    " daughter wife husband partner friend friends grandma grandpa kids children colleague colleagues boss team crew"
    " customer customers client clients patient patients user users staff".split()
)
NAMES = frozenset(("Joy", "Merry"))
NO_NAMES = frozenset(("It", "This", "That", "What", "Which"))
CODE = re.compile(r"```.*?(?:```|\Z)|`[^`\n]*`", re.DOTALL)
EXCLAMATION = re.compile(r"(?<=[^\s!])!+(?![=\w(\[])")
COMPARATIVE = re.compile(r"\w{3,}er\Z")
JOINED = re.compile(r"[\w][^\w\s'][\w]|[\d_]")
LEXICONS = ("own", "vader")
VADER_MAXIMUM = 4.0
VADER_FLOOR = 0.5  # words with a weaker rating are ignored


@dataclass(frozen=True, slots=True)
class Emotion:
    """Both figures in -1..1; `words` are those that decided, in order."""

    valence: float
    arousal: float
    words: tuple[str, ...] = ()

    @property
    def quadrant(self) -> str:
        return quadrant(self.valence, self.arousal)

    @property
    def salience(self) -> float:
        return salience(self.valence, self.arousal)


def quadrant(valence: float, arousal: float) -> str:
    if valence == 0 and arousal == 0:
        return "neutral"
    if arousal >= 0:
        return "excited" if valence >= 0 else "frustrated"
    return "calm" if valence >= 0 else "depleted"


def salience(valence: float, arousal: float) -> float:
    """How much it stands out, in 0.5..1."""
    return AROUSAL_SHARE * (abs(arousal) + 1) / 2 + VALENCE_SHARE * (abs(valence) + 1) / 2


def detect_emotion(text: str, lexicon: str = "own") -> Emotion | None:
    """None when no word expresses a feeling.

    `vader` knows more words, those for their valence alone. Raises `ConfigError` when its package is not installed.
    """
    if lexicon not in LEXICONS:
        raise UnknownName("lexicon", lexicon, LEXICONS)
    further = vader() if lexicon == "vader" else {}
    tokens = cut(text)
    shades = [(tokens[place], shade) for place in range(len(tokens)) if (shade := shade_at(tokens, place, further))]
    if not shades:
        return None
    valence, arousal = middle([shade for _, shade in shades])
    exclamations = sum(len(match[0]) for match in EXCLAMATION.finditer(CODE.sub(" ", text)))
    arousal = clipped(arousal + EMPHASIS * min(MOST_MARKS, exclamations))
    return Emotion(rounded(valence), rounded(arousal), tuple(dict.fromkeys(token.lower() for token, _ in shades)))


def cut(text: str) -> list[str]:
    """Words, phrases and signs in order; code is left out, and so is what only looks like a feeling."""
    plain = CODE.sub(" ; ", text.replace("’", "'"))
    return [match[0] for match in token_pattern().finditer(plain) if match.lastgroup != "friend"]


@cache
def token_pattern() -> re.Pattern[str]:
    friends, phrases = one_of(divided(FALSE_FRIENDS)), one_of(phrase_shades())
    return re.compile(rf"\b(?P<friend>{friends})|\b(?P<phrase>{phrases})|(?P<word>{WORD.pattern})", re.IGNORECASE)


def one_of(phrases: Iterable[str]) -> str:
    """Sorted under their first words: most places in a text are passed by at once."""
    rests: dict[str, list[str]] = {}
    for phrase in sorted(phrases, key=len, reverse=True):
        first, *rest = phrase.split()
        rests.setdefault(first, []).append(r"\s+".join(map(re.escape, rest)))
    listed = (rf"{re.escape(first)}\s+(?:{'|'.join(many)})" for first, many in rests.items())
    return f"(?:{'|'.join(listed)})(?![\\w'])"


def shade_at(tokens: Sequence[str], place: int, further: Mapping[str, float]) -> Shade | None:
    shade = meant(tokens, place) or borrowed(tokens[place], further)
    if shade is None:
        return None
    before = clause_before(tokens, place)
    factor = strength(before, tokens[place])
    valence, arousal = shade
    loud = EMPHASIS if shouted(tokens[place]) or any(map(shouted, before[-1:])) else 0.0
    return clipped(valence * factor), clipped(arousal * factor + loud)


def meant(tokens: Sequence[str], place: int) -> Shade | None:
    token = tokens[place]
    if token in NAMES:
        return None
    return always_meant(token.lower()) or framed(tokens, place, token.lower())


@lru_cache(maxsize=65536)
def always_meant(token: str) -> Shade | None:
    word = " ".join(token.split())
    if JOINED.search(word):
        return None
    known = shades(FELT).get(word) or phrase_shades().get(word) or shades(EMOJI).get(word)
    return known or next((shade for start, shade in beginnings() if word.startswith(start)), None)


def framed(tokens: Sequence[str], place: int, word: str) -> Shade | None:
    """The shade of a word that is a feeling only where a person is said to have it."""
    for table, said in FRAMES:
        shade = shades(table).get(word)
        if shade is not None:
            return shade if said(tokens, place) else None
    return None


def of_a_person(tokens: Sequence[str], place: int) -> bool:
    at = link_before(tokens, place)
    if at < 0:
        return False
    link = tokens[at].lower()
    if link in CONTRACTED or (link in OBJECTS and at > 0 and tokens[at - 1].lower() in MADE):
        return True
    return link in LINKING and somebody(tokens, at)


def after_feel(tokens: Sequence[str], place: int) -> bool:
    at = link_before(tokens, place)
    return at >= 0 and tokens[at].lower() in FEELING and (tokens[at].lower() == "feeling" or somebody(tokens, at))


FRAMES: tuple[tuple[str, Callable[[Sequence[str], int], bool]], ...] = (
    (OF_A_PERSON, of_a_person),
    (AFTER_FEEL, after_feel),
)


def link_before(tokens: Sequence[str], place: int) -> int:
    """The place of the verb before the word, past «really», «not» and «tired and»; -1 without one."""
    at = place - 1
    while at >= max(0, place - LONGEST_WAY):
        word = tokens[at].lower()
        if word == "and":
            at -= 2
        elif bare(word) in PASSED_OVER:
            at -= 1
        else:
            return at
    return -1


def somebody(tokens: Sequence[str], link: int) -> bool:
    """Whether a person is the subject of the verb; with «feels», any name is a person."""
    before = clause_before(tokens, link)[-3:]
    if any(word.lower() in PEOPLE or word.lower() in CONTRACTED for word in before):
        return True
    return tokens[link].lower() in FEELING and any(word.istitle() and word not in NO_NAMES for word in before[-1:])


def clause_before(tokens: Sequence[str], place: int) -> list[str]:
    """As much of it as can matter."""
    start, first = place, max(0, place - REACH)
    while start > first and tokens[start - 1].lower() not in CLAUSE_ENDS:
        start -= 1
    return list(tokens[start:place])


def strength(before: Sequence[str], word: str) -> float:
    near = [bare(token.lower()) for token in before]
    denials = sum(word in DENIALS and after not in ("only", "just") for word, after in pairwise([*near, ""]))
    denied = denials % 2 == 1
    if denied and (COMPARATIVE.match(word.lower()) or "more" in near[-1:]):
        return STRONGER  # «never been happier»
    if denied:
        return DENIED
    if INTENSIFIERS & set(near[-2:]):
        return STRONGER
    return WEAKER if DAMPERS & set(near[-3:]) else 1.0


def bare(word: str) -> str:
    return word.replace("'", "")


def shouted(token: str) -> bool:
    return len(token) > 1 and token.isupper() and token.isalpha()


def middle(shades: Sequence[Shade]) -> Shade:
    """The mean, in which a strong word weighs more than a faint one."""
    weights = [math.hypot(*shade) for shade in shades]
    total = sum(weights) or 1.0
    valence = sum(weight * shade[0] for weight, shade in zip(weights, shades, strict=True))
    arousal = sum(weight * shade[1] for weight, shade in zip(weights, shades, strict=True))
    return valence / total, arousal / total


def clipped(value: float) -> float:
    return max(-1.0, min(1.0, value))


def rounded(value: float) -> float:
    return round(value * STEPS) / STEPS


@cache
def shades(table: str) -> Mapping[str, Shade]:
    lines = (line.split() for line in table.strip().splitlines())
    return {word: (float(v), float(a)) for v, a, *words in lines for word in words if not word.endswith("*")}


@cache
def beginnings() -> tuple[tuple[str, Shade], ...]:
    lines = (line.split() for line in FELT.strip().splitlines())
    return tuple((word[:-1], (float(v), float(a))) for v, a, *words in lines for word in words if word.endswith("*"))


@cache
def phrase_shades() -> Mapping[str, Shade]:
    lines = (line.split(maxsplit=2) for line in PHRASES.strip().splitlines())
    return {phrase: (float(v), float(a)) for v, a, phrases in lines for phrase in divided(phrases)}


def divided(phrases: str) -> list[str]:
    return [phrase.strip() for line in phrases.strip().splitlines() for phrase in line.split("|")]


def borrowed(token: str, further: Mapping[str, float]) -> Shade | None:
    valence = further.get(token.lower())
    return None if valence is None else (valence, 0.0)


@cache
def vader() -> Mapping[str, float]:
    try:
        from vaderSentiment.vaderSentiment import SentimentIntensityAnalyzer
    except ImportError as error:
        raise MissingExtra('The lexicon "vader"', "emotion", 'use the lexicon "own"') from error
    own = plain_words() | shades(OF_A_PERSON).keys() | shades(AFTER_FEEL).keys()
    rated: dict[str, float] = SentimentIntensityAnalyzer().lexicon
    scaled = {word: value / VADER_MAXIMUM for word, value in rated.items() if word.isalpha() and word not in own}
    return {word: clipped(value) for word, value in scaled.items() if abs(value) >= VADER_FLOOR}


@cache
def plain_words() -> frozenset[str]:
    return frozenset(PLAIN_WORDS.split())
