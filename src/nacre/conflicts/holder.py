"""Finds that a task or a post passed from one person to another, which the model does not see where the person's name
begins the text: «Ana leads the payments team», «Ben leads payments now»."""

from __future__ import annotations

import re
from functools import cache, lru_cache
from typing import NamedTuple

from nacre.text.grammar import word_groups
from nacre.text.names import WEEKDAYS
from nacre.text.tokens import content_stems

TITLES = "Dr Mr Mrs Ms Prof Herr Frau Mme Sr Sra".split()
TITLE = rf"(?:(?:{'|'.join(TITLES)})\.?\s+)"
PARTICLES = "van von de da den der di la".split()  # of family names
NAME = (
    rf"{TITLE}*[^\W\d_a-zß-öø-ÿ][\w'’-]+"
    rf"(?:\s+(?:(?:{'|'.join(PARTICLES)})\s+)*[^\W\d_a-zß-öø-ÿ][\w'’-]+){{0,2}}"
)
# «Dr. Weber» is not «Dr. Okafor», nor «Ana de la Cruz» «Ben de la Vega».
SHARED = frozenset(each for word in (*TITLES, *PARTICLES) for each in (word.casefold(), f"{word.casefold()}."))
# A text may begin with these, and then names nobody: «she leads sales», «the parser handles errors».
NOBODY = WEEKDAYS | frozenset(
    "he she it we you they this that these those the an my our your his her its their who what which whoever whatever"
    " nobody everybody somebody anybody everyone someone anyone nothing something everything today yesterday tomorrow"
    " er sie es wir ihr das dies diese dieser dieses der die den dem ein eine mein meine unser unsere wer was niemand"
    " jeder jemand alle heute gestern morgen il elle on nous vous ils elles cela le la les un une mon ma notre qui"
    " personne quelqu'un él ella ellos nosotros esto este esta el los las una mi nuestro nuestra quien quién nadie"
    " alguien lui lei noi loro questo questa lo gli uno mio mia nostro nostra chi nessuno qualcuno".split()
)
NOW = re.compile(
    r"\s(?:(?:for\s)?now|currently|again|jetzt|nun|inzwischen|wieder|maintenant|désormais|ahora|ora|adesso)\b"
)
IS = r"(?:is|ist|est|es|è)"
ARTICLE = (
    r"(?:the|our|my|your|der|die|das|den|dem|unsere?[nrms]?|meine?[nrms]?|le|la|les|notre|mon|ma|el|los|las|nuestr[oa]|mi"
    r"|il|lo|gli|i|nostr[oa]|mio|mia)"
)
# «Owns a bike», «runs every morning» and «handles two of them» are no task of one person, nor what «leads to» a crash.
NO_TASK = re.compile(
    r"(?:an?|some|any|many|most|every|each|all|both|no|his|her|their|one|two|three|(?-i:it)|up|out|away|to|by|that|\d\S*"
    r"|eine?[nrms]?|sein\w*|ihr\w*|kein\w*|jede\w*|une?|des|son|sa|ses|un[oa]?|su|sus)(?![\w-])",
    re.IGNORECASE,
)
# Since when it is so, or until when: no part of what is done. Beside a time alone «from» and the like say so; «handles
# the import from Jira» and «bis 100 €» do not.
TIME = (
    r"(?:(?:the|next|last|this|dem|der|den|le|la|el|il|l['’]|d['’]|du|au|à|a|al|zum|nächste\w*|diese\w*|kommende\w*)\s*)*"
    r"(?:(?:\d{1,2}(?:st|nd|rd|th|er|\.|º)?\s+(?:of\s+|de\s+|di\s+)?)?"
    r"(?:jan(?:uary|uar|vier)|enero|gennaio|feb(?:ruary|ruar|rero|braio)|février|march|märz|mars|marzo|april|avril|abril|aprile"
    r"|may|mai|mayo|maggio|june?|juni|juin|junio|giugno|july?|juli|juillet|julio|luglio|august|août|agosto|septemb(?:er|re)"
    r"|se(?:p|t)tiembre|settembre|o[ck]tob(?:er|re)|octubre|ottobre|novem(?:ber|bre)|noviembre|de[cz]ember|décembre|diciembre"
    r"|dicembre)|\d{1,2}\.\d{1,2}\.(?:\d{4})?|\d{4}(?:-\d\d){0,2}(?!\s*[\w€$£%])|Q[1-4]"
    r"|(?:mon|tues|wednes|thurs|fri|satur|sun)day|(?:mon|diens|donners|frei|sams|sonn)tag|mittwoch|lundi|mardi|mercredi"
    r"|jeudi|vendredi|samedi|dimanche|lunes|martes|miércoles|jueves|viernes|sábado|domingo|(?:lune|marte|mercole|giove"
    r"|vener)dì|sabato|domenica|now|today|tomorrow|then|sofort|heute|morgen|jetzt|aujourd['’]hui|demain|maintenant|hoy|mañana"
    r"|ahora|oggi|domani|ora|adesso|week|month|quarter|year|summer|winter|spring|autumn|fall|woche|monat|quartal|jahr|sommer"
    r"|frühling|herbst|anfang|mitte|ende|semaine|mois|année|semana|mes|año|settimana|mese|anno|start|beginning|end)\b"
)
SINCE = (
    r"(?:\b(?:since|as\s+of|starting|effective|instead|seit|depuis)\b"
    rf"|\b(?:from|ab|à\s+partir|a\s+partir|desde|dal?)\s+{TIME})"
)
TIME_BEHIND = re.compile(
    rf"(?:(?P<since>{SINCE})|\b(?:until|till|these\s+days|statt)\b"
    rf"|\b(?:bis|hasta|fino|jusqu['’]\S*)\s+{TIME}"
    r"|\b(?:this|diese[nrs]?|cette|ce|est[ae]|quest[oa])\s+(?:week|month|quarter|year|season|summer|winter|spring|autumn"
    r"|woche|monat|quartal|jahr|semaine|mois|année|semana|mes|año|settimana|mese|anno)\b).*$",
    re.IGNORECASE,
)
NEW = r"(?:(?P<new>new|next|neue[nrs]?|nouvel(?:le)?|nouveau|nuev[oa]|nuov[oa])\s+)?"
OF = r"\s*(?:of|for|at|von|vom|der|des|du|de|del|di|della|dei)\b"
OF_PEOPLE = frozenset(
    "team group squad crew department service project".split()
)  # «leads payments» is «the payments team»
SENTENCE_END = re.compile(r"(?<!\b\d)(?<!\b\d\d)[.!?;:]\s")  # not «ab 1. Mai»
LONGEST = 200  # characters: a longer text says more than who has a task
GERMAN_TASK = r"(?P<for>ist\s+für\s+(?P<task>.+?)\s+(?:zuständig|verantwortlich))"


class Holding(NamedTuple):
    name: str
    task: frozenset[str]  # stems, with one word for all verbs of a task
    since: bool  # it says that it was otherwise before: «now», «the new captain», «since May»
    by_trade: bool = False  # it may be what the person does for a living: «ist Zahnarzt», «est directrice»


def changed_holder(newer: str, older: str) -> tuple[str, str] | None:
    """The two persons, where both texts name somebody who has the same task or post, which one person has at a time;
    None where that is not so, or where it is the same person."""
    mine, theirs = holding(newer), holding(older)
    if mine is None or theirs is None or mine.task != theirs.task or (mine.by_trade and theirs.by_trade):
        return None
    names = {frozenset(each.casefold().split()) - SHARED for each in (mine.name, theirs.name)}
    same = len(names) == 1 or frozenset.intersection(*names)  # «Priya» is «Priya Nair»
    return None if same else (mine.name, theirs.name)


def says_since_when(newer: str) -> bool:
    """Whether the text names a holder, and says that it was otherwise before."""
    mine = holding(newer)
    return mine is not None and mine.since


def holding(text: str) -> Holding | None:
    text = " ".join(text.split()).rstrip(".! ")
    return None if len(text) > LONGEST else holding_of_one(text)


@lru_cache(maxsize=256)  # a new text is compared with many
def holding_of_one(text: str) -> Holding | None:
    if SENTENCE_END.search(re.sub(TITLE, "", text)):
        return None
    plain = NOW.sub("", text)
    match = pattern().match(plain)
    if match is None or match["name"].split()[0].casefold() in NOBODY:
        return None
    behind = match["of"] or match["task"] or match["done"] or ""
    time = TIME_BEHIND.search(behind)
    done = TIME_BEHIND.sub("", behind).strip(" ,")
    since = plain != text or bool(match["new"] or (time and time["since"]))
    if match["post"]:
        post = posts()[match["post"].casefold()]
        by_trade = not match["article"] and post in trades() and not re.match(OF, done, re.IGNORECASE)
        return Holding(match["name"], frozenset((post, *content_stems(done))), since, by_trade)
    verb = tasks()["ist" if match["for"] else " ".join(match["verb"].split()).casefold().replace("’", "'")]
    if NO_TASK.match(done) or (not done and verb not in NEED_NO_OBJECT):
        return None
    if verb == "runs" and not re.match(ARTICLE + r"\s", done, re.IGNORECASE):
        return None  # «runs marathons»
    named = frozenset(content_stems(done))
    return Holding(match["name"], (named - OF_PEOPLE or named) | {verb}, since)


NEED_NO_OBJECT = frozenset(("is on call",))
# «S'occupe des achats», «se encarga del almacén», «si occupa della cassa»
FORMS = {"de": "de du des d' del".split(), "di": "di del dello della dei degli delle dell'".split()}


@cache
def tasks() -> dict[str, str]:
    """By each verb the first one of its line in synonyms.txt, which stands for all of them."""
    lines = [[verb.replace("_", " ") for verb in line] for line in word_groups()["tasks of one"]]
    known = {form: line[0] for line in lines for verb in line for form in forms(verb)}
    return known | {"ist": known["handles"]}


def forms(verb: str) -> list[str]:
    before, _, last = verb.rpartition(" ")
    return [f"{before} {each}" for each in FORMS[last]] if last in FORMS else [verb]


@cache
def posts() -> dict[str, str]:
    """By each word for a post the first one of its line in synonyms.txt."""
    return {post: line[0] for heading in ("posts of one", "trades") for line in word_groups()[heading] for post in line}


@cache
def trades() -> frozenset[str]:
    return frozenset(line[0] for line in word_groups()["trades"])


@cache
def pattern() -> re.Pattern[str]:
    known = sorted(tasks().keys() - {"ist"}, key=len, reverse=True)
    verbs = "|".join(re.escape(each).replace(r"\ ", r"\s+").replace("'", "['’]") for each in known)
    return re.compile(
        rf"(?P<name>{NAME})\s+(?i:{GERMAN_TASK}"
        rf"|{IS}\s+(?P<article>{ARTICLE}\s+)?{NEW}(?P<post>{'|'.join(posts())})\b(?P<of>.*)"
        rf"|(?P<verb>{verbs})(?:\b|(?<=['’]))\s*(?P<done>.*))",
    )
