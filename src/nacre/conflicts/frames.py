"""Lays two statements beside each other: what they share, what each has alone, and what one denies of the other."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from itertools import pairwise, takewhile

from nacre.conflicts.opposites import opposed, opposed_words
from nacre.conflicts.quantities import Value
from nacre.conflicts.statements import Statement, Word
from nacre.text.grammar import LIKE_A_PAST, base, exclusive_words, graded, limits, multiple_words, verb_words

NOUN_ENDINGS = ("ings", "tion", "tions", "ment", "ments")


@dataclass(frozen=True, slots=True)
class Frame:
    a: Statement
    b: Statement
    shared: frozenset[str]
    only_a: tuple[Word, ...]
    only_b: tuple[Word, ...]
    coverage: float  # the share of the poorer text's words that the other has too
    values: tuple[tuple[Value, Value], ...]  # comparable ones, of which each text has one that the other lacks


def frame(a: Statement, b: Statement) -> Frame:
    shared = a.keys & b.keys
    return Frame(
        a,
        b,
        shared,
        only_a=tuple(word for word in a.words if word.key not in shared),
        only_b=tuple(word for word in b.words if word.key not in shared),
        coverage=len(shared) / max(1, min(len(a.keys), len(b.keys))),
        values=different_values(a.values, b.values),
    )


def different_values(a: tuple[Value, ...], b: tuple[Value, ...]) -> tuple[tuple[Value, Value], ...]:
    if not a or not b:
        return ()
    mine = [value for value in a if not has(b, value)]
    theirs = [value for value in b if not has(a, value)]
    return tuple((one, other) for one in mine for other in theirs if one.comparable(other))


def has(values: tuple[Value, ...], wanted: Value) -> bool:
    return any(value.comparable(wanted) and value.same(wanted) for value in values)


def nouns(words: tuple[Word, ...]) -> list[Word]:
    """All that is no verb; two texts may well say one thing with different verbs."""
    return [word for word in words if word.key not in verb_words() or word.text.lower().endswith(NOUN_ENDINGS)]


def turned(f: Frame) -> list[tuple[Word, Word]]:
    """The shared words that one text affirms and the other denies, in the order of the newer."""
    pairs = ((mine, f.b.by_key[mine.key]) for mine in f.a.by_key.values() if mine.key in f.shared)
    return sorted(
        ((mine, theirs) for mine, theirs in pairs if mine.sign != theirs.sign), key=lambda pair: pair[0].place
    )


def evenly_denied(f: Frame) -> bool:
    """Whether both texts deny, equally often, and not each what the other affirms («tabs, not spaces» and back)."""
    mine, theirs = len(f.a.negators), len(f.b.negators)
    both_ways = {word.sign for word, _ in turned(f)} == {1, -1}
    return bool(mine and theirs) and (mine - theirs) % 2 == 0 and not both_ways


def denied_in_both(f: Frame) -> bool:
    return any(f.a.by_key[key].sign == f.b.by_key[key].sign == -1 for key in f.shared)


def denied_otherwise(f: Frame) -> bool:
    """Whether what one text denies may be denied by other means in the other: «not longer than» is «at most»."""
    denying, affirming = (f.a, f.b) if len(f.a.negators) > len(f.b.negators) else (f.b, f.a)
    apart = f.a.compensating ^ f.b.compensating
    return bool(apart & affirming.compensating or apart & denying.compensating & limits())


def opposites(f: Frame) -> list[tuple[Word, Word]]:
    """The words of one that exclude words of the other."""
    excluding = [word for word in f.only_a if word.key in opposed_words()]  # most words exclude none
    content = [(mine, theirs) for mine in excluding for theirs in f.only_b if opposed(mine.key, theirs.key)]
    # «before» and «after» exclude each other only before one and the same thing.
    related = [
        (mine, theirs)
        for mine in f.a.relations
        for theirs in f.b.relations
        if mine.ahead == theirs.ahead and opposed(mine.key, theirs.key)
    ]
    return content + related


def bounded(f: Frame) -> bool:
    """«open until eight» is «closes at eight»."""
    return bool((f.a.compensating ^ f.b.compensating) & {"until", "till"})


Words = tuple[Word, ...]
COPULA = frozenset(("is", "are", "was", "were", "am", "be"))
SHORTEST_FRAME = 2  # words around a slot; fewer say nothing
SMALL_DIFFERENCE = 2  # words
WIDEST_SLOT = 4  # words that can be put in the place of others as one value: «the United Arab Emirates»
FURTHEST_APART = 2  # places; the words of one phrase have at most a small word between them
MOST_BESIDE_NAMES = 1  # words that the sparser text may have alone, besides the names that differ


def slot(f: Frame) -> tuple[str, str] | None:
    """What stands in the one place where two texts that are else alike, word for word, differ.

    None where values add up («speaks»), and where the place is the subject or the verb.
    """
    return difference(f, f.a.all_words, f.b.all_words) or difference(f, f.a.sequence, f.b.sequence)


def difference(f: Frame, a: Words, b: Words) -> tuple[str, str] | None:
    mine, theirs = unlike(a, b)
    framed = len(a) - len(mine) >= SHORTEST_FRAME and bool(f.shared)
    if not framed or not one_phrase(mine) or not one_phrase(theirs) or not is_value(f, mine + theirs):
        return None
    return " ".join(word.text for word in mine), " ".join(word.text for word in theirs)


def unlike(a: Words, b: Words) -> tuple[Words, Words]:
    """What is left of each when the words that both begin with, and those that both end with, are taken off."""
    head = agreeing(a, b)
    rest_a, rest_b = a[head:], b[head:]
    tail = agreeing(rest_a[::-1], rest_b[::-1])
    return rest_a[: len(rest_a) - tail], rest_b[: len(rest_b) - tail]


def agreeing(a: Words, b: Words) -> int:
    return sum(1 for _ in takewhile(lambda pair: pair[0].key == pair[1].key, zip(a, b, strict=False)))


def one_place(f: Frame) -> bool:
    """Whether the texts are alike word for word but for a word or two."""
    mine, theirs = unlike(f.a.all_words, f.b.all_words)
    return bool(f.shared) and 0 < max(len(mine), len(theirs)) <= SMALL_DIFFERENCE


def one_phrase(words: Words) -> bool:
    together = all(second.place - first.place <= FURTHEST_APART for first, second in pairwise(words))
    return 0 < len(words) <= WIDEST_SLOT and together and not any(word.key.startswith("=") for word in words)


def is_value(f: Frame, words: Words) -> bool:
    keys = {word.key for word in words}
    elsewhere = f.a.subject | f.b.subject | verb_words()
    return keys <= f.a.keys | f.b.keys and not keys & elsewhere and not adds_up(f)


def adds_up(f: Frame) -> bool:
    """Whether a second value joins the first: who speaks French may speak German."""
    return bool(({f.a.verb, f.b.verb} | f.shared) & multiple_words())


def describes(f: Frame, slots: tuple[str, str]) -> bool:
    """Whether the differing words are qualities that can all be true of one thing: «is tall», «is kind»."""
    named = any(word[:1].isupper() or word[:1].isdigit() for text in slots for word in text.split())
    attribute = f.a.subject & f.b.subject & exclusive_words()
    return bool({f.a.verb, f.b.verb} & COPULA) and not named and not attribute


def parallel(f: Frame, *left_out: str) -> bool:
    """Whether, but for some words, one thing is said of two: «loves early flights», «hates early meetings»."""
    a = tuple(word for word in f.a.sequence if word.key not in left_out)
    b = tuple(word for word in f.b.sequence if word.key not in left_out)
    mine, theirs = unlike(a, b)
    reordered = any(word.key in f.shared for word in mine + theirs)
    return one_phrase(mine) and one_phrase(theirs) and bool(nouns(mine) and nouns(theirs)) and not reordered


def renamed(f: Frame) -> tuple[str, str] | None:
    """The names that stand in one text each, where nearly all else is said in both."""
    mine = [word for word in f.only_a if word.name]
    theirs = [word for word in f.only_b if word.name]
    others = min(len(f.only_a) - len(mine), len(f.only_b) - len(theirs))
    if not mine or not theirs or len(f.shared) < SHORTEST_FRAME or others > MOST_BESIDE_NAMES or adds_up(f):
        return None
    return " ".join(word.text for word in mine), " ".join(word.text for word in theirs)


# What stands before one of them and what stands after it cannot change places.
DIVIDERS = frozenset(map(base, ("than", "over", "instead", "before")))
PREFERRING = frozenset(map(base, ("prefer", "use", "choose", "visit", "run", "read", "pick")))
# With these either may be named first.
MUTUAL = frozenset(map(base, "marry wed meet divorce date fight agree split argue share".split()))
VERBS_WITHOUT_ROLES = frozenset("is are was were am be been has have had : do does did".split())


def swapped(f: Frame) -> tuple[str, str] | None:
    """What stands on the other side of «than» or «over»: «faster in air than in water», «in water … than in air»."""
    mine, theirs = around_divider(f.a), around_divider(f.b)
    here, there = mine[0] & theirs[1] - theirs[0], mine[1] & theirs[0] - theirs[1]
    if not here or not there:
        return None
    return f.a.by_key[min(here)].text, f.a.by_key[min(there)].text


def compared_alike(f: Frame) -> bool:
    """Whether both compare by one word, «faster» and «quicker», or both put one thing before the other."""
    words = ((f.a.by_key[key].text.lower(), f.b.by_key[key].text.lower()) for key in f.shared)
    same_measure = any(mine in graded() and theirs in graded() for mine, theirs in words)
    return same_measure or (divider(f.a) == divider(f.b) != "than" and bool(f.shared & PREFERRING))


def divider(side: Statement) -> str:
    return next((word.key for word in side.all_words if word.key in DIVIDERS), "")


def around_divider(side: Statement) -> tuple[frozenset[str], frozenset[str]]:
    """The content words before «than» or its like, and those after it."""
    words = [word.key for word in side.all_words]
    if not (word := divider(side)):
        return frozenset(), frozenset()
    place = words.index(word)
    return side.keys & frozenset(words[:place]), side.keys & frozenset(words[place:])


def exchanged(f: Frame) -> tuple[str, str] | None:
    """Who does a thing in one text has it done to him in the other: «Ann reports to Bo», «Bo reports to Ann»."""
    a, b = f.a, f.b
    if (
        a.verb != b.verb
        or a.verb in VERBS_WITHOUT_ROLES | MUTUAL
        or "by" in {word.key for word in (*a.all_words, *b.all_words)}
    ):
        return None
    mine, theirs = doer(a), doer(b)
    if not mine or not theirs or mine == theirs or mine in b.subject or theirs in a.subject:
        return None
    return (a.by_key[mine].text, b.by_key[theirs].text) if mine in b.keys and theirs in a.keys else None


def doer(side: Statement) -> str:
    """The last word of the subject; in «In March Matteo lent» it is Matteo."""
    return next((word.key for word in reversed(side.words) if word.place < side.verb_place), "")


# Beside a name they make it another's: «Anna's sister».
RELATIVES = (
    "mother father parent sister brother sibling daughter son child children wife husband partner boyfriend"
    " girlfriend fiance fiancee aunt uncle cousin niece nephew grandmother grandfather grandson granddaughter"
    " twin neighbour neighbor friend colleague boss assistant roommate flatmate landlord teacher doctor".split()
)

# What they lead to is the subject, wherever it stands.
LEADING = frozenset(map(base, ("of", "when", "about", "if")))
CHOOSING = "use prefer choose pick take wear drive read watch play eat drink call name hire marry sit sleep".split()


@cache
def choosing() -> frozenset[str]:
    return frozenset(map(base, CHOOSING))


@cache
def relatives() -> frozenset[str]:
    return frozenset(map(base, RELATIVES))


def strangers(f: Frame) -> bool:
    """Whether neither text so much as mentions what the other speaks of."""
    a, b = f.a, f.b
    return bool(a.subject and b.subject) and not a.subject & b.keys and not b.subject & a.keys


def other_topics(f: Frame) -> bool:
    """«Move the login page to Oslo» and «move the audit log to Oslo»; but of «use the lift» and «use the stairs» one
    is chosen."""
    a, b = f.a, f.b
    leads = a.leading == b.leading and (a.leading in verb_words() - choosing() or a.leading in LEADING)
    return leads and bool(a.topic and b.topic) and not a.topic & b.keys and not b.topic & a.keys


def distinguished(f: Frame) -> bool:
    """Whether the subjects have different names, or different words, numbers or dates beside one noun."""
    a, b = f.a, f.b
    if bears_name(a, a.subject - b.keys) and bears_name(b, b.subject - a.keys):
        return True
    if (a.subject - b.keys | b.subject - a.keys) & relatives() and f.shared & a.subject & b.subject:
        return True
    in_subject = any(one.place < a.verb_place and other.place < b.verb_place for one, other in f.values)
    return in_subject or differently_described(f)


def differently_described(f: Frame) -> bool:
    """«The kitchen sink» and «the bathroom sink»."""
    a, b = f.a, f.b
    alone_a, alone_b = describing(f.only_a), describing(f.only_b)
    spoken_of = a.subject & b.subject if a.subject and b.subject else f.shared
    return any(a.before.get(key) in alone_a and b.before.get(key) in alone_b for key in spoken_of)


def describing(words: tuple[Word, ...]) -> frozenset[str]:
    """Not the verbs: «loves broccoli» and «hates broccoli» speak of one thing."""
    return frozenset(word.key for word in words if word.key not in verb_words() or word.text.lower() in LIKE_A_PAST)


def bears_name(side: Statement, keys: frozenset[str]) -> bool:
    return any(side.by_key[key].name for key in keys)


def only_the_subject(f: Frame) -> bool:
    """Whether nothing is shared but what both texts speak of: who studies law may sell a bicycle."""
    return f.shared <= f.a.subject & f.b.subject


def other_subjects(f: Frame) -> bool:
    """Whether each text's subject has something that the other text lacks."""
    return bool(f.a.subject - f.b.keys) and bool(f.b.subject - f.a.keys)


def other_head(f: Frame) -> bool:
    """«The rabbit» and «the rabbit hutch»."""
    a, b = head(f.a), head(f.b)
    return bool(a and b) and (a in f.b.keys) != (b in f.a.keys)


def head(side: Statement) -> str:
    """The last of the words that stand together at the beginning of the subject; empty where there is no subject."""
    subject, place = "", -1
    for word in side.words:
        if word.place >= side.verb_place or (subject and word.place > place + 1):
            break
        subject, place = word.key, word.place
    return subject


def same_subject(f: Frame) -> bool:
    return bool(f.a.subject & f.b.subject) or (not f.a.subject and not f.b.subject)


# A kind stands between two strokes. A word may be of several.
KINDS = """
red green blue yellow orange purple pink brown black white grey cream beige sage navy turquoise violet teal ivory
gold silver olive maroon charcoal | wood oak pine walnut metal steel aluminium plastic glass concrete brick stone
marble granite leather cotton wool linen silk polyester carbon bamboo cardboard paper ceramic porcelain copper brass
| gas petrol diesel electric electricity hybrid hydrogen oil coal solar wind wood pellets steam | vegan vegetarian
omnivore pescatarian carnivore keto paleo halal kosher steak meat ribeye beef pork bacon lamb | milk yoghurt butter
cheese cream dairy vegan oat almond soy | alcohol wine beer whisky vodka teetotal teetotaller abstain | coffee tea
water juice cola lemonade smoothie | chicken salmon beef turkey lamb duck tuna fish pork tofu | rice pasta potato
bread quinoa couscous noodle | breakfast lunch dinner brunch | morning afternoon evening night noon midnight dawn
dusk daylight midday | spring summer autumn fall winter | january february march april may june july august september
october november december | daily weekly biweekly fortnightly monthly quarterly yearly hourly nightly annually | hour
day week month quarter year | north south east west | upstairs downstairs | left right centre | married single
divorced widowed engaged separated | son daughter boy girl | mother father aunt uncle brother sister | husband wife |
mother father grandmother grandfather | only sibling sister brother twin | kindergarten preschool primary secondary
highschool university college apprenticeship | bachelor master doctorate phd | biology chemistry physics geology
mathematics history law medicine economics philosophy psychology engineering literature music sociology linguistics
informatics architecture | alto soprano tenor bass baritone | cello violin viola piano guitar drums flute trumpet
clarinet saxophone organ harp banjo oboe | chess football tennis basketball hockey rugby cricket golf handball
volleyball swimming rowing | knight bishop rook queen king pawn | winner runner-up loser champion | draw win loss |
gold silver bronze | first second third fourth fifth sixth seventh eighth ninth tenth eleventh twelfth last | one two
three four five six seven eight nine ten eleven twelve single double triple both solitary binary pair | caesarean
vaginal natural | aspirin ibuprofen paracetamol | tablet syrup injection drops infusion | adopt breeder shelter
rescue | cage range pasture stable barn meadow hillside field | dog cat rabbit hamster | dry wet raw | kibble salmon
| indoors outdoors balcony garden cellar attic kitchen bathroom bedroom hallway garage shed | office home cafe
coworking canteen library studio church theatre hall | bus train car bike plane ferry tram taxi metro ship boat foot
flight van | economy business first premium | hotel hostel apartment tent campsite hut villa | window aisle middle |
cash card cheque transfer paypal invoice | rent own lease buy | euro dollar pound franc yen | bank savings credit |
plaintiff defendant | accept reject withdraw | acquitted convicted guilty | mysql postgres sqlite oracle mariadb
mongodb cassandra dynamodb redis relational cockroachdb clickhouse couchdb | kafka rabbitmq nats sqs pulsar | aws
azure gcp hetzner onpremises digitalocean heroku vercel netlify fly | docker podman containerd | kubernetes nomad
swarm ecs openshift | ansible puppet chef salt terraform pulumi | nginx apache caddy traefik haproxy envoy | jenkins
github gitlab circleci travis buildkite teamcity actions | webpack vite rollup esbuild parcel turbopack gulp grunt |
npm yarn pnpm bun | pip poetry uv conda pipenv pdm | make bazel cmake meson gradle maven sbt ninja | pytest unittest
nose | jest vitest mocha jasmine ava | cypress playwright selenium puppeteer | eslint biome tslint | ruff flake8
pylint | black yapf autopep8 prettier | react vue angular svelte solid ember | django flask fastapi | express koa
fastify nestjs hapi | python java go rust kotlin swift ruby php typescript javascript scala elixir haskell perl |
linux windows macos ubuntu debian fedora arch alpine centos freebsd | android ios | vim emacs vscode neovim pycharm
intellij sublime zed nano | bash zsh fish powershell | git mercurial svn perforce | jira linear trello asana youtrack
mantis bugzilla notion clickup redmine | slack teams discord mattermost zulip irc email phone | zoom meet webex teams
jitsi | cron airflow dagster prefect luigi systemd celery | sphinx mkdocs docusaurus hugo jekyll | json xml yaml toml
csv protobuf avro parquet ini msgpack | rest graphql grpc soap | tab space | single double | camelcase snake_case
pascalcase kebab | spaces tabs | lf crlf | squash rebase merge | utc local cet est gmt | null notnull | random
chronological alphabetical sequential stratified | adam sgd rmsprop | tree forest network transformer regression
boosting svm bayes convolutional recurrent | unity unreal godot | wav mp3 flac aac | pdf docx markdown html latex odt
| png jpeg webp svg | md5 sha1 sha256 bcrypt argon2id argon2 scrypt | http https | tcp udp | ssh telnet | oauth saml
ldap basic | unit integration e2e | blocked open closed merged done pending draft filed signed final review rejected
approved | primary replica follower secondary leader | staging production development canary | english german french
spanish italian portuguese dutch polish czech russian japanese korean chinese finnish swedish danish norwegian
turkish greek hungarian estonian arabic hebrew | oslo stockholm copenhagen berlin munich hamburg vienna zurich paris
lyon madrid barcelona lisbon porto rome milan london dublin amsterdam brussels prague warsaw budapest athens istanbul
helsinki tokyo kyoto seoul sydney toronto boston chicago seattle austin frankfurt geneva basel ghent | mp3 wav | tea
coffee | lab lecture seminar | ceo cto cfo coo | junior senior lead principal staff intern trainee | assistant
associate professor | waiter chef cook | designer developer tester manager | wheat barley oats maize rye rapeseed
clover | apple pear cherry plum | tomato cucumber chilli pepper courgette | fig lemon | rose tulip hydrangea | carpet
parquet laminate tile linoleum | curtain blind shutter | oven stove microwave grill pan | boil fry bake grill roast
steam | butter oil margarine lard | sugar honey stevia sweetener | salt sweet sour bitter spicy | mild medium hot |
rare medium welldone | small medium large | low medium high | beginner intermediate advanced | bronze silver gold
platinum | always usually often sometimes rarely never | all most half some few none every no | everyone nobody
anyone someone | any only | alone together | hand automatic machine | glasses lenses | left right | clean shaven
beard | blond brunette redhead | cloudy sunny rainy overcast clear snow fog | stone brick | tu vous du sie formal
informal casual | prose bullet table list | numbers letters | number letter digit | identical fraternal | binary
ternary | inward outward | clockwise anticlockwise | bent straight | voluntary mandatory | amateur professional |
plain encrypted
"""


@cache
def kinds() -> dict[str, frozenset[int]]:
    """Of each word, the numbers of its kinds."""
    groups: dict[str, set[int]] = {}
    for number, kind in enumerate(KINDS.split("|")):
        for word in kind.split():
            groups.setdefault(base(word), set()).add(number)
    return {word: frozenset(numbers) for word, numbers in groups.items()}


def rival(one: str, other: str) -> bool:
    """Of two words in their base form."""
    return one != other and bool(kinds().get(one, frozenset()) & kinds().get(other, frozenset()))


def rivals(f: Frame) -> list[tuple[Word, Word]]:
    """The words that stand in one text each and are of one kind."""
    return [
        (mine, theirs)
        for mine in f.only_a
        if mine.key in kinds()
        for theirs in f.only_b
        if mine.sign == theirs.sign and rival(mine.key, theirs.key)
    ]
