"""Pairs of tags as people write them, each judged: one thing, or two."""

from __future__ import annotations

# By spelling, a usual short form or a slip of the pen.
ONE = """
Python python | front-end frontend | front_end front-end | back.end backend | node.js nodejs
type-script typescript | unit-tests unit-test | code-reviews code-review | apis api | libraries library
dependencies dependency | classes class | branches branch | indexes index | caches cache | databases database
queries query | releases release | policies policy | processes process | patches patch | microservices micro-service
café cafe | naïve naive | résumé resume | web-sockets websocket | ci-cd cicd | e2e-tests e2e-test | python-3 python3
oauth-2 oauth2 | pull-requests pull-request | error-messages error-message | env-vars env-var | log-files logfile
work_flows workflow | js javascript | k8s kubernetes | i18n internationalization | a11y accessibility | db database
auth authentication | config configuration | repo repository | env environment | infra infrastructure
perf performance | docs documentation | postgres postgresql | proj project | regex regular-expression
ml machine-learning | pr pull-request | mongo mongodb | o11y observability | deps dependencies | l10n localization
v8n validation | g11n globalization | kuberentes kubernetes | kubernates kubernetes | pyhton python | pyton python
javascritp javascript | deployement deployment | deploymnet deployment | authenticaton authentication
authentification authentication | databse database | performace performance | enviroment environment
enviornment environment | dependancy dependency | configuraton configuration | documenation documentation
monitering monitoring | concurency concurrency | seperation separation | refacotring refactoring
refactorring refactoring | integraton integration | securty security | terrafrom terraform
elasticsaerch elasticsearch | postgersql postgresql | code-reveiw code-review | github-actoins github-actions
asynchronus asynchronous | mirgation migration | optimisation optimization | organisation organization
serialisation serialization | responsiblity responsibility | validaiton validation
"""
# Two things that only look alike.
TWO = """
js ts | python2 python3 | python-2 python-3 | v1 v2 | v1.2 v12 | http https | test rest | test text | api app
css scss | java javascript | git gist | mysql mssql | nosql mysql | go gno | rust ruby | ios io | aws aw | news new
windows window | rails rail | pandas panda | upload unload | upload download | import export | input output
linter linker | polling pooling | tracing trading | parse parser | merge merger | server serve | caching catching
internal external | inbound outbound | encode decode | encoding decoding | encryption decryption | frontend backend
authentication authorization | conversion conversation | transition transaction | production reduction
validation valuation | migration mitigation | integration iteration | deployment employment | async sync
stateful stateless | valid invalid | safe unsafe | typed untyped | pre-commit post-commit | client-side server-side
unit-test integration-test | api-test api-rest | github-test github-rest | github gitlab | docker locker
react reach | redis redux | vue vuex | c c++ | c++ c# | c c# | oauth1 oauth2 | http1 http2 | ipv4 ipv6 | sha1 sha256
utf-8 utf-16 | python3.10 python3.11 | log4j log4j2 | s3 ec2 | team-a team-b | phase-1 phase-2 | sprint-12 sprint-21
q1 q2 | read write | reader header | model modem | class clash | patch path | batch branch | state stage
state slate | table stable | form from | format forum | trial trail | angle angel | scope slope | cluster clutter
commit comment | string strong | staging staging-eu | testing unit-testing | security security-audit
database database-migration | k8s kernels | i18n integration | prod product | dev device | env envoy | sass saas
less lens | bash hash | cache cash | thread threat | buffer butter | lock block | queue query | proxy pony
token taken | sources resources | signed unsigned | blocking unblocking | mutable immutable | direct redirect
deploy redeploy | mount unmount | typing timing | pipeline pipelines-v2
"""


def pairs(text: str) -> list[tuple[str, str]]:
    flat = [each.split() for line in text.strip().splitlines() for each in line.split("|") if each.strip()]
    return [(one, other) for one, other in flat]


SAME, DIFFERENT = pairs(ONE), pairs(TWO)
# What only a model of meaning can know: not of the spelling.
MEANING = pairs(
    """
rate-limit rate-limiting | memory-leak leaking-memory | test testing | cache caching | car automobile | logs logging
refactor refactoring | code-review reviewing-code
"""
)
