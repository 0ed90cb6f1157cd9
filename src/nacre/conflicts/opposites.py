"""Words that exclude each other: what is enabled is not disabled."""

from __future__ import annotations

from functools import cache

from nacre.text.grammar import base

# What stands left of a stroke is the opposite of what stands right of it.
OPPOSITES = """
inward inwards | outward outwards ; catch | miss ; thrive flourish | die kill wither ; identical | different unlike
random randomly | chronological chronologically ; bent curved | straight ; voluntary | obliged forced
docile gentle tame | aggressive fierce ; salty brackish | sweet fresh ; inhouse internal | outsourced outside external
overpriced expensive | bargain cheap underpriced ; binary | solitary single ; strong strongest | weak weakest
best | weakest worst ; terrified scared afraid nervous | relaxed relaxing comfortable bother calm
persist survive | lose vanish volatile ; insensitive | sensitive distinguish ; nullable | mandatory required
graduate | dropout ; automate automated automatic automatically | hand manual ; significant | insignificant negligible
clear remove clean | leave keep ; discover find | miss overlook ; greet | ignore
encourage recommend | discourage forbid ; welcome | forbid unwelcome ban ; detail detailed | skip short
free | charge fee paid ; cause | unrelated ; covered complete | missing lacking ; present | missing
squash | keep ; translate | untranslated original ; plaintiff | defendant ; composed | licensed ; live | studio
mount fit | remove dismount ; hire | layoff ; attract | repel ; admit | deny ; obey | disobey ; remember | overlook
grow | shrink ; arrive | miss ; punctual | late ; fit healthy | injured ill ; cure heal | worsen ; gain | shed
volunteer | obliged ; sole single only | several multiple many both various ; alone | accompanied joint together
common frequent | rare ; ancient old | modern new ; standard | custom ; native | foreign ; safe | risky dangerous
deep | superficial ; tasty delicious | disgusting bland ; rotten | fresh ; sunny | rainy ; hollow | solid
guilty | cleared ; loyal | disloyal ; legal | banned ; mild | severe ; minor | major severe
partial | complete full total
smooth | bumpy ; tight | loose baggy ; original | copy fake ; genuine authentic real | fake forged counterfeit
public | secret ; famous | unknown obscure ; clockwise | counterclockwise ; unanimous unanimously | divided against
daily | never ; throughout | nowhere ; gross | net ; tax | exempt ; monthly | once ; enough | insufficient short
inside | outside ; assembled | parts kit ; closed | anytime ; vegetarian vegan | steak beef meat pork bacon
sober teetotal | drink drunk wine beer ; nonsmoker nonsmoking | smoke smoking ; docile | bite
hidden | obvious ; deterministic | random nondeterministic ; idempotent | repeat repeating ; blocking | async
deprecated | recommended supported ; open | sealed ; supported | dropped ; stay remain | leave go ; stay | move
enable activate | disable deactivate ; on | off ; online | offline
allow permit let authorize approve authorise | forbid prohibit deny block ban disallow refuse disapprove veto
always | never rarely seldom ; usually often frequently | rarely seldom never ; open | close shut
include | exclude omit ; before | after
increase raise grow rise expand climb | decrease reduce lower shrink fall drop decline cut ; up | down
accept | reject decline refuse ; love adore like enjoy | hate dislike loathe detest despise ; prefer favor | avoid
start begin launch | stop end quit cease halt finish ; add | remove delete drop ; append | prepend ; insert | delete
install | uninstall ; show display | hide ; visible | hidden invisible ; public | private internal confidential
sync synchronous | async asynchronous ; required mandatory compulsory | optional ; hot | cold ; warm | cool cold
wet | dry ; true | false ; right correct accurate | wrong incorrect inaccurate ; valid | invalid ; legal | illegal
safe secure | unsafe dangerous insecure vulnerable ; stable | unstable flaky ; reliable | unreliable
fast quick rapid | slow ; early | late ; earlier | later ; first | last ; new | old ; young | old
big large huge | small tiny little ; tall | short ; long | short ; wide | narrow ; high | low ; highest | lowest
maximum max | minimum min ; most | least ; over above more | under below less
poisonous toxic harmful | harmless nontoxic edible safe ; useful worthwhile | useless worthless ; guilty | innocent
honest | dishonest ; fertile | infertile ; suitable | unsuitable ; legal lawful | illegal unlawful
more | less fewer ; above over | below under ; inside within | outside ; indoor indoors | outdoor outdoors
left | right ; front | back rear ; top | bottom ; upstream | downstream ; ascending | descending
horizontal | vertical ; vertical portrait | horizontal landscape ; north | south ; east | west ; with | without
present | absent ; alive | dead ; full | empty ; busy | free ; free | paid ; cheap inexpensive | expensive pricey
rich | poor ; strong | weak ; hard difficult | easy simple ; simple | complex complicated ; easy | difficult
good great excellent | bad terrible awful poor ; best | worst ; better | worse ; happy glad | sad unhappy upset
healthy | sick ill unhealthy ; married | single divorced unmarried ; single | married ; vegetarian vegan | carnivore
allergic | tolerant ; win | lose ; success succeed pass | failure fail ; pass | fail ; passing | failing
buy purchase | sell ; borrow | lend ; give | take ; send | receive ; push | pull ; read | write ; input | output
import | export ; upload | download ; encrypt | decrypt ; encode | decode ; lock | unlock ; mute | unmute
load | unload ; mount | unmount ; connect | disconnect ; attach | detach ; join | leave ; arrive | depart leave
enter | exit leave ; hire | fire dismiss ; promote | demote ; upgrade | downgrade ; merge | split
combine | separate ; create build make | destroy delete ; keep retain preserve | discard remove delete drop
save | discard ; remember | forget ; succeed | fail ; agree | disagree ; support endorse | oppose ; trust | distrust
believe | doubt disbelieve ; confirm | deny ; profit | loss ; gain | lose ; credit | debit ; local | remote
remote | onsite office ; automatic automated auto automatically | manual manually ; static | dynamic
mutable | immutable ; global | local ; serial sequential | parallel concurrent ; sequentially | concurrently
synchronously | asynchronously ; eager | lazy ; eagerly | lazily ; blocking | nonblocking ; stateful | stateless
relational sql | nosql ; strict | lenient loose ; strongly | weakly ; explicit | implicit ; explicitly | implicitly
positive | negative ; permanent permanently | temporary temporarily
monolith monolithic | microservice microservices ; light | dark ; formal | informal casual
verbose | terse concise brief ; detailed | brief ; loud noisy | quiet silent ; clean | dirty
sweet | savory savoury ; spicy hot | mild ; smooth | rough ; soft | hard ; sharp | blunt ; thick | thin
deep | shallow ; tight | loose ; near close | far distant ; far | near ; asleep | awake ; introvert | extrovert
introverted | extroverted ; optimist | pessimist ; optimistic | pessimistic ; whole | partial
complete completed finished | incomplete unfinished ; ready | unready ; available | unavailable
supported | unsupported ; compatible | incompatible ; possible | impossible ; necessary needed | unnecessary
important | unimportant ; relevant | irrelevant ; known | unknown ; used | unused ; enabled | disabled
signed | unsigned ; sorted | unsorted ; ordered | unordered ; limited | unlimited ; bounded | unbounded
lossless | lossy ; everyone everybody all every everything | nobody none nothing ; all | none ; both | neither
everywhere | nowhere ; plural | singular ; uppercase | lowercase ; tabs | spaces ; male | female ; friend | enemy
employed | unemployed ; asset | liability ; wholesale | retail ; offense | defense ; victory | defeat
forward forwards | backward backwards ; clockwise | counterclockwise anticlockwise ; odd | even
dominant | recessive ; convex | concave ; opaque | transparent ; reversible | irreversible
renewable | nonrenewable fossil ; infectious contagious | noninfectious ; inpatient | outpatient
oral | intravenous ; arterial | venous ; systolic | diastolic ; underweight | overweight obese
thin slim | fat overweight ; peeled | unpeeled ; sweetened | unsweetened ; salted | unsalted ; skimmed | whole
crunchy crisp | soft soggy ; boiled | raw fried ; grilled baked | raw ; sour bitter | sweet ; lean | fatty
decaf | caffeinated ; still | sparkling ; draft | final ; prose | verse ; rhymed | unrhymed ; acoustic | electric
solo | ensemble ; studio | live ; loud forte | quiet piano ; debut | farewell ; offensive | defensive
indoor hall | outdoor ; freestyle | breaststroke ; uphill | downhill ; novice beginner | expert veteran experienced
junior | senior ; intern trainee | permanent ; temporary | tenured ; salaried | hourly ; vacant empty | occupied
furnished | unfurnished ; detached | attached terraced ; insulated | uninsulated ; evergreen | deciduous
annual | perennial ; potted | planted ; sow plant | harvest ; sunny | overcast ; tenant renter | owner landlord
creditor | debtor ; gross | net ; deductible | nondeductible ; surplus | deficit ; solvent | insolvent bankrupt
secured | unsecured ; prepaid | postpaid ; discount | surcharge ; overpriced | underpriced ; bought | rented
leased | owned ; civil | criminal ; appellant | respondent ; enforceable | unenforceable void ; void invalid | valid
oral | written ; unilateral | bilateral mutual ; retroactive | prospective ; lenient | harsh ; minor | adult
free libre | proprietary ; ephemeral volatile | persistent durable ; hardcoded | configurable
minified | unminified ; compressed | uncompressed ; encrypted | unencrypted plaintext plain
authenticated | anonymous ; whitelist allowlist | blacklist denylist blocklist
lowercase | uppercase capital capitals ; camelcase | snake_case snakecase ; singleton | multiple
primary | secondary replica ; master | slave replica ; leader | follower ; inbound incoming | outbound outgoing
ingress | egress ; monolith | microservices ; rebase | merge ; squash | preserve ; verbose | silent quiet
debug | release ; strict | permissive ; warn | ignore ; crash | survive ; healthy | unhealthy degraded
active | inactive idle passive ; running | stopped ; blocked | unblocked
resolved fixed closed | unresolved open reopened ; approved | rejected denied declined ; paid | unpaid outstanding
shipped | unshipped ; delivered | undelivered lost ; refundable | nonrefundable final
satisfied happy | dissatisfied unhappy angry ; polite | rude impolite ; patient | impatient
urgent | nonurgent routine ; formal | friendly casual ; internal | external ; onsite | offsite remote
arrival | departure ; outbound | return ; oneway | roundtrip ; domestic | international foreign ; window | aisle
economy | business first ; direct nonstop | connecting stopover ; crowded packed | deserted empty
urban city | rural countryside ; coastal | inland ; clockwise | counterclockwise ; ally supporter | opponent
majority most | minority ; unanimous | divided ; compulsory | elective ; undergraduate | graduate postgraduate
pass | flunk ; attentive | distracted ; fluent | beginner ; literate | illiterate
extrovert outgoing | introvert shy ; generous | stingy ; brave | cowardly ; lazy | hardworking diligent
tidy | messy untidy ; calm relaxed | nervous anxious stressed ; tired | rested energetic ; hungry | full
thirsty | quenched ; deaf | hearing ; blind | sighted ; biological | adopted adoptive ; older elder | younger
twin | single ; widowed | married ; alive living | deceased dead ; vaccinated | unvaccinated
spayed neutered | unneutered intact ; housetrained | untrained ; longhaired | shorthaired ; predator | prey
native | invasive foreign ; ascending rising | descending falling ; sun sunny sunlight | shade shady shadow
acid acidic | alkaline basic ; punctual | late overdue ; damaged broken defective | intact perfect undamaged fine
healthy fit | injured sick ; natural | artificial synthetic ; silence quiet | noise ; majority | minority
oral spoken verbal aloud | written ; playful humorous funny | sober serious formal ; alone solo | together group
own | rent lease ; buy | rent lease ; guilty convicted | acquitted ; plaintiff | defendant
grant granted upheld | dismissed denied rejected ; dismissed | upheld granted ; pro | contra
monochrome | colored color colour ; analog analogue | digital ; wired | wireless
paper printed print | digital electronic ; gas petrol diesel | electric ; raw | cooked ; fresh | frozen stale canned
ripe | unripe ; sober | drunk ; smoker smoking | nonsmoker ; meat carnivore | vegetarian vegan ; dairy | vegan
outdoor | indoor ; cash | card ; assembled | disassembled ; accepted accept | declined ; pass passed | failed
approve | reject ; sign | decline ; arrive | leave ; attend | skip miss ; present attended | absent
follow | ignore break ; hire | fire ; extend lengthen prolong | shorten cut ; widen | narrow
strengthen | weaken ; improve | worsen deteriorate ; speed accelerate | slow ; heat | cool ; freeze | thaw melt
fill | empty ; plug | unplug ; wake | sleep ; stand | sit ; inhale | exhale ; laugh | cry ; praise | criticize blame
reward | punish ; attack | defend ; teach | learn ; deposit | withdraw ; earn | spend ; employ | dismiss
invest | divest ; mandatory | voluntary ; obligatory | voluntary ; refundable | nonrefundable ; taxable | exempt
liable | exempt ; binding | nonbinding ; confidential | public ; exclusive | shared nonexclusive
temporary | permanent ; fixed | variable flexible floating ; flexible | rigid strict
centralized | decentralized distributed ; monorepo | polyrepo ; compiled | interpreted ; typed | untyped
inline | external ; light | heavy ; bright | dark dim ; clear | cloudy ; calm | stormy rough windy
rainy wet | dry sunny ; win won victory | lose lost defeat loss ; home | away ; ahead | behind ; lead | trail
singles | doubles ; amateur | professional ; lefthanded | righthanded ; shy timid | outgoing confident bold
afraid scared | unafraid fearless brave ; friendly | aggressive hostile ; obedient | disobedient ; tame | wild
trained | untrained ; solid | liquid gas ; exothermic | endothermic ; aerobic | anaerobic ; soluble | insoluble
conductor | insulator ; herbivore | carnivore ; nocturnal | diurnal ; extinct | alive surviving ; benign | malignant
acute | chronic ; elevated | reduced ; normal | abnormal ; pregnant | childless ; singleplayer | multiplayer
comedy | tragedy ; happy | tragic miserable ; fiction | nonfiction ; introduction | conclusion ; active | passive
present | past ; direct | indirect ; abbreviated | spelled ; short brief | long lengthy ; bullet bullets | prose
capitalized | lowercase ; surname | firstname ; formal | colloquial ; metric | imperial
weekly | monthly daily yearly ; daily | weekly monthly ; monthly | yearly
"""

# Both can be true of one person with different things: who sold a piano may have bought a drum.
CONVERSE = (
    "buy sell borrow lend give take send receive push pull read write teach learn join leave arrive depart"
    " enter exit open close start end begin stop finish add remove import export upload download earn spend"
    " deposit withdraw keep drop win lose create delete insert attend skip hire fire first last".split()
)


@cache
def converse() -> frozenset[str]:
    return frozenset(map(base, CONVERSE))


@cache
def table() -> frozenset[tuple[str, str]]:
    pairs: set[tuple[str, str]] = set()
    for pair in OPPOSITES.replace("\n", ";").strip(";").split(";"):
        left, right = ([base(word) for word in side.split()] for side in pair.split("|"))
        pairs.update((one, other) for one in left for other in right if one != other)
    return frozenset(pairs | {(other, one) for one, other in pairs})


@cache
def opposed_words() -> frozenset[str]:
    return frozenset(word for pair in table() for word in pair)


def opposed(one: str, other: str) -> bool:
    """Of two words in their base form."""
    return (one, other) in table()
