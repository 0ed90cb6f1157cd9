"""Word lists of English grammar: function words, verbs, synonyms, negations."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache, lru_cache

from nacre.text.tokens import STOP_WORDS, folded, stem, words

ARTICLES = frozenset("a an the our my your his her their its this that".split())
AUXILIARIES = frozenset(
    "do does did is are was were be been am has have had will would shall should can could may might must need".split()
)
# Beyond the stop words of a search: adverbs, pronouns, verbs that mean nothing without their object, and «the user», of
# whom half of an agent's memories speak.
FUNCTION_WORDS = STOP_WORDS | frozenset(
    "user users also please really quite rather still yet already even ever else however therefore thus hence"
    " anyway etc per via upon onto toward towards among across along around within without since till unless"
    " although though whether either neither nobody nothing nowhere nor not no never none now then today"
    " currently much many lot lots bit us them one ones thing things something anything everything someone"
    " anyone everyone everybody mostly mainly generally usually often sometimes always whenever wherever let"
    " lets get gets got getting go goes going went gone come comes came put puts take takes took taken make"
    " makes made want wants way ways kind sort ok okay yes well back away together simply actually basically"
    " especially particularly happen happens happened occur occurs shall ought need needs must may might cannot"
    " instead next last new own every each latest s mr mrs ms dr prof".split()
)
CLAUSE_WORDS = frozenset(
    "but because so while although though if unless until when which who whereas however since".split()
)


@dataclass(frozen=True, slots=True)
class Piece:
    """`amount` is that of a number in its dimension's own unit, and of an hour in minutes."""

    kind: str  # word, number, version, date, clock, score, label, border
    text: str
    lower: str
    amount: float = 0.0
    dimension: str = ""

    @property
    def has_content(self) -> bool:
        return self.kind == "label" or (self.kind == "word" and self.lower not in FUNCTION_WORDS)


def lower(pieces: Sequence[Piece], place: int) -> str:
    """Empty beyond the ends."""
    return pieces[place].lower if 0 <= place < len(pieces) else ""


def kind(pieces: Sequence[Piece], place: int) -> str:
    return pieces[place].kind if 0 <= place < len(pieces) else ""


# The forms that no stemmer brings together: base, then its irregular forms.
IRREGULAR = """
go went gone goes | buy bought | write wrote written | send sent | run ran | drive drove driven | eat ate eaten
take took taken | make made | meet met | sell sold | leave left | pay paid | build built | hold held | keep kept
get got gotten | give gave given | know knew known | speak spoke spoken | choose chose chosen | begin began begun
grow grew grown | hide hid hidden | lose lost | win won | find found | think thought | teach taught | catch caught
bring brought | tell told | say said | see saw seen | come came | become became | break broke broken | feel felt
fly flew flown | forget forgot forgotten | freeze froze frozen | drink drank drunk | sing sang sung | swim swam swum
steal stole stolen | throw threw thrown | wear wore worn | rise rose risen | fall fell fallen | draw drew drawn
understand understood | stand stood | sit sat | sleep slept | spend spent | lend lent | mean meant | deal dealt
forbid forbade forbidden | ride rode ridden | shrink shrank shrunk | bind bound | feed fed | lead led | read reads
child children | person people | man men | woman women | foot feet | tooth teeth | mouse mice
analysis analyses | index indices indexes | wife wives | knife knives | half halves | query queries | dependency deps
show showed shown
"""
GRADABLE = (
    "old young big large small tall short long wide narrow high low fast slow quick cheap rich poor strong"
    " weak heavy light hard soft easy simple hot cold warm cool wet dry dark bright loud quiet clean dirty"
    " thick thin deep shallow tight loose near far early late safe happy sad healthy sick busy full empty new"
    " fresh smart strict mild sharp rough smooth".split()
)
# Each group is one meaning; the first word represents it.
SYNONYMS = """
buy purchase acquire obtain | start begin commence kickoff found establish | end finish complete conclude terminate
stop quit cease halt discontinue | use utilize utilise adopt leverage | need require necessitate | want wish desire
like enjoy fond appreciate | love adore | hate detest loathe despise abhor | prefer favor favour preference
live reside dwell inhabit | move relocate | work job employment | boss manager supervisor | doctor physician gp
car automobile vehicle | bike bicycle | phone telephone mobile cellphone smartphone | tv television | movie film
photo picture photograph image | home house | apartment flat | kid child children | mother mom mum mummy mommy
father dad daddy | grandmother grandma gran granny nana | grandfather grandpa granddad | sibling siblings
big large huge | small little tiny | fast quick rapid swift speedy | slow sluggish | smart clever intelligent
happy glad pleased delighted | sad unhappy | angry furious | sick ill unwell
scared afraid frightened terrified scary | important crucial vital essential
required mandatory compulsory obligatory | optional voluntary discretionary
allow permit authorize authorise entitle | permission consent approval approve
forbid prohibit ban disallow outlaw bar | fix repair resolve mend | bug defect | error fault | issue problem
change modify alter amend | delete remove erase | show display | hide conceal | help assist aid
answer reply respond response | tell inform notify | explain clarify describe | choose select pick opt
give provide supply | send transmit | keep retain preserve store save persist | close shut | find locate
check verify validate | exam examination | build construct | make produce | create generate | run execute operate
launch release | deploy deployment rollout | host serve | talk speak chat | schedule plan | cost price | fee charge
salary wage | money cash fund | cheap inexpensive affordable | expensive pricey | rich wealthy
gratis complimentary | increase grow boost rise climb raise | decrease reduce lower decline shrink fall
maximum max ceiling | minimum min | average mean | total sum | often frequently | rarely seldom
immediately instantly | soon shortly | annual yearly annually | database db | repository repo
configuration config settings | environment env | application app | documentation docs | document file
directory folder | function method | parameter argument param | variable var | authentication auth authenticate
password passphrase | production prod | kubernetes k8s | javascript js | typescript ts
postgresql postgres pgsql pg | mongodb mongo | elasticsearch elastic | administrator admin
engineer developer programmer coder | lawyer attorney counsel | teacher instructor tutor | teach instruct
student pupil | customer client | colleague coworker | friend pal buddy mate | lead head | own possess
founder cofounder | usa america | uk britain | email mail | website site webpage | laptop notebook | computer pc
monitor screen | restaurant diner | trip journey travel voyage | holiday vacation | gift present
birthday birth born birthplace | wedding marriage marry wed | course class lesson lecture | dog puppy
cat kitten kitty | rabbit bunny | medicine medication drug | allergic allergy | pain ache | exercise workout
meal food | dinner supper | soda pop | lint linter | format formatter | convention standard guideline
encrypt encryption | log logging | merge integrate | review inspect | locate situated | headquarters hq
retire retirement | resign resignation | promote promotion | hire recruit | graduate graduation | die decease
reject refuse decline | cancel scrap | postpone delay defer reschedule | replace substitute swap supersede
migrate migration | switch shift transition | attend participate | weigh weight | speed velocity
cold chilly freezing | nice pleasant | awful terrible horrible dreadful
great excellent wonderful fantastic superb perfect | hard difficult tough challenging
easy simple straightforward effortless | clean tidy | dirty filthy | quiet silent silence | loud noisy
tired exhausted weary | wash rinse | prune trim | sofa couch settee | basement cellar | garden yard
trash rubbish garbage | sidewalk pavement | elevator lift | fridge refrigerator | stove cooker | cup mug
cilantro coriander | eggplant aubergine | zucchini courgette | chips fries | biscuit cookie | sweets candy
petrol gasoline | truck lorry | soccer football | match game | final finals | team squad | captain skipper
goalkeeper keeper goalie | coach trainer | tune melody | song track | band ensemble | novel book | author writer
paper manuscript | article essay | contract agreement | lease tenancy | tenant renter lessee | landlord lessor
clause provision | lawsuit suit | court tribunal | plaintiff claimant | invoice bill
refund reimburse reimbursement | delivery shipment | deliver ship | parcel package | warranty guarantee
subscription membership | vet veterinarian | pill tablet | shot jab vaccination vaccine | surgery operation
injured hurt | headache migraine | enough sufficient | several multiple | main primary principal
favorite favourite | previous former prior | initial original | whole entire | alone solo | everyone everybody
approximately roughly | colour color | grey gray | programme program | centre center | theatre theater
licence license | tyre tire | organise organize | organisation organization | analyse analyze | behaviour behavior
labelled labeled | cancelled canceled | travelling traveling | catalogue catalog | dialogue dialog
"""


def groups(table: str) -> list[list[str]]:
    return [group.split() for group in table.replace("\n", "|").split("|") if group.strip()]


@cache
def irregular() -> dict[str, str]:
    return {form: group[0] for group in groups(IRREGULAR) for form in group[1:]}


@cache
def graded() -> dict[str, str]:
    """«older» and «oldest» to «old»; only for known adjectives, since «water» is not a form of «wat»."""
    forms: dict[str, str] = {}
    for word in GRADABLE:
        root = word[:-1] if word.endswith("e") else word[:-1] + "i" if word.endswith("y") else word
        roots = (root, root + root[-1]) if len(word) <= 4 else (root,)
        forms |= {each + ending: word for each in roots for ending in ("er", "est")}
    return forms


@cache
def synonyms() -> dict[str, str]:
    """Each stem to the one that represents its meaning. A word's first group decides."""
    forms: dict[str, str] = {}
    for group in groups(SYNONYMS):
        first, *others = (stem(irregular().get(word, word)) for word in group)
        for other in others:
            forms.setdefault(other, forms.get(first, first))
    return forms


@lru_cache(maxsize=65536)
def base(word: str) -> str:
    """The form in which a word is compared: without its inflection, and with its synonyms."""
    plain = graded().get(lowered := folded(word), lowered)
    stemmed = stem(irregular().get(plain, plain))
    return synonyms().get(stemmed, stemmed)


# Written without their apostrophes, as careless writers and the tokeniser do.
NEGATION_WORDS = frozenset(
    "not never no dont doesnt didnt wont wouldnt shouldnt cant cannot couldnt mustnt neednt isnt arent wasnt"
    " werent hasnt havent hadnt aint mightnt shant without avoid neither nor nothing nobody nowhere none".split()
)
# They deny their whole clause: these words as they are, and the verbs below in every form.
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
# Of these, those that reverse a denial: «not exceed», «none other».
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
LONGEST_ED_NOUN = 4  # letters; «seed» and «red» are not a past tense
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
    """The place of the first verb, as far as word lists can find it; 0 in an instruction."""
    if pieces and pieces[0].lower in INSTRUCTIONS and lower(pieces, 1) not in AUXILIARIES:
        return 0
    inflected = (place for place in range(len(pieces)) if is_finite(pieces, place))
    plain = (place for place in range(1, len(pieces)) if is_plain_verb(pieces, place))
    return next(inflected, next(plain, 0))


def is_finite(pieces: Sequence[Piece], place: int) -> bool:
    """An auxiliary, a past tense, a known verb with its ending; or a colon for «is»: «Port: 80»."""
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
