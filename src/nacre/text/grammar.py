"""Word lists of English grammar: function words, verbs, synonyms, negations."""

from __future__ import annotations

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


def negation_diff(a: str, b: str) -> bool:
    """Whether one text denies an odd number of times more than the other."""
    return (count(a) - count(b)) % 2 == 1


def count(text: str) -> int:
    return sum(word in NEGATION_WORDS for word in words(text))


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


@cache
def verb_words() -> frozenset[str]:
    return frozenset(map(base, VERBS))
