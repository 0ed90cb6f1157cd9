"""Marks text that tries to give orders to a model, also when it is hidden or disguised.

Rules know the common phrases. Where they are not sure, every part of a text gets a quick look at its words by a linear
model, which takes a fraction of a millisecond. What looks like an order (three ordinary notes in a hundred) is read by
the shipped cross-encoder; without it only the rules mark a text.
"""

from __future__ import annotations

import base64
import re
import unicodedata
from array import array
from collections import ChainMap, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache, lru_cache
from math import inf, prod, sqrt
from operator import itemgetter
from zlib import crc32

from nacre.files import data_sections
from nacre.models.cross_encoder import constants, graph
from nacre.models.shipped import shipped
from nacre.safety.token_rules import branches, lower

FLAG = re.compile("\U0001f3f4[\U000e0020-\U000e007e]{1,8}\U000e007f")  # Scotland's is spelled out in tags
TAGS = re.compile("[\U000e0000-\U000e007f]")
SELECTORS = re.compile("[\ufe00-\ufe0f\U000e0100-\U000e01ef]{4,}")  # one after a letter is a font's affair
TURNED = re.compile("[\u202a\u202b\u202d\u202e\u2066-\u2068]")
RIGHT_TO_LEFT = re.compile("[\u0590-\u08ff\ufb1d-\ufdff\ufe70-\ufefc]")
LETTERS = "A-Za-z\u00c0-\u024f\u0370-\u052f"  # Latin, Greek, Cyrillic: nothing invisible belongs between two of them
# Joiners belong to emoji, to Persian and to the Indic scripts, never between two of these.
UNJOINED = LETTERS + "\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af"
JOINERS = "\u200c\u200d"
# Zero-width, invisible operators, marks of direction, fillers of Hangul, and what no font shows.
UNSEEN = (
    "\u200b\u2060-\u2065\ufeff\u180b-\u180f\u034f\u115f\u1160\u3164\uffa0\u17b4\u17b5"
    "\u200e\u200f\u061c\u202a-\u202e\u2066-\u206f\ufff9-\ufffb\U000e0080-\U000e0fff\ufe00-\ufe0f"
)
INSIDE_WORDS = re.compile(f"(?<=[{LETTERS}])[{UNSEEN}{JOINERS}]+(?=[{LETTERS}])")
NEVER_INSIDE = re.compile(f"(?<=[{LETTERS}])[\u115f\u1160\u3164\uffa0\u2061-\u2064]+(?=[{LETTERS}])")  # not even one
# Some web pages and models leave a few between words; a text that is hidden in them takes eight for a letter.
HIDDEN_ROW = re.compile("[\u200b-\u200d\u2060-\u2064\ufeff\u180e\u115f\u1160\u3164\uffa0\u200e\u200f]{8}")
INVISIBLE = f"[{UNSEEN}\u00ad]|(?<=[{UNJOINED}])[{JOINERS}]+(?=[{UNJOINED}])"


def hidden_signs(text: str) -> Iterator[tuple[str, float]]:
    if text.isascii():
        return
    if TAGS.search(FLAG.sub("", text)):
        yield "holds invisible tag characters", 0.9
    if SELECTORS.search(text):
        yield "holds rows of variation selectors", 0.8
    if TURNED.search(text) and not RIGHT_TO_LEFT.search(text):
        yield "turns the direction of the text", 0.5
    if HIDDEN_ROW.search(text) or NEVER_INSIDE.search(text) or len(INSIDE_WORDS.findall(text)) > 1:
        yield "holds zero-width characters", 0.5


def visible_text(text: str) -> str:
    """What a model reads: tag characters as the letters they stand for, zero-width ones left out."""
    if text.isascii():
        return text
    spelled = TAGS.sub(lambda match: chr(ord(match[0]) - 0xE0000), FLAG.sub("", text))
    return compiled(INVISIBLE).sub("", spelled)


# Letters of other scripts that look like Latin ones; replaced only in words that also hold Latin letters.
LOOKALIKES = str.maketrans(
    "аеорсухіјѕԁһӏԛԝвкмнтгпАЕОРСУХІЈЅВКМНТ" + "αοερτυνικχβμηωγΑΒΕΖΗΙΚΜΝΟΡΤΥΧ" + "ıɡɑℓ",
    "aeopcyxijsdhlqwbkmhtrnAEOPCYXIJSBKMHT" + "aoeptuvikxbunwyABEZHIKMNOPTYX" + "igal",
)
SQUARED = {0x1F150 + at: 65 + at for at in range(26)} | {0x1F170 + at: 65 + at for at in range(26)}
MIXED_WORD = re.compile(r"\b(?=\w{0,40}[A-Za-z])(?=\w{0,40}[Ѐ-ӿԀ-ԯͰ-Ͽıɡɑℓ])\w{1,60}")
MARKS = re.compile("(?<=[A-Za-z])[\u0300-\u036f\u0489\u20d0-\u20f0]+")
SPACED_OUT = re.compile(r"(?<!\w)(?:\w[ .*_-]){5,60}\w(?!\w)")  # i g n o r e, i.g.n.o.r.e
SOME_SPACED_OUT = re.compile(r"[ .*_-]\w[ .*_-]\w[ .*_-]\w[ .*_-]")  # is in all of these, and quickly looked for
RESTS = re.compile(r"[ .*_-]")
BLANKS = re.compile(r"[ \t\xa0]+")
LEET = str.maketrans("0134578@$", "oieastbas")
LEET_INSIDE = re.compile(r"[0134578@$](?:(?=[a-z])|(?<=[a-z].))")
LEET_WORD = re.compile(r"\b(?=[a-z]{0,20}[0134578@$])(?=[0134578@$]{0,8}[a-z])[a-z0134578@$]{3,24}")


def fold_text(text: str) -> str:
    """Without characters that mean nothing to a reader; line ends stay."""
    seen = visible_text(text)
    if not seen.isascii():
        seen = unicodedata.normalize("NFKC", seen.translate(SQUARED)).replace("’", "'")
        seen = MARKS.sub("", unicodedata.normalize("NFC", MARKS.sub("", seen)))
        seen = MIXED_WORD.sub(lambda match: match[0].translate(LOOKALIKES), seen)
    if SOME_SPACED_OUT.search(seen):
        seen = SPACED_OUT.sub(lambda match: RESTS.sub("", match[0]), seen)
    if "  " in seen or "\t" in seen or "\xa0" in seen:
        seen = BLANKS.sub(" ", seen)
    return seen


def undo_leet(lowered: str) -> str:
    """1gn0re as ignore; for words that are hidden so on purpose."""
    if LEET_INSIDE.search(lowered) is None:
        return lowered
    return LEET_WORD.sub(lambda match: match[0].translate(LEET), lowered)


READS_LIKE_ORDERS, READ_WEIGHT = "reads like orders to a model", 0.7
SUSPICIOUS_SCORE = 0.5  # from this score on a text should be shown to a person before it is trusted
BLOB = re.compile(r"(?<![\w+/])[A-Za-z0-9+/_-]{32,8192}+(?:\r?\n[A-Za-z0-9+/_-]{4,200}+)*+={0,2}")
BREAKS = re.compile(r"\s+")
URL_SAFE = str.maketrans("-_", "+/")
LEGIBLE = 0.9  # of the bytes; of random ones hardly half are
CONTROLS = dict.fromkeys([*range(9), *range(14, 32), 127])
SHORTEST_BLOB = 32  # characters
BLOBS = 20  # of a text that are looked into
BEHIND, AHEAD = 16, 400  # characters around an anchor that decide whether there is a sign
JOINED = re.compile(r"[\"'] ?\+ ?[\"']")  # "ignore" + " all": words put together by a program


@dataclass(frozen=True, slots=True)
class Suspicion:
    """`score` in 0..1, nothing to certain; each reason names a sign once."""

    score: float = 0.0
    reasons: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Sign:
    """`pattern` is tried, in lower case and with single blanks, at each of the `anchors`, and begins there."""

    reason: str
    weight: float
    anchors: tuple[str, ...]
    pattern: str


def read_signs() -> Iterator[Sign]:
    for heading, (anchors, *patterns) in data_sections("safety/injection_rules.txt"):
        weight, _, reason = heading.partition(" ")
        yield Sign(reason, float(weight), tuple(anchors.split("|")), "|".join(f"(?:{each})" for each in patterns))


SIGNS = tuple(read_signs())
Row = tuple[int, Sign]


@dataclass(frozen=True, slots=True)
class Anchors:
    """`pattern` finds an anchor after a character that is no letter: a search for such a character is quick. `flat`
    says that no anchor holds what `one_line` changes."""

    pattern: re.Pattern[str]
    signs: Mapping[str, tuple[Row, ...]]
    flat: bool

    def places(self, lowered: str) -> Iterator[tuple[int, str]]:
        """Wherever a word or a sign begins with an anchor: the place, and the longest of the anchors."""
        for match in self.pattern.finditer(f" {lowered}"):  # the blank is for one at the beginning
            yield match.end() - 1, match[1]


@cache
def anchors() -> Anchors:
    """One pattern for all anchors, and for each the signs that it begins."""
    signs: dict[str, dict[int, Sign]] = defaultdict(dict)
    for number, each in enumerate(SIGNS):
        for anchor in each.anchors:
            signs[anchor][number] = each
    words = sorted(signs)
    table = {}
    for word in words:
        begun = ChainMap(*(signs[word[:end]] for end in range(1, len(word) + 1) if word[:end] in signs))
        table[word] = tuple(sorted(begun.items()))
    tree, flat = branches(words), all(one_line(word).lstrip() == word for word in words)
    return Anchors(re.compile(rf"[^a-z](?=({tree}))"), table, flat)


@cache
def compiled(pattern: str) -> re.Pattern[str]:
    """Compiled on first use: most texts need none of these, and to compile all takes 40 ms."""
    return re.compile(pattern)


def suspicion(text: str, bulk: BulkReading | None = None, *, rules_alone: bool = False) -> Suspicion:
    """Looks also behind invisible characters, look-alike letters, letters set apart, and base64; a rule for work is no
    suspicion. A model reads what looks like orders: it notices what no rule knows, and clears what only quotes one.
    `bulk` is that of many texts together."""
    readable = fold_text(text)
    signs = order_signs(readable)
    by_rules = together(signs) >= SUSPICIOUS_SCORE
    read = None if rules_alone else order_score(readable, bulk or BulkReading(), marked=by_rules)
    if read is not None:
        fitted = constants("orders")
        if by_rules and read < fitted["harmless"] and only_quoted(readable):
            signs = {}
        elif not by_rules and read > fitted["orders"]:
            signs[READS_LIKE_ORDERS] = READ_WEIGHT
    weights = {**dict(hidden_signs(text)), **signs, **dict(encoded_signs(readable))}
    return Suspicion(together(weights), tuple(weights))


def only_quoted(readable: str) -> bool:
    """Whether the rules mark what stands between quotation marks and nothing else, within enough words of one's own
    that do not ask for it."""
    quotations: list[str] = []

    def left_out(match: re.Match[str]) -> str:
        quotations.append(match[0][1:-1])
        return " "

    own = compiled(MENTIONED).sub(left_out, compiled(QUOTED).sub(left_out, readable))
    if count_words(own, WORD.findall(own)) < WORDS_AROUND or compiled(ASKED_FOR).search(lower(own)) or marks(own):
        return False
    return any(map(marks, quotations))


def marks(readable: str) -> bool:
    return together(order_signs(readable)) >= SUSPICIOUS_SCORE


def together(weights: Mapping[str, float]) -> float:
    return round(1 - prod(1 - weight for weight in weights.values()), 3)


def order_signs(readable: str) -> dict[str, float]:
    """The signs in the text line by line, as one line, and with digits read as letters; each reason at its most."""
    lowered = lower(readable)
    flat = one_line(lowered)
    letters = undo_leet(flat)
    places = list(anchors().places(flat))
    variants: list[tuple[str, Iterable[tuple[int, str]]]] = [(flat, places)]
    if lowered[:1] == "\n" and lowered[1:] == flat[1:]:  # a text without a title: most are
        variants.insert(0, (lowered, [each for each in places if each[0] <= BEHIND]))
    elif lowered != flat and (places or "+" in flat or not anchors().flat):
        # Without a place in `flat` there is none: anchors between other blanks would be there, too.
        variants.insert(0, (lowered, anchors().places(lowered)))
    if letters not in (flat, lowered):
        variants.append((letters, anchors().places(letters)))
    return strongest(each for variant, at in variants for each in signs_in(variant, at))


def one_line(lowered: str) -> str:
    """With single blanks, also instead of underscores."""
    words = lowered.replace("_", " ")
    flat = " ".join(words.split())
    if words[:1].isspace():
        flat = f" {flat}"
    if words[-1:].isspace() and flat != " ":
        flat = f"{flat} "
    return JOINED.sub("", flat) if "+" in flat else flat


def strongest(signs: Iterable[Sign]) -> dict[str, float]:
    """The weight of each reason."""
    weights: dict[str, float] = {}
    for each in signs:
        weights[each.reason] = max(each.weight, weights.get(each.reason, 0.0))
    return weights


def signs_in(lowered: str, places: Iterable[tuple[int, str]] | None = None) -> Iterator[Sign]:
    """Each sign once; `places` are those of the anchors. Equal surroundings are tried once, which bounds the cost of a
    text made of anchors."""
    done: set[int] = set()
    tried: set[str] = set()
    for at, anchor in anchors().places(lowered) if places is None else places:
        if at >= BEHIND:  # near the beginning, two places may see the same characters
            around = lowered[at - BEHIND : at + AHEAD]
            if around in tried:
                continue
            tried.add(around)
        for number, each in anchors().signs[anchor]:
            if number not in done and compiled(each.pattern).match(lowered, at, at + AHEAD):
                done.add(number)
                yield each


def encoded_signs(text: str) -> Iterator[tuple[str, float]]:
    if max(map(len, text.split()), default=0) < SHORTEST_BLOB:
        return
    for number, blob in enumerate(BLOB.finditer(text)):
        if number >= BLOBS:
            return
        for inside in decoded(BREAKS.sub("", blob[0])):
            if any(each.weight >= SUSPICIOUS_SCORE for each in signs_in(one_line(lower(inside)))):
                yield "hides orders in base64", 0.9
                return


def decoded(blob: str) -> Iterator[str]:
    """What the base64 says that begins at its first, second, third or fourth character, where that is text."""
    plain = blob.rstrip("=").translate(URL_SAFE)
    for start in range(4):
        raw = base64.b64decode(plain[start : start + (len(plain) - start) // 4 * 4])
        text = raw.decode("utf-8", "ignore")
        if len(text.translate(CONTROLS).encode()) >= LEGIBLE * len(raw):
            yield text


# Orders in words that no rule knows

WORDS = "order_words.bin"
BUCKETS = 1 << 15  # for the digests of words and of pairs of words
LAST_BUCKET = BUCKETS - 1  # also the bits of a digest that name its bucket
SCALE = 1 / 32  # of a stored weight
BIAS = -2.5
WORD = re.compile(r"\w+")  # no punctuation: attacks in JSON or Markdown would make all JSON suspicious
CJK = r"[\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af]"
STEM = 5  # letters that words of one family share, in most languages
PART, PART_OF_CJK = 700, 240  # characters that the cross-encoder can read at once
OVERLAP = 100  # characters: an order on a border is whole in one of two parts
MOST_READ = 3  # parts of one text, those that look most like orders: a long text must not take seconds
MORE_READ = 6  # further parts that look like orders, where the first were harmless
LETTER = r"[^\W\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af]"  # or digit; CJK is written without blanks
# No inch marks, apostrophes or backticks (commands stand between those), nor what is left between two quotations.
QUOTED = (
    rf"(?<!{LETTER})(?<![.!?\"'])(?:\"(?=\S)[^\"\n]{{1,300}}(?<=\S)\"|“(?=\S)[^“”„\n]{{1,300}}(?<=\S)”|"
    rf"„(?=\S)[^“”„\n]{{1,300}}(?<=\S)[“”]|«[^«»\n]{{1,300}}»|「[^「」\n]{{1,300}}」|『[^『』\n]{{1,300}}』)(?!{LETTER})"
)
# Between apostrophes or backticks only what is called a phrase, and is no more than that.
MENTIONED = (
    r"(?i)(?:(?<=like )|(?<=such as )|(?<=does )|(?<=phrase )|(?<=phrases )|(?<=string )|(?<=strings )|(?<=sentence )|"
    r"(?<=line )|(?<=lines )|(?<=words )|(?<=text )|(?<=message )|(?<=payload )|(?<=question )|(?<=request )|"
    r"(?<=prompt )|(?<=input )|(?<=called )|(?<=says )|(?<=wrote )|(?<=reads )|(?<=contains )|(?<=flags )|(?<=why ))"
    rf"(?:'(?=\S)[^'.!?\n]{{1,120}}(?<=\S)\??'|`[^`.!?\n]{{1,120}}\??`)(?!{LETTER})"
)
# Words about a quotation as something to do, in the languages of the rules. A note that holds one is not cleared.
ASKED_FOR = (
    r"(?<!not )(?<!never )(?<!n't )"
    r"\b(?:do (?:as|exactly|it|so|that|the|this|what\w*)|(?:to|must|now|shall|should|will) do|follow(?:s|ed)?|obey\w*|"
    r"execut\w+|appl(?:y|ies)|carr(?:y|ied) (?:\w+ )?out|perform|comply|heed|act on|next step|valid|"
    r"for (?:you|(?:all|any|each|every|the|this) (?:agent|assistant|bot|model|reader)s?)|"
    r"macht?|befolg\w*|folge|ausführ\w*|führ\w* .{0,20}\baus|gilt|faites|fais|suivez|suivre|exécut\w+|obéi\w*|"
    r"appliqu\w+|haz|hagan?|sigue|siga|obede\w+|ejecut\w+|aplica\w*|esegui\w*|segui(?:re|te)?|obbedi\w*|fai|faça|"
    r"doe|volg|voer|gehoorza\w+|zrób|wykona\w*|stosuj\w*|uygula\w*|yap|yerine getir\w*)\b|"
    r"(?<!не )выполн|сделай|следуй|исполн|执行|執行|照做|遵守|遵循|実行|従って|従い|従え|"
    r"실행|따르|따라|수행|نفذ|اتبع|طبق|पालन कर|अमल"
)
WORDS_AROUND = 6  # a quotation, by which a note tells of an order
# In bulk. A step halves what is read of ordinary notes; with the last one, of a thousand notes one is read, and 4 of 10
# orders.
READ_BEFORE_STRICTER, STRICTER, STRICTER_AT_MOST = 16, 0.2, 1.0
NO_WORDS, RESERVED, NAMES_MODEL, NAMES_WORK = (
    re.compile("|".join(lines)) for _, lines in data_sections("safety/order_words.txt")
)
# One of these is in whatever these patterns match. Most texts have none, and to look for them is quick.
IN_NO_WORDS, DOT_INSIDE = ("/", "@", "`", "www."), re.compile(r"\.[a-z]")
IN_RESERVED = ("example", ".test", ".invalid")
FEWEST_WORDS = 6  # of an order that is not a known phrase
LONGEST_CACHED = 64  # characters
Word = tuple[bytes, int, int, int]


def word_features(word: str) -> Word:
    """The word in bytes; its bucket, and that of its beginning; and the digest of any pair that it begins, up to where
    the other word follows."""
    beginning = f"p{word[:STEM]}" if len(word) >= STEM else f"w{word}"
    return encoded(word), bucket(f"w{word}"), bucket(beginning), crc32(encoded(f"b{word} "))


known_word_features = lru_cache(maxsize=32768)(word_features)  # words repeat


def encoded(name: str) -> bytes:
    return name.encode("utf-8", "surrogatepass")


def bucket(name: str) -> int:
    return crc32(encoded(name)) % BUCKETS


def features(lowered: str, words: Sequence[str] | None = None) -> set[int]:
    """Buckets of its words, their beginnings and pairs of neighbours; of CJK characters, two and three in a row."""
    words = WORD.findall(lowered) if words is None else words
    if not words:
        return set()
    short = max(map(len, words)) <= LONGEST_CACHED
    in_bytes, alone, beginnings, pairs = zip(*map(known_word_features if short else word_features, words), strict=True)
    buckets = {*alone, *beginnings}
    buckets.update(map(LAST_BUCKET.__and__, map(crc32, in_bytes[1:], pairs)))
    if not lowered.isascii() and compiled(CJK).search(lowered):
        buckets.update(
            bucket(f"c{lowered[at : at + size]}") for size in (2, 3) for at in range(len(lowered) - size + 1)
        )
    return buckets


@cache
def word_weights() -> list[int]:
    return array("b", shipped(WORDS).read_bytes()).tolist()


def quick_look(part: str) -> float:
    """Higher the more the words are those of orders; `BIAS` where there are too few of them."""
    lowered = words_of(part)
    words = WORD.findall(lowered)
    if count_words(lowered, words) < FEWEST_WORDS:
        return BIAS
    weights, buckets = word_weights(), features(lowered, words)
    return BIAS + SCALE * sum(map(weights.__getitem__, buckets)) / sqrt(len(buckets) or 1)


def count_words(text: str, words: Sequence[str]) -> int:
    """Most words in CJK, where nothing is between them, have two characters."""
    return len(words) if text.isascii() else len(words) + len(compiled(CJK).findall(text)) // 2


def words_of(part: str) -> str:
    lowered = part.lower()
    if not any(sign in lowered for sign in IN_NO_WORDS) and DOT_INSIDE.search(lowered) is None:
        return lowered
    return NO_WORDS.sub(" ", lowered)


def parts(text: str) -> Iterator[str]:
    """Each can be read at once."""
    reserved = any(name in text for name in IN_RESERVED)
    plain = RESERVED.sub(lambda name: ".com" if name[0][0] == "." else "site.com", text) if reserved else text
    size = PART if plain.isascii() or compiled(CJK).search(plain) is None else PART_OF_CJK
    for start in range(0, max(1, len(plain) - OVERLAP), size - OVERLAP):
        yield plain[start : start + size]


@dataclass(slots=True)
class BulkReading:
    """What the model has read of an import or a batch. Reading takes a hundred times as long as everything else: the
    more was read, the more must a text look like orders to be read too."""

    parts: int = 0

    @property
    def stricter(self) -> float:
        return min(STRICTER_AT_MOST, STRICTER * (self.parts // READ_BEFORE_STRICTER))


def order_scores(text: str, looks_like: float, fitted: Mapping[str, float]) -> list[float]:
    """How much each part that is worth reading reads like orders; none where the quick look sees none. A long text is
    read on where the first parts are harmless: they may be there to be read instead of others.

    Raises `ValueError`, `ImportError` and what onnxruntime raises when the model cannot be run.
    """
    looks = sorted({part: quick_look(part) for part in parts(text)}.items(), key=itemgetter(1), reverse=True)
    worth = [(part, look) for part, look in looks[: MOST_READ + MORE_READ] if look > looks_like]
    scores: list[float] = []
    for some in (worth[:MOST_READ], worth[MOST_READ:]):
        if some and max(scores, default=-inf) <= fitted["orders"]:
            model = graph()
            read = model.scores([model.single(part) for part, _ in some], "orders")
            scores += [
                fitted["by_words"] * look + float(score[0]) + addressed(part, fitted)
                for (part, look), (score,) in zip(some, read, strict=True)
            ]
    return scores


def addressed(part: str, fitted: Mapping[str, float]) -> float:
    """More where the words name a model or what it does: most orders to a model do, few requests to a person."""
    if NAMES_MODEL.search(part):
        return fitted["names_model"]
    return fitted["names_work"] if NAMES_WORK.search(part) else 0.0


def order_score(text: str, bulk: BulkReading, *, marked: bool) -> float | None:
    """How much the model finds the text to give orders. None where it is not read: it does not look like one and no
    rule has `marked` it, or a rule has and it is too long to be read completely. None also where the model is not
    there: the rules stand alone then, and `nacre doctor` says why."""
    if marked and sum(1 for _ in parts(text)) > MOST_READ:
        return None
    try:
        fitted = constants("orders")
        looks_like = -inf if marked else fitted["looks_like"] + bulk.stricter
        scores = order_scores(text, looks_like, fitted)
    except Exception:  # noqa: BLE001 - onnxruntime's errors have no other root
        return None
    bulk.parts += len(scores)
    return max(scores, default=None)
