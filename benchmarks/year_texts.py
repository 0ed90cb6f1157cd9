"""A year of an agent's memories: what lasts, each with a question in other words, and what is only said in passing."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from random import Random

from texts import PEOPLE, PLACES, REASONS, TOPICS

# How many of a hundred memories are of each kind; the rest, the most of them, is passing.
LASTING = {"fact": 6.0, "episode": 3.0, "decision": 3.0, "rule": 2.5, "procedure": 1.5, "pinned": 0.4}
PASSING = {"small talk": 22.0, "remark": 24.0, "step": 24.0, "junk again": 9.0}
REPEATED = {"fact again": 4.8}
KINDS = (*LASTING, *REPEATED, *PASSING)
TYPES = {"procedure": "procedural", "episode": "episodic", "rule": "feedback"}

SURNAMES = (
    "Abara Berg Castro Demir Eriksen Fofana Gruber Haddad Ibarra Jansen Kaplan Lindqvist Moreau Nakata Okafor Petrov"
    " Quist Romero Sato Tanaka Ueda Varga Weber Xu Yilmaz Zeman Aalto Boateng Cermak Dlamini"
).split()
FIRMS = (
    "Alder Birch Cobalt Dune Ember Fathom Granite Harbor Indigo Juniper Kestrel Lumen Marble Nimbus Onyx Pebble Quartz"
    " Raven Saffron Tundra Umbra Velvet Willow Zephyr"
).split()
HOSTS = "atlas boreas ceres dione europa fenrir ganymede hydra io janus kepler luna mimas nereid oberon phobos".split()
WORDS = (
    "heron lantern maple comet anvil bramble copper daisy falcon ginger hazel ivory jasmine kelp lotus mango nectar"
    " olive pepper quill raisin sable thistle umber violet walnut yarrow zinnia"
).split()
FOODS = "peanuts shellfish gluten strawberries sesame mustard celery walnuts kiwi eggplant lupin buckwheat".split()
PETS = "cat dog parrot tortoise rabbit horse ferret canary".split()
STREETS = "Mill Station Harbour Castle Orchard Chapel Bridge Market Garden Tower River School".split()
HOBBIES = "climbing|pottery|chess|sailing|beekeeping|calligraphy|fencing|astronomy|weaving|judo|bird watching".split(
    "|"
)
MONTHS = ("January February March April May June July August September October November December").split()

# Kind of memory: what is kept, how it is asked for, and what the answer must contain besides the name of its subject.
FACTS = (
    ("{who} lives at {number} {street} Street in {place}.", "What is the home address of {who}?", "{number} {street}"),
    ("The daughter of {who} is called {child} and was born on {day} {month}.",
     "When does {who}'s girl have her birthday?", "{day} {month}"),
    ("{who}'s {pet} is named {word}.", "How is the {pet} of {who} called?", "{word}"),
    ("The {topic} of {firm} listens on port {port} of the host {host}.",
     "Where can I reach {firm}'s {topic} on the network?", "{port}"),
    ("The contract with {firm} about the {topic} costs {number} euros a month.",
     "How much do we pay {firm} for the {topic}?", "{number}"),
    ("{who} works at {firm} and looks after the {topic} there.", "Whose job at {firm} is the {topic}?", "{who}"),
    ("The door code of the {firm} office in {place} is {port}.",
     "How do I get into the building of {firm} in {place}?", "{port}"),
    ("{who} can be reached at extension {port} on weekdays.", "What number do I dial to talk to {who}?", "{port}"),
    ("The wireless network at {who}'s flat has the pass phrase {word}-{number}.",
     "How do I get online when I visit {who}?", "{word}-{number}"),
    ("The repository for the {topic} of {firm} is stored under git/{word}-{host}.",
     "Where is the source code of {firm}'s {topic}?", "{word}-{host}"),
    ("{who} speaks Portuguese and studied law in {place}.", "At which city's university was {who}?", "{place}"),
    ("The spare key of {who} lies with the neighbour at number {number}.",
     "Who keeps the second key for {who}'s home?", "{number}"),
)  # fmt: skip
EPISODES = (
    ("Met {who} at the station of {place}; the topic was {hobby}, which {who} took up in {month}.",
     "What pastime did {who} begin?", "{hobby}"),
    ("Had a call with {who} about the {topic} of {firm}: the outage began at {hour}:{minute} on host {host}.",
     "When did {firm}'s {topic} go down according to {who}?", "{hour}:{minute}"),
    ("Visited {firm} in {place} with {who}; their {topic} handles {number} orders a day.",
     "How many orders does the {topic} at {firm} take daily?", "{number}"),
    ("Dinner with {who} in {place}: {who} starts a new job at {firm} in {month}.",
     "Which employer is {who} moving to?", "{firm}"),
    ("Measured the {topic} of {firm} with {who}: {number} milliseconds at the median on {host}.",
     "How fast was {firm}'s {topic} when we timed it?", "{number}"),
)  # fmt: skip
DECISIONS = (
    ("We decided to move the {topic} of {firm} to {host} because {reason}.",
     "Which machine did we choose for {firm}'s {topic}?", "{host}"),
    ("{who} approved a budget of {number} euros for the {topic} of {firm}.",
     "How much money may be spent on {firm}'s {topic}?", "{number}"),
    ("Agreed with {who} to release the {topic} of {firm} on {day} {month}.",
     "What launch date was set for {firm}'s {topic}?", "{day} {month}"),
    ("The root cause of the broken {topic} at {firm} was the certificate {word}-{port}.",
     "Why did {firm}'s {topic} break?", "{word}-{port}"),
)  # fmt: skip
RULES = (
    ("{who} is allergic to {food}.", "What must not be on the plate when {who} comes to eat?", "{food}"),
    ("{who} prefers to be called before {hour} o'clock and likes {hobby}.",
     "Until what time of day should one phone {who}?", "{hour} o'clock"),
    ("Always copy {who} on mails about the {topic} of {firm}.",
     "Who wants to see the correspondence on {firm}'s {topic}?", "{who}"),
    ("Never restart the {topic} of {firm} before {hour}:{minute}.",
     "From when on may I reboot {firm}'s {topic}?", "{hour}:{minute}"),
    ("Use version {number} of the {topic} whenever you work for {firm}.",
     "Which release of the {topic} does {firm} need?", "{number}"),
)  # fmt: skip
PROCEDURES = (
    ("To restore the {topic} of {firm}: stop {host}, load the dump {word}-{port}, start it, then tell {who}.",
     "How is {firm}'s {topic} brought back from a backup?", "{word}-{port}"),
    ("Release of the {topic} at {firm}: run make {word}, wait {number} seconds, check {host}, then tag it.",
     "What are the steps to ship {firm}'s {topic}?", "make {word}"),
    ("New colleagues of {firm} get access to the {topic} by form {word}-{number}, signed by {who}.",
     "How does a newcomer at {firm} get into the {topic}?", "{word}-{number}"),
)  # fmt: skip
PINNED = (
    ("The blood group of {who} is {blood}, and the insurance number is {word}-{port}.",
     "What must a doctor know about {who}?", "{blood}"),
    ("Emergency contact of {who}: ring {port}{number} at any hour.",
     "Whom to alarm if something happens to {who}?", "{port}{number}"),
)  # fmt: skip
MATERIAL = {
    "fact": FACTS,
    "episode": EPISODES,
    "decision": DECISIONS,
    "rule": RULES,
    "procedure": PROCEDURES,
    "pinned": PINNED,
}
SMALL_TALK = (
    "Thanks, {first}!", "Good morning {first}, {mood}.", "Haha, {mood}.", "Okay, sounds good to me.",
    "See you {later}.", "Sure, {later} is fine.", "Great, thank you for the {thing}!", "Hello {first}, how are you?",
    "Sorry, {mood}.", "No problem, take your time with the {thing}.", "Nice {thing}, by the way.",
    "Bye for now, {mood}.", "Have a good evening, {first}.", "Oh well, {mood}.", "Yes, {later} works.",
    "Cool, a {thing}!",
)  # fmt: skip
REMARKS = (
    "The {thing} was a bit {quality} today.", "I noticed a {quality} {thing} on the way.", "It is {sky} again, {mood}.",
    "Had some {food} for lunch, rather {quality}.", "The traffic near the {thing} was {quality}.",
    "What a {quality} {thing}.", "Somebody left a {thing} in the kitchen.",
    "This {thing} feels like it might be {quality}.", "Nothing new about the {topic} so far.",
    "Apparently the {topic} is {quality} right now.", "Maybe the {topic} just needs a {thing}.",
    "{first} seems {quality} this morning, perhaps because of the {thing}.", "The {thing} smells {quality}.",
    "I think the {topic} could be more {quality}.", "There were a few people around the {thing} earlier.",
    "Watched something about {hobby} tonight, it was quite {quality}.",
)  # fmt: skip
STEPS = (
    "Let me open the {topic} and look for the {thing}.", "Now checking line {number} of the {topic}.",
    "I'll run the tests of the {topic} again.", "Searching for {word} in the {topic}.",
    "Still waiting for the {topic} to answer on {host}.", "Step {day}: read the settings of the {topic}.",
    "Trying the {topic} with {word} switched off.", "I'm going to look at the {topic} on {host} first.",
    "Reading file {word}_{host} of the {topic}.", "Let's see whether {word} changes anything for the {topic}.",
    "I am now comparing {number} rows of the {topic}.", "Installing {word} for the {topic}, one moment.",
    "Opening ticket {number} to see what {first} wrote.", "We'll try the {topic} without {word} then.",
)  # fmt: skip
JUNK = {"small talk": SMALL_TALK, "remark": REMARKS, "step": STEPS}
MOODS = (
    "what a week|no coffee yet|the train was late|almost weekend|that made me laugh|so tired|all good here"
    "|cannot complain|busy as ever|the cat woke me|rainy again|back from lunch|half asleep|time flies"
).split("|")
LATER = "tomorrow|after lunch|on the stairs|next week|tonight|in a minute|at five|whenever you like|soon".split("|")
THINGS = (
    "printer umbrella poster sandwich elevator cushion teapot scarf notebook whiteboard bicycle window sofa plant radio"
    " calendar mug keyboard lamp balloon puddle fountain hedge bench mural clock vase carpet kettle drawing"
).split()
QUALITIES = "slow loud odd bright sticky quiet cheerful dusty crooked warm noisy pale wobbly dull shiny empty".split()
SKIES = "raining sunny snowing foggy windy cloudy".split()
BLOODS = ("0 negative", "A positive", "B negative", "AB positive", "A negative")


@dataclass(frozen=True, slots=True)
class Told:
    """One memory of the year. What lasts has a question; an answer contains every word of `needs`."""

    id: str
    day: int
    kind: str
    text: str
    question: str = ""
    needs: tuple[str, ...] = ()

    @property
    def type(self) -> str:
        # Half of what passes is filed as an event, half as nothing in particular, which is how agents do it. What is
        # pinned may be either.
        if self.kind in PASSING or self.kind == "pinned":
            return "episodic" if int(self.id[1:]) % 2 else "semantic"
        return TYPES.get(self.kind, "semantic")

    def answers(self, text: str) -> bool:
        return all(each in text for each in self.needs)


def year(days: int, per_day: int, seed: int) -> list[list[Told]]:
    """What is remembered on each day; the same for the same seed."""
    chance = Random(f"year {seed}")
    lasting, weights = unique(chance), {**LASTING, **REPEATED, **PASSING}
    told: list[list[Told]] = []
    facts, junk = list[Told](), list[Told]()
    for day in range(days):
        today: list[Told] = []
        for kind in chance.choices(list(weights), list(weights.values()), k=per_day):
            made = one(kind, f"m{day * per_day + len(today)}", day, chance, lasting, facts, junk)
            today.append(made)
            if kind in LASTING:
                facts.append(made)
            elif kind in JUNK:
                junk.append(made)
        told.append(today)
    return told


def one(
    kind: str, id: str, day: int, chance: Random, lasting: dict[str, Iterator[Told]], facts: list[Told],
    junk: list[Told],
) -> Told:  # fmt: skip
    if kind == "fact again" and facts:
        said = chance.choice(facts)
        return Told(id, day, kind, chance.choice(("As I said: {}", "{}", "Once more: {}")).format(said.text))
    if kind == "junk again" and junk:
        return Told(id, day, kind, chance.choice(junk).text)
    if kind in LASTING:
        return replace(next(lasting[kind]), id=id, day=day)
    kind = kind if kind in JUNK else "remark"
    return Told(id, day, kind, chance.choice(JUNK[kind]).format(**values(chance)))


def unique(chance: Random) -> dict[str, Iterator[Told]]:
    """What lasts, without end, and no question twice: two answers to one question would make it unfair."""
    asked: set[str] = set()

    def endless(kind: str) -> Iterator[Told]:
        while True:
            text, question, needed = chance.choice(MATERIAL[kind])
            given = values(chance)
            made = question.format(**given)
            if made not in asked:
                asked.add(made)
                subject = [given[name] for name in ("who", "firm") if f"{{{name}}}" in question]
                yield Told("", 0, kind, text.format(**given), made, (*subject, needed.format(**given)))

    return {kind: endless(kind) for kind in LASTING}


def values(chance: Random) -> dict[str, str]:
    people = PEOPLE.split()
    first = chance.choice(people)
    return {
        "first": first,
        "who": f"{first} {chance.choice(SURNAMES)}",
        "child": chance.choice(people),
        "place": chance.choice(PLACES),
        "topic": chance.choice(TOPICS),
        "reason": chance.choice(REASONS),
        "firm": chance.choice(FIRMS),
        "host": chance.choice(HOSTS),
        "word": chance.choice(WORDS),
        "food": chance.choice(FOODS),
        "pet": chance.choice(PETS),
        "street": chance.choice(STREETS),
        "hobby": chance.choice(HOBBIES),
        "month": chance.choice(MONTHS),
        "blood": chance.choice(BLOODS),
        "mood": chance.choice(MOODS),
        "later": chance.choice(LATER),
        "thing": chance.choice(THINGS),
        "quality": chance.choice(QUALITIES),
        "sky": chance.choice(SKIES),
        "hour": str(chance.randint(6, 22)),
        "minute": f"{chance.randint(0, 59):02}",
        "day": str(chance.randint(1, 28)),
        "number": str(chance.randint(100, 999)),
        "port": str(chance.randint(1000, 9999)),
    }
