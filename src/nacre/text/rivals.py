"""Words of one kind, of which a thing has one at a time: what is green is not cream, and who bundles with Vite has
left webpack."""

from __future__ import annotations

from functools import cache

from nacre.text.frames import Frame
from nacre.text.statements import Word
from nacre.text.synonyms import base

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
    found: dict[str, set[int]] = {}
    for number, kind in enumerate(KINDS.split("|")):
        for word in kind.split():
            found.setdefault(base(word), set()).add(number)
    return {word: frozenset(numbers) for word, numbers in found.items()}


def rival(one: str, other: str) -> bool:
    """Of two words in their base form."""
    return one != other and bool(kinds().get(one, frozenset()) & kinds().get(other, frozenset()))


def rivals(given: Frame) -> list[tuple[Word, Word]]:
    """The words that stand in one text each and are of one kind."""
    return [
        (mine, theirs)
        for mine in given.only_a
        for theirs in given.only_b
        if mine.sign == theirs.sign and rival(mine.key, theirs.key)
    ]
