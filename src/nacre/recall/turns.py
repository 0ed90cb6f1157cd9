"""Which turns of a conversation state something, which only ask for a piece of work or report on one step of it, and
which announce a change."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace

from nacre.model import Hit, Memory
from nacre.model.recollection import conflicting_pairs
from nacre.remember.suggest import appraise
from nacre.text.grammar import NEGATION_WORDS, negation_diff
from nacre.text.tokens import STOP_WORDS, content_stems, only_asks, sentences, stem, words

USER, TOOL = "user", "tool"
PASSING = 0.45  # a turn below this importance by its words: a question, an acknowledgement, a step
# What the user does not know yet is no statement that an answer could repeat.
DOUBT = re.compile(r"\?|\b(?:whether|if|or|not sure|unsure|think|guess|maybe|perhaps)\b", re.IGNORECASE)
# Words of a change: most of what people say while they work is how it is just now.
CHANGE = re.compile(
    r"\b(?:no longer|any ?more|now|instead|from now on|as of|switched|moved|migrated|changed|renamed|replaced"
    r"|dropped|upgraded|stopped|nicht mehr|jetzt|ab sofort|statt|künftig|umgezogen|gewechselt|ne \S+ plus|désormais"
    r"|maintenant|ya no|ahora|adesso|non \S+ più|já não|agora)\b|больше не|теперь|不再|现在|改为|もう|今は|これから",
    re.IGNORECASE,
)
# The state of the work itself changes all the time: «the error is gone now».
AT_WORK = re.compile(
    r"\b(?:it works|works now|not work(?:ing)?|n't work(?:ing)?|the errors?|fail(?:s|ed|ing)?|broken|my branch|still)\b"
    r"(?! tracker)",
    re.IGNORECASE,
)
NEAR = 3  # turns between what was said and an answer that repeats it
MOST_LOOKED_UP = 8  # answers of a pack whose note is looked up: each is a search of its own
LONGEST_REPETITION = 30  # stems of an answer: a longer one says more than a note
ECHOED = 0.7  # of an answer's words, from which on it only repeats: «Noted: …» adds one or two

# Sentences that only ask for a piece of work, or report on one step of it. Where one form of a verb asks as well as it
# states («usa», «corre»), it is not listed: what is stated must not be lost.

# What may stand before the verb of a request.
POLITE = (
    "please|now|then|next|also|and|so|ok(?:ay)?|great|thanks|good|yes|let'?s|(?:can|could|would|will) you"
    "|ja|bitte|jetzt|dann|und|nun|danke|gut|(?:kannst|könntest|würdest) du(?: bitte)?|oui|et|puis|maintenant|merci"
    "|s'il te plaît|(?:peux|pourrais)-tu|sí|y|ahora|luego|gracias|por favor|(?:puedes|podrías)|sì|e|ora|poi|grazie"
    "|per favore|(?:puoi|potresti)|sim|agora|depois|você pode|en|nu|dan|graag|alsjeblieft|(?:kun|kan) je|tak|teraz"
    "|proszę|możesz|да|и|теперь|пожалуйста|можешь|evet|şimdi|lütfen"
)
# A request for one piece of work says what was wanted then, not what is so.
WORK = (
    "add|adjust|analy[sz]e|apply|build|change|check|clean|commit|compare|continue|convert|copy|create|debug|delete|"
    "deploy|describe|document|download|draft|edit|execute|explain|extend|extract|fetch|find|fix|format|generate|"
    r"give|go(?!\s+(?:with|for)\b)|help|implement|improve|insert|inspect|install|investigate|list|"  # «go with» decides
    "log (?:in|into|out)|look|make|merge|move|"
    "open|optimi[sz]e|"
    "prepare|print|pull|push|read|rebase|refactor|remove|rename|replace|repeat|rerun|research|restart|retry|revert|"
    "review|rewrite|run|search|send|set up|show|simplify|sketch|sort|split|start|stop|suggest|summari[sz]e|tell|test|"
    "translate|try|undo|update|upgrade|verify|write|"
    # German and Dutch
    "bau|baue|behebe|committe|erkläre?|erstelle|formatiere|füge?|führe?|gib|installiere|korrigiere|lade|lass|lösche|"
    "mach|mache|merge|öffne|prüfe?|pushe?|repariere|schau|schreibe?|starte|stoppe|überprüfe|zeige?|"
    "bouw|controleer|draai|ga door|herstart|laat|maak|schrijf|toon|verwijder|voeg|voer|"
    # French
    "affiche|ajoute|arrête|corrige|crée|démarre|déploie|exécute|explique|fais|installe|lance|ouvre|redémarre|relance|"
    "supprime|vas-y|vérifie|écris|"
    # Spanish, Italian and Portuguese
    "añade|agrega|arregla|borra|comprueba|continúa|crea|ejecuta|elimina|escribe|explícame|haz|hazlo|inicia|instala|"
    "muéstrame|muestra|reinicia|sigue|aggiungi|avvia|cancella|controlla|correggi|esegui|fai|lancia|mostra(?:mi)?|riavvia|"
    "rimuovi|scrivi|spiega(?:mi)?|vai avanti|adicion[ae]|apague|cri[ae]|corrij[ae]|escrev[ae]|execut[ae]|faça|faz|"
    "instal[ae]|mostr[ae]|reinici[ae]|remov[ae]|verifi(?:ca|que)|"
    # Polish and Russian
    "dodaj|kontynuuj|napisz|napraw|pokaż|popraw|sprawdź|stwórz|uruchom|usuń|wypchnij|zacommituj|zainstaluj|zbuduj|zrób|"
    "(?:добавь|запусти|закоммить|исправь|напиши|объясни|перезапусти|покажи|проверь|продолжай|собери|создай|сделай|"
    "удали|установи)(?:те)?|"
    # Chinese
    "(?:请|麻烦|帮我)?(?:运行|执行|修复|修改|添加|删除|提交|推送|部署|检查|显示|继续|重启|启动|生成|创建|写)"
)
WORK_AT_END = re.compile(
    r"(?:して|してください|してくれ|お願いします|続けて|直して|見せて|해\s?줘(?:요)?|해\s?주세요|하세요|보여\s?줘"
    r"|(?:^|\s)(?:çalıştır|ekle|düzelt|göster|devam et|kontrol et|sil|oluştur|yaz|başlat|gönder)(?:ın|in|ir misin)?)"
    r"[\s.!。!]*$",
    re.IGNORECASE,
)
LEAD = re.compile(rf"(?:(?:{POLITE})[\s,、，]+)*", re.IGNORECASE)
REQUEST = re.compile(rf"(?:{WORK})(?:\b|(?<=[\u4e00-\u9fff]))", re.IGNORECASE)
# What follows the verb of a request, and no noun: «push the branch», but not «push notifications go through Firebase».
OBJECT = re.compile(
    rf"(?:{WORK})\s+(?:the|it|this|that|these|them|an?|all|my|our|me|us|das|die|den|dem|der|eine?n?|es|alles|mir|uns"
    r"|les?|la|une?|el|los|las|lo|il|gli|os|het|een)\b",
    re.IGNORECASE,
)
# These begin like one and state something: «test server is now hera», «update: we moved», «explain it, I am new here».
STATES = re.compile(
    r"^\w+(?:\s+of\b|,|(?:\s+\w+){0,2}:)"
    r"|\b(?:is|are|was|were|has|have|had|will|must|should|may|isn't|aren't|don't|can't|i|we)\b"
    r"|\b(?:ist|sind|war|waren|hat|haben|wird|werden|muss|müssen|soll|sollen|darf|läuft|laufen|liegt|heißt|ich|wir)\b"
    r"|\b(?:est|sont|était|ont|doit|doivent|je|nous|son|está|están|tiene|debe|deben|sono|deve|devono|são|têm)\b"
    r"|\b(?:zijn|heeft|moet|moeten|ik|wij|jest|są|musi|muszą)\b|(?:должн|нужно|надо)|[是在]|です|ます[。]?$(?<!お願いします)",
    re.IGNORECASE,
)
# One for all time is a rule: «run the tests before every commit».
RULE = re.compile(
    r"\b(?:always|never|from now on|whenever|every|each|any ?more|by default|make sure|stop \w+ing|instead of"
    r"|rather than|in (?:this|our|the) (?:repo|repository|project|code|codebase|team))\b"
    r"|\b(?:immer|nie|niemals|jedes?[mnr]?|ab sofort|ab jetzt|künftig|statt|anstatt|nur noch|nicht mehr|keine?n?)\b"
    r"|\b(?:toujours|jamais|chaque|désormais|dorénavant|au lieu|ne|siempre|nunca|cada|en lugar|en vez|no|sempre|mai"
    r"|ogni|invece|non|cada|em vez|não|altijd|nooit|elke?|voortaan|in plaats|geen|niet|zawsze|nigdy|każd\w+|zamiast|nie"
    r"|всегда|никогда|кажд\w+|вместо|не|her zaman|asla|her)\b"
    r"|常に|必ず|毎回|決して|代わり|总是|始终|每次|永远|不要|必须|항상|절대|매번",
    re.IGNORECASE,
)
# An answer that only says that something was done or is being done, in a few words.
FEW_WORDS = 3  # after the word that says so: «Deployed to production.»; with more it may tell what was done and how
ACKNOWLEDGES = re.compile(
    r"(?:all )?(?:done|set|finished|will do|on it|sure|noted|understood|got it|right away|committed|pushed|merged"
    r"|deployed|reverted|restarted|started|stopped|formatted|logged in|(?:it|that) (?:is|was|'s) done"
    r"|running it|working on it"
    r"|(?:i(?:'ve| have|'m| am|'ll| will)? (?:now |just )?)?(?:continu(?:e|ing)|restarted|started|stopped|committed"
    r"|pushed|merged|reverted|ran|rerun|checked|looked)"
    r"|here (?:is|are|you go)|erledigt|fertig|gemacht|mach(?:e)? ich|wird gemacht|verstanden|notiert|gerne?|committet"
    r"|gepusht|gestartet|deployt|ich mache weiter|hier (?:ist|sind)|fait|c'est fait|compris|entendu|bien noté|voici"
    r"|je continue|hecho|listo|entendido|aquí (?:está|están)|sigo|fatto|capito|ecco|feito|pronto|entendi|gedaan|klaar"
    r"|begrepen|gotowe|zrobione|rozumiem|готово|сделано|понял[аи]?|хорошо|tamam|yapıldı|anlaşıldı)\b",
    re.IGNORECASE,
)
# Stems of what stands before something that is only repeated.
ACKNOWLEDGING = frozenset(map(stem, "noted understood agreed alright ok okay right notiert verstanden".split()))
DENYING = frozenset(map(stem, NEGATION_WORDS))
NUMBER = re.compile(r"\d+")
PASSES = re.compile(
    r"(?:all |the |both |now |alle |die |tous |les |todos? |las? |los )*(?:\d+ )?(?:unit |new )?"
    r"(?:tests?|checks?|build)(?: \w+)? (?:pass|passes|passed|succeeds|succeeded|green|ok|passent|bestehen|pasan"
    r"|passano|passam)\b",
    re.IGNORECASE,
)
DONE_AT_END = re.compile(
    r"(?:しました|完了です|了解です|わかりました|完成了|好的|明白了|했습니다|알겠습니다)[\s.!。!]*$"
)
SHORTEST_STATEMENT = 12  # characters of an answer without blanks that says more than that something was done
CODE = re.compile(r"`[^`]*`")
# Words that name nothing to look for, beside the stop words.
EMPTY = frozenset(
    "do does did go ahead make made try again continue proceed next step more once please thanks thank lot ok okay yes"
    " no sure good great fine nice cool right wrong correct look looks see show give help hmm hm yep yeah hello hi hey"
    " morning evening"
    " ja nein bitte danke mach mache machs weiter weitermachen das die der den es so und alles nochmal noch mal gut"
    " zeig oui non merci vas y fais le la les et continue encore si sí no gracias hazlo haz lo sigue otra vez vale"
    " sì fai fallo grazie ancora avanti sim não faz faça obrigado obrigada de nee ga door doe het maar nog een keer"
    " tak nie dalej zrób to jeszcze raz dzięki да нет давай дальше сделай это ещё раз спасибо evet hayır devam et yap"
    " tamam 继续 继续吧 好的 好 是的 可以 谢谢 はい いいえ お願いします 続けて どうぞ"
    " ありがとう 네 아니요 계속 계속해 해줘".split()
)
BREAKS = re.compile(r"[^\w]+")
# A question as people type it, without its mark: «which tool do we use for flags», «wo liegt der Server». In what
# states something («what we agreed on», «when the build fails», «what matters is the order») the verb stands elsewhere.
# «Did the migration last night» and «had the surgery in March» leave «I» out; «had I known» and «should the test fail»
# set a condition.
BE_OR_HAVE = "am|is|are|was|were|has|have|had"
HELPER = "do|does|did|can|could|should|shall|would|will"
ASKER = "i|we|you|he|she|it|they|there|this|that|these|those|the|my|our|your|his|her|its|their"
MEASURED = (
    r"how\s+(?:many|much|long|often|far|big|old|fast|large)|whose\s+\w+"
    rf"|which\s+(?!(?:{BE_OR_HAVE}|{HELPER})\b)\w+|what\s+(?:time|day|date|version|port|kind|sort|type|size)"
)
UNMARKED_QUESTION = re.compile(
    rf"(?:(?:what|when|where|why|how|who|whom)(?:['’]s|\s+(?:{BE_OR_HAVE}|{HELPER}))|who\s+(?:leads|led|owns|owned|knows)"
    rf"|(?:which|what|whose|how)\s+(?!(?:{ASKER})\b)(?:\w+\s+){{1,3}}(?:{HELPER})\s+(?:{ASKER})"
    rf"|(?:{MEASURED})\s+(?:\w+\s+){{0,3}}(?:{BE_OR_HAVE})"
    rf"|(?:is|are|was|were|has|does|will|would|can|could)\s+(?:{ASKER})|(?:do|have)\s+(?:i|we|you|they)|should\s+(?:i|we)"
    r"|did\s+(?:i|we|you|he|she|they|there)"
    r"|(?:was|wer|wo|wie|wann|warum|wieso|womit|wohin|woher)\s+(?:ist|sind|war|waren|hat|haben|kann|können|wird|werden"
    r"|soll|sollen|muss|müssen|gibt|liegt|läuft|heißt|heißen|steht|nutzen|benutzen|verwenden))\b",
    re.IGNORECASE,
)
NOT_INVERTED = "".join(rf"(?<!\b{helper})" for helper in HELPER.split("|"))  # not «which tool do we use»
# Then it is more than a question: «what is new: …», «is the build red, clear the cache», «what's urgent is the index»,
# «who owns the repo decides», «how many there are depends on the load», «did I mention that I moved to Kiel».
MORE_THAN_ASKED = re.compile(
    r"[,;:.!](?:\s|$)|\s[-–—]\s|\b(?:because|but|weil|aber)\b"
    r"|(?:\b(?:am|is|are|was|were|ist|sind)|^\w+['’]s)\b.*\b(?:is|are|was|were|ist|sind|war|waren)\b"
    r"|\s(?:depends|matters|decides|works|stays|goes|gets|does\s+not|doesn['’]t|did\s+not|didn['’]t)\b"
    rf"|{NOT_INVERTED}\s(?:i|we)\s+(?:am|have|had|was|were|moved|live|prefer|use|work|switched|never|always|only)\b|\si['’]m\b",
    re.IGNORECASE,
)
LONGEST_QUESTION = 25  # words, without a mark
LONGEST_ASKED = 300  # characters


def is_chatter(memory: Memory) -> bool:
    """A turn that states nothing: what a tool printed, a question, a request, an answer that only says that it was
    done, «ok, go on». It stays as context of its session."""
    if not memory.role:
        return False
    appraisal = appraise(memory.text)
    passing = appraisal.importance < PASSING and bool(appraisal.reasons)
    asks = memory.role.lower() == USER and only_requests(memory.text)
    return passing or asks or is_no_statement(memory)


def is_no_statement(memory: Memory) -> bool:
    """A turn that certainly states nothing: a question, a request, what a tool printed, or an answer that only says
    that it was done."""
    role = memory.role.lower()
    if not role or role == TOOL or only_asks(memory.text) or (role == USER and only_asks_somehow(memory.text)):
        return bool(role)
    return only_requests(memory.text, certainly=True) if role == USER else only_reports(memory.text)


def informative(hits: Iterable[Hit], leave_out: Callable[[Memory], bool] = is_chatter) -> list[Hit]:
    """Those that tell a reader what is so: without chatter, echoes, and answers to what has changed since."""
    return without_outdated_answers(without_echoes(hit for hit in hits if not leave_out(hit.memory)))


def without_outdated_answers(hits: Iterable[Hit]) -> list[Hit]:
    """Without answers to a turn of the user that conflicts with a newer hit, and without those that say again what
    conflicts with it. Answers are not compared with anything themselves, so nothing else would show that such an answer
    is outdated as well."""
    hits = list(hits)
    by_id = {hit.memory.id: hit.memory for hit in hits}
    pairs = [(by_id[newer], by_id[older]) for newer, older in conflicting_pairs(list(by_id.values()))]
    said = {(older.session, older.position) for _, older in pairs if older.role.lower() == USER}

    def is_outdated(memory: Memory) -> bool:
        if memory.role.lower() in ("", USER):
            return False
        return place_before(memory) in said or any(repeats_outdated(memory, *pair) for pair in pairs)

    return [hit for hit in hits if not is_outdated(hit.memory)]


def repeats_outdated(answer: Memory, newer: Memory, older: Memory) -> bool:
    """Whether it says what the older one does, and was said before the newer one."""
    return answer.happened_at < newer.happened_at and says_again(answer, older)


def place_before(turn: Memory) -> tuple[str, int] | None:
    """The session and position of the turn before it."""
    return None if turn.position is None else (turn.session, turn.position - 1)


def without_repetitions(hits: Iterable[Hit]) -> list[Hit]:
    """The first of several turns with the same words."""
    first: dict[tuple[str, str], Hit] = {}
    for hit in hits:
        words = " ".join(hit.memory.text.casefold().split()) if hit.memory.role else hit.memory.id
        first.setdefault((hit.memory.role, words), hit)
    return list(first.values())


def without_echoes(hits: Iterable[Hit]) -> list[Hit]:
    """Without answers that only repeat what the user said just before them and what is among the hits itself."""
    hits = list(hits)
    said: dict[str, list[Memory]] = {}  # by session
    for memory in (hit.memory for hit in hits):
        if memory.role.lower() == USER:
            said.setdefault(memory.session, []).append(memory)
    return [hit for hit in hits if not any(is_echo(hit.memory, each) for each in said.get(hit.memory.session, ()))]


def is_echo(answer: Memory, said: Memory) -> bool:
    """Of two turns of one session."""
    if answer.role.lower() in ("", USER) or None in (answer.position, said.position):
        return False
    if not 0 < (answer.position or 0) - (said.position or 0) <= NEAR or DOUBT.search(said.text):
        return False
    return says_again(answer, said)


def says_again(answer: Memory, said: Memory) -> bool:
    words = set(content_stems(answer.text)) - ACKNOWLEDGING
    if not negation_diff(answer.text, said.text):
        words -= DENYING  # «I will not» answers «never»
    return bool(words) and len(words.intersection(content_stems(said.text))) >= ECHOED * len(words)


def with_repeated_notes(
    hits: Sequence[Hit], also: Iterable[Hit], look_up: Callable[[Memory], Iterable[Hit]]
) -> list[Hit]:
    """The hits, with a note in place of each answer that only repeats it: what the user noted is worth more than the
    answer that it was understood. The note is one of the hits or of those left out before (`also`), or is looked up."""
    notes = {hit.memory.id: hit for hit in (*also, *hits) if not hit.memory.role}
    kept: dict[str, Hit] = {}
    looked_up = 0
    for hit in hits:
        if not may_repeat_note(hit.memory):
            kept.setdefault(hit.memory.id, hit)
            continue
        note = next((each for each in notes.values() if repeats_note(hit.memory, each.memory)), None)
        if note is None and looked_up < MOST_LOOKED_UP:
            looked_up += 1
            note = next((each for each in look_up(hit.memory) if repeats_note(hit.memory, each.memory)), None)
        if note is None:
            kept[hit.memory.id] = hit
        else:
            raised = replace(note, score=max(note.score, hit.score), relevance=max(note.relevance, hit.relevance))
            kept.setdefault(note.memory.id, raised)
            notes[note.memory.id] = note
    return list(kept.values())


def may_repeat_note(memory: Memory) -> bool:
    return memory.role.lower() not in ("", USER, TOOL) and len(content_stems(memory.text)) <= LONGEST_REPETITION


def repeats_note(answer: Memory, note: Memory) -> bool:
    """Whether the answer says nothing that the note does not: no other number, and the same yes or no."""
    if note.role or negation_diff(answer.text, note.text):
        return False
    return says_again(answer, note) and set(NUMBER.findall(answer.text)) <= set(NUMBER.findall(note.text))


def only_asks_somehow(text: str) -> bool:
    """Whether every sentence that names something is a question, with its mark or without."""
    naming = [each for each in sentences(text) if names_something(each)]
    return bool(naming) and all(only_asks(each) or is_unmarked_question(each) for each in naming)


def is_unmarked_question(sentence: str) -> bool:
    asked = sentence[len(LEAD.match(sentence)[0]) :]  # type: ignore[index]
    if len(asked) > LONGEST_ASKED or len(asked.split()) > LONGEST_QUESTION:
        return False
    return UNMARKED_QUESTION.match(asked) is not None and MORE_THAN_ASKED.search(asked) is None


def is_users_statement(memory: Memory) -> bool:
    return memory.role.lower() == USER and not is_chatter(memory)


def announced_changes(turns: Sequence[Memory]) -> list[Memory]:
    """Those in which the user says that something has changed."""
    stated = (each for each in turns if is_users_statement(each))
    return [each for each in stated if CHANGE.search(each.text) and not AT_WORK.search(each.text)]


def only_requests(text: str, *, certainly: bool = False) -> bool:
    """Whether every sentence asks for a piece of work; `certainly`, where no first word could be a noun instead."""
    return all(is_request(each) and (not certainly or names_object(each)) for each in sentences(text))


def names_object(request: str) -> bool:
    asked = request[len(LEAD.match(request)[0]) :]  # type: ignore[index]
    return bool(OBJECT.match(asked) or WORK_AT_END.search(asked))


def is_request(sentence: str) -> bool:
    asked = sentence[len(LEAD.match(sentence)[0]) :]  # type: ignore[index]
    return bool(REQUEST.match(asked) or WORK_AT_END.search(asked)) and not (RULE.search(asked) or STATES.search(asked))


def only_reports(text: str) -> bool:
    """Whether every sentence says no more than that a step was done, or will be."""
    return all(map(is_report, sentences(text)))


def is_report(sentence: str) -> bool:
    plain = CODE.sub("", sentence)
    if PASSES.match(plain):
        return len(words(plain)) <= 2 * FEW_WORDS
    if DONE_AT_END.search(plain):
        return len(plain) <= SHORTEST_STATEMENT
    acknowledges = ACKNOWLEDGES.match(plain)
    if acknowledges is None or ":" in plain or any(sign.isdigit() for sign in plain):
        return False
    return len(words(plain[acknowledges.end() :])) <= FEW_WORDS


def names_something(prompt: str) -> bool:
    """Whether one of its words can be looked for: «do it», «ja, mach weiter» and «はい、お願いします» have none."""
    return any(each not in EMPTY and each not in STOP_WORDS for each in BREAKS.split(prompt.casefold()) if each)
