"""English words of feeling, each with how pleasant it is and how stirred up: data for `emotion`, written for Nacre."""

from __future__ import annotations

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

# Written like a feeling, meant otherwise: terms of a craft, politeness, titles.
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
