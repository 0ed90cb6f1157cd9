"""Words by which a text says that something is no longer as it was, or that it was still open."""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cache

from nacre.text.synonyms import base

# Verbs of change, as they stand where a change is reported.
CHANGE_VERBS = (
    "moved migrated relocated transferred shifted transitioned converted changed altered amended revised"
    " upgraded downgraded bumped replaced superseded swapped exchanged substituted renamed rebranded redesigned"
    " rebuilt rewritten redone reorganised reorganized restructured raised lifted lowered reduced increased"
    " decreased doubled halved tripled extended lengthened prolonged shortened widened narrowed tightened"
    " relaxed loosened expanded shrunk dropped slipped jumped climbed postponed delayed rescheduled deferred"
    " cancelled canceled scrapped abandoned discontinued deprecated decommissioned retired quit stopped ceased"
    " resigned promoted demoted appointed elected succeeded graduated divorced separated sold traded reverted"
    " restored refinanced renewed reopened recovered healed repaired removed deleted became parted parting"
    " reassigned redeployed repainted renovated outgrown phased ditched adopted overhauled updated replacing"
    " succeeding rebrand adjourned ported outsourced suspended resumed revoked reinstated demolished evicted"
    " rehomed retitled reshuffled readjusted recalculated reallocated".split()
)
CHANGE_PHRASES = (
    *CHANGE_VERBS,
    r"no longer",
    r"(?:not|n['’]t)\b.{0,40}\bany ?more",
    r"(?:from|starting) (?:now|here|today|tomorrow)(?: on(?:wards?)?)?",
    r"(?:from|starting) (?:this|next|last) (?:week|month|year|spring|summer|autumn|fall|winter|quarter|season|\w+day)",
    r"from \w+ on(?:wards?)\b",
    r"going forward",
    r"these days",
    r"nowadays",
    r"as (?:of|from)(?! course| well| always)",
    r"effective (?:from|\w+ \d|immediately|\d)",
    r"now(?! and then)",
    r"by now",
    r"meanwhile",
    r"at last",
    r"finally",
    r"switch(?:ed|ing|es)?\b(?! (?:on|off)).{0,40}\b(?:to|over|from)",
    r"(?:went|gone|fell|rose|grown|grew|cut|came) (?:(?:back|up|down|over) )?(?:to|by)(?! bed| sleep| work)",
    r"(?:went|fell|rose|grew|cut) from",
    r"(?:went|gone|came) (?:up|down)",
    r"(?:up|down) (?:to|from)(?= \W?\d)",
    r"(?:was|were|been|got|has|have) cut",
    r"(?:put|brought|pushed|taken|moved) .{0,30}(?:up|down|forward|back) to",
    r"voted in",
    r"in favou?r of",
    r"(?:took|taken) over",
    r"stepped down",
    r"handed (?:\w+ ){0,3}(?:over|to)",
    r"used to be",
    r"formerly",
    r"previously",
    r"until recently",
    r"(?:has|have|['’]s|['’]ve) become",
    r"turned into",
    r"(?:gave|given) up",
    r"moved out",
    r"called off",
    r"shut down",
    r"closed down",
    r"laid off",
    r"broke up",
    r"dropped out",
    r"(?:change|update|correction|changes?) ?:",
    r"instead(?! of)",
    r"(?:has|have) reached",
    r"new (?:\w+ ){1,3}for|new \w+ ?:",
    r"revised",
    r"price drop",
    r"again\b",
    r"back (?:to|on|at|in|from|between|home)",
    r"(?:is|are|was|were|['’]s) (?:gone|over|history)\b",
    r"month over|year over",
    r"since (?:then|last|this|\w+day|the \w+(?=[.,;]|$)|[a-z]\w+ (?:quit|left|went))",
    r"since (?:spring|summer|autumn|fall|winter|january|february|march|april|may|june|july|august)",
    r"since (?:september|october|november|december)",
    r"(?:different|another) (?:\w+ )?(?:number|address|name|job|provider|place|company)",
    r"just (?:got|moved|switched|started|became|bought|left)",
)
# That something was still open when the text was written.
OPEN_PHRASES = (
    r"still|yet|so far|for now|at the moment|currently|in progress|under review|halfway|midway",
    r"pending|waiting|awaiting|expecting|considering|looking for|undecided|tbd|vacant|blocked|open",
    r"planned|planning|plans? to|intend\w*|scheduled|going to|will|about to|upcoming",
    r"next (?:week|month|year|spring|summer|autumn|fall|winter|\w+day)|tomorrow",
    r"to be (?:decided|announced|confirmed)",
    r"tentativ\w+|provisional\w*|temporar\w+|draft|applied|ordered|on (?:its|the|his|her|their) way",
    r"engaged|pregnant|out with|recovering|broken|missing|lost|on leave",
    r"(?:has|have|had) not|(?:has|have)n['’]t|not been",
    r"(?:is|are|am|['’]s|['’]re|['’]m) \w{3,}ing",
)
# That something has come to its end.
SETTLED_PHRASES = (
    r"finished|completed?|done|closed|resolved|settled|ready|fixed|repaired|returned|confirmed|decided|chose|chosen",
    r"accepted|approved|rejected|registered|granted|signed|passed|won|found|born|married|tied the knot",
    r"delivered|arrived|received|published|released|shipped|launched|merged|bought|started",
    r"got|went|came|had|took|is in|is out|been \w+(?:ed|en|t)|(?:has|have|was|were) \w+ed",
)
# That a particular case leaves the general rule standing, or that one more stands beside the first.
EXCEPTION_PHRASES = (
    r"(?<!no )(?<!without )exceptions?|exempt\w*|except|apart from|other than",
    r"also|additionally|another(?! one)|in addition",
)
PAST_PHRASES = (
    r"was|were|did|born|came|went|met|won|lost|wrote|began|took|gave|found",
    r"(?<!\bis )(?<!\bare )(?<!\bbe )(?<!\bget )(?<!\bgets )\w{2,}ed",  # «is hosted» is no past
)
MOVED_PHRASES = (
    r"(?:moved|relocated|transferred|migrated|switched|shifted|renamed) (?:to|from|out|away|back|into|over)",
)
PLACED_PHRASES = (
    r"called|named",
    r"lives?|living|works?|working|based|located|hosted|situated|stays?|runs?|sits?",
    r"(?:is|are|was|were) (?:\w+ )?(?:in|at|on|near)",
)


@dataclass(frozen=True, slots=True)
class Cues:
    """The words of each kind, in small letters; empty where the text has none."""

    changed: str
    told: str  # the base form of the first word of `changed`
    open: str
    settled: str
    exception: str
    past: str
    moved: str
    placed: str


def cues(given: str) -> Cues:
    text = given.lower()  # a pattern that has not to mind capitals is found in a third of the time
    changed = first(CHANGE_PHRASES, text)
    return Cues(
        changed=changed,
        told=base(changed.split()[0]) if changed else "",
        open=first(OPEN_PHRASES, text),
        settled=first(SETTLED_PHRASES, text),
        exception=first(EXCEPTION_PHRASES, text),
        past=first(PAST_PHRASES, text),
        moved=first(MOVED_PHRASES, text),
        placed=first(PLACED_PHRASES, text),
    )


def first(phrases: tuple[str, ...], text: str) -> str:
    found = pattern(phrases).search(text)
    return found.group() if found else ""


@cache  # a pattern takes milliseconds to build: when the first text is compared, not at import
def pattern(phrases: tuple[str, ...]) -> re.Pattern[str]:
    return re.compile(rf"\b(?:{'|'.join(phrases)})(?!\w)")
