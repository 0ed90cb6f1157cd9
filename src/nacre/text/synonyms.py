"""Brings words of one meaning together, so that what is bought and what is purchased can be compared."""

from __future__ import annotations

from functools import cache, lru_cache

from nacre.text.stems import stem
from nacre.text.tokens import folded

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
# Each group one meaning; the first word stands for all.
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
    """older and oldest to old; only of known adjectives, since «water» is no more of «wat»."""
    whole: dict[str, str] = {}
    for word in GRADABLE:
        root = word[:-1] if word.endswith("e") else word[:-1] + "i" if word.endswith("y") else word
        roots = (root, root + root[-1]) if len(word) <= 4 else (root,)
        whole |= {each + ending: word for each in roots for ending in ("er", "est")}
    return whole


@cache
def synonyms() -> dict[str, str]:
    """Stem to the stem that stands for its meaning. The first group a word is in decides."""
    whole: dict[str, str] = {}
    for group in groups(SYNONYMS):
        first, *others = (stem(irregular().get(word, word)) for word in group)
        for other in others:
            whole.setdefault(other, whole.get(first, first))
    return whole


@lru_cache(maxsize=65536)
def base(word: str) -> str:
    """The form in which a word is compared: without its inflection, and with its synonyms."""
    plain = graded().get(lowered := folded(word), lowered)
    stemmed = stem(irregular().get(plain, plain))
    return synonyms().get(stemmed, stemmed)
