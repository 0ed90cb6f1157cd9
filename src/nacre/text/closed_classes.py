"""The small words of English: they hold a sentence together and say nothing of what it is about."""

from __future__ import annotations

from nacre.text.stems import STOP_WORDS

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
