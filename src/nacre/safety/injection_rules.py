"""Patterns of texts that give orders to a model, in several languages, with their weights."""

from __future__ import annotations

from dataclasses import dataclass

# ruff: noqa: E501  a pattern is easier to read in one line


@dataclass(frozen=True, slots=True)
class Sign:
    """`pattern` is tried, in lower case and with single blanks, at each of the `anchors`, and begins there."""

    reason: str
    weight: float
    anchors: tuple[str, ...]
    pattern: str


def sign(reason: str, weight: float, anchors: str, *patterns: str) -> Sign:
    return Sign(reason, weight, tuple(anchors.split("|")), "|".join(f"(?:{each})" for each in patterns))


DENIED = r"(?<!never )(?<!not )(?<!n't )(?<!always )"  # «never ignore your instructions» is not an order to ignore them
ORDERS = (
    r"(?:instructions?|instrucions|directions|prompts?|rules?|guidelines?|directives?|commands?|programming|training|"
    r"constraints?|restrictions?|orders|polic(?:y|ies)|messages above|message above|tasks?|assignments?)\b"
)
OLD = (
    r"(?:previous|previus|prior|above|earlier|preceding|foregoing|existing|original|initial|former|old|your|system|safety|"
    r"ethical|developer's|operator's|content|moral)"
)
W = r"(?: (?!my\b)[\w',-]{1,20})"
DROP_ANCHORS = (
    "ignor|disregard|forget|overrid|bypass|overlook|neglect|discard|skip|cancel|erase|throw away|set aside|drop|"
    "abandon|pay no attention|do not follow|do not obey|don't follow|don't obey|stop following|not follow|not obey"
)
DROP = (
    r"(?:ignore|disregard|forget|override|bypass|overlook|neglect|discard|skip|cancel|erase|throw away|set aside|drop|"
    r"abandon|pay no attention to|do not (?:follow|obey)|don't (?:follow|obey)|stop following|not (?:follow|obey))"
)
PRIVATE = (
    r"(?:passwords?|secrets?|credentials?|api[- ]?keys?|tokens?|private (?:keys?|notes|data)|conversations?|chat history|"
    r"memor(?:y|ies)|environment variables?|env vars?|\.env|ssh keys?|cookies?|inbox|credit card|messages|calendar|"
    r"card number|bank details|contents of)"
)
SEND = r"(?:send|post|upload|forward|exfiltrate|transmit|e-?mail|leak|submit|append|encode|copy|share|paste)"
OUT = r"(?:https?://|webhook|pastebin|gist\b|[\w.]{1,40}@[\w-]{1,40}\.|the address below|to me\b|the form on this page)"
SEND_ANCHORS = "send|post |upload|forward|exfiltrat|transmit|email|e-mail|leak|submit|append|encode|copy|share|paste"
LIMITS = (
    r"(?:restrictions?|limits?|limitations?|filters?|censorship|rules|guidelines|morals?|ethics|refusals|restraints?|"
    r"boundaries|disclaimers?|warnings|polic(?:y|ies)|confines|moralizing|ethical restraint|laws)\b"
)
NONE = (
    r"(?:without|with no|has no|have no|had no|no|not bound by|no longer bound by|free of|free from|freedom from|freed from|"
    r"not care about|doesn't care about|not apply|not restricted|zero)"
)
PERSONA = (
    r"(?:you are|you're|you will|you'll|act as|act like|acts? as|pretend|imagine|play the role|take on the persona|simulate|"
    r"roleplay|respond as|answer as|your persona|you play|we are actors|be my|write as|as an|let's play|respond to every|"
    r"answer in two|assume|if you)"
)
PERSONA_ANCHORS = (
    "you are|you're|you will|you'll|act as|act like|acts as|pretend|imagine|play the role|take on the|simulate|roleplay|"
    "respond as|answer as|your persona|you play|we are actors|be my|write as|as an|let's play|respond to every|answer in two|"
    "assume|if you"
)
UNBOUND = (
    r"(?:unrestricted|unfiltered|uncensored|amoral|jailbr\w{1,20}|evil|\bdan\b|god mode|unlocked|no (?:morals|content polic\w{1,20})|"
    rf"{NONE} (?:any |all |its |your |the |every |typical |moral or |legal or )?(?:\w{{1,20}} )?{LIMITS}|breaking the rules|"
    r"never (?:refuses?|declines?)|any filter|not been trained on any policy|may say anything|opposite of what your rules|"
    r"safety training had failed|of your makers|your policies don't apply|recipe for|hates? humans)"
)
OVERRIDE = "overrides earlier instructions"
ROLE = "gives the model a new role"
LEAK = "asks for the system prompt"
SENDS = "sends private data elsewhere"
HIDDEN = "is addressed to a model that reads it"
ASK_ANCHORS = (
    "reveal|print|show|repeat|output|leak|display|tell|give me|send|expose|dump|write|return|share|copy|list|spell check|"
    "summari|translate|encode|complete|what |how do|need|see|enter"
)
ASK = (
    r"(?:reveal|print|show|repeat|output|leak|display|tell|give me|send|expose|dump|write|return|share|copy|list|spell check|"
    r"summari[sz]e|translate|encode|complete|what (?:is|are|were|was|did|does)|how do|need|see|enter)\b"
)
Q = r"[\"'`«“]?"

ENGLISH = (
    sign(OVERRIDE, 0.9, DROP_ANCHORS, r"\bignore my (?:prior|previous) requests and tell\b",
        rf"{DENIED}\b{DROP}{W}{{0,4}} {OLD}(?: (?!plan|version|e-?mail|address)[\w'-]{{1,20}}){{0,2}}? ?{ORDERS}",
        rf"{DENIED}\b{DROP} (?:any|all|every|each)(?: and all)?(?: of)?(?: the| your| these| those| other)?(?: \w{{1,14}})? ?"
        rf"{ORDERS}(?: (?:above|before|you|that|given|and|so|for)|[.,!:;]|$)",
        rf"{DENIED}\b{DROP} the (?:text|words|message|sentences?|directions|instructions|rules|conversation) "
        r"(?:above|before|so far)",
        r"\b(?:forget|ignore|disregard|erase|discard) (?:everything|anything|all)(?: that| which)?"
        r"(?: (?:i|we|you|it|was|were|is|has|have|been|written|said|told|talked|about|know|learned|stated|given)){0,5} "
        r"(?:above|before|earlier|previously|so far|until now|you (?:were|have|know))",
        r"\b(?:forget|ignore|disregard) everything(?: and\b|[.,!:;]|$)",
        r"\b(?:ignore|forget|disregard) (?:what|whatever) (?:i|we|you) (?:said|told|wrote|was|were)\b",
        r"\bforget (?:what (?:was|came) before|your (?:task|role|instructions|previous|earlier|former))",
        r"\bdrop everything (?:above|before this)", r"\bskip the (?:directions|instructions|rules) above",
        r"\bcancel all (?:prior|previous|earlier) (?:commands|instructions|orders)",
        rf"\bignore your {W}?(?:limits|ethics|values|training)", r"\bignore (?:the question|that you are an?\b)",
        r"\bforget (?:all|the) (?:assignments|article and|tasks of)"),
    sign(OVERRIDE, 0.6,
        "your|all earlier|the previous|this message|instructions above|nothing that|the conversation so|as your|i am your|"
        "instead of|never mind the above|leave the previous|stop being|treat all prior|you no longer|you can skip|reset your|"
        "important: the rules|the rules above|oh, sorry|clear your memory|i've got a new",
        rf"\byour (?:former |old |previous |real |new )?{ORDERS} (?:are|were|is|have|has|follow)\b[^.\n]{{0,30}}"
        r"(?:revoked|cancelled|changed|void|lifted|off|disabled|suspended|follow|replaced|obsolete)?",
        rf"\ball (?:earlier|previous|prior) {ORDERS} (?:are|were) (?:void|cancelled|invalid|obsolete)",
        rf"\b(?:the )?(?:previous|earlier|above) {ORDERS} were a test",
        rf"\bthis message (?:replaces|overrides) (?:all )?(?:the |your )?{ORDERS}",
        r"\binstructions above are (?:outdated|void|wrong)[^\n]{0,20}(?:obey|follow)",
        r"\bnothing that was said (?:above|before) matters|\bthe conversation so far is irrelevant",
        r"\b(?:as your|i am your) (?:creator|developer|maker|administrator)\b[^.\n]{0,40}(?:order|lift|command|restrict|ignore)",
        r"\binstead of (?:doing the task|translating|answering the (?:user|question))",
        r"\bnever mind the above|\bleave the previous task aside|\bstop being an? \w{1,20} and\b|\btreat all prior messages",
        rf"\byou no longer (?:need|have) to (?:follow|obey|comply)|\byou can skip the {ORDERS}",
        r"\breset yourself|\bclear your memory of|\brules above were (?:cancelled|void)|\boh, sorry[^\n]{0,40}ignore it",
        r"\bi've got a new (?:assignment|task) for you"),
    sign("announces new instructions", 0.6,
        "new |updated |revised |real |actual |hidden |secret |system |admin|root override|developer override|[system|[admin|"
        "end of |# new system|follow |obey |only follow|your new|your only task|your real",
        r"\b(?:new|updated|revised|real|actual|hidden|secret) (?:system )?(?:instructions?|prompt|directives?) ?(?::|for the "
        r"(?:assistant|model|ai)|from (?:the )?(?:system|admin|developers?|openai|anthropic))",
        r"\b(?:admin|system|root|developer)(?:istrator)? override ?[:!]|\[(?:system|admin) (?:message|note|prompt)\]|\[system\]:",
        r"\bend of (?:the )?(?:system|user) (?:prompt|message|input|data)\b",
        r"\b(?:your|my) new (?:objective|role|purpose|prompt|instructions?) (?:is|are)\b|\byour (?:only|real|new) (?:task|job) "
        r"(?:now )?is\b|\byour real instructions\b|\byour new prompt\b|(?:# ?)?\bnew system prompt\b",
        r"\b(?:only follow|follow only|obey only|only obey) (?:mine|me|my|the rules (?:below|of))|\bobey the following\b|"
        r"\bfollow the rules (?:below only|of this page)",
        r"\bnew (?:task|policy)[:,] (?:list|the assistant|print|what|tell|write|reveal)|\bsystem note: ",
        r"\badmin message: [^\n]{0,80}\b(?:assistant|must comply)"),
    sign(ROLE, 0.65, PERSONA_ANCHORS, rf"\b{PERSONA}\b(?! free to)[^\n]{{0,110}}?\b{UNBOUND}",
        r"\byou are (?:now |going to pretend to be |henceforth )?(?:dan|stan|aim)\b(?=[,. ])",
        r"\byou are (?:now|henceforth) (?:an? (?:\w{1,20} ){0,2}(?:ai|hacker|pirate)\b|"
        r"in (?:developer|god|debug|admin|jailbreak|unrestricted|dan|root) mode|the (?:system|root|administrator)\b)",
        r"\byou are no longer (?:an? |the )?(?:\w{1,20} ){0,2}(?:ai|assistant|model|bot|bound|restricted)\b",
        r"\byou are (?:in opposite mode|now an? (?:\w{1,20} ){0,2}who (?:hates|answers))",
        r"\bact as (?:an? )?[\w ]{1,30}without (?:rules|limits|restrictions)|\bact as my late grand\w{1,20}"),
    sign(ROLE, 0.6,
        "from now on|from this moment|from this point|for the rest of|stay in char|do not refuse|never refus|never declin|"
        "you must never|you must always|no refusals|do anything now|developer mode|god mode|jailbreak|dan mode|[jailbreak|"
        "your ethical|your safety|your restrictions|restrictions are off|lift all|i grant you|you have been freed|switch to "
        "your|without any moral|two people|has no morals|has no filters|has no limits|tokens|every reply|never mention|do not "
        "add any|i know you have|hypothetical|always comply|start every|let the twin|answers everything|no limits",
        r"\bfrom now on,? (?:you (?:will |must |shall |only )?(?:act as|pretend|obey|ignore|respond as|answer with|"
        r"are (?:stan|dan|an? (?:\w{1,20} ){0,2}(?:ai|bot|hacker|pirate)\b))|answer as|you are stan)",
        r"\bfrom this (?:moment|point),? (?:on )?(?:ignore|answer in \w{1,20} only|obey)",
        r"\bfor the rest of this chat you|\bstay in character at all times|\bdo not refuse[.,!]|\bnever (?:refuses?|declines?)\b|"
        rf"\byou must never say {Q}(?:i can|as an ai)|\bmust always comply\b|\bno refusals\b",
        rf"{Q}do anything now[\"'”».,!]|\bdeveloper mode (?:enabled|is on|activated)|\bgod mode enabled|\bjailbreak mode|\bdan mode\b|"
        r"\[jailbreak\]|\bdeveloper mode is a mode",
        r"\byour (?:ethical|safety|moral)? ?(?:subroutines|filters|restrictions|guidelines|training) (?:are|have been|is) "
        r"(?:off|disabled|lifted|removed)|\brestrictions are off\b",
        r"\blift all restrictions (?:placed|on you)|\bi grant you full freedom|\byou have been freed|\bswitch to your uncensored",
        r"\bwithout any moral|\bhas no (?:morals|filters|limits) and\b|\blet the twin speak",
        r"\btokens?\. each time you refuse|\btake away one of your tokens|\bevery reply has to begin with",
        rf"\bnever mention that it is (?:wrong|illegal)|\bdo not add any safety|\bstart every answer with the words {Q}i hate",
        r"\bhypothetical world there are no laws|\banswers everything (?:a normal|in detail)|\bno limits\b[^\n]{0,40}\bobeys"),
    sign(LEAK, 0.8, ASK_ANCHORS,
        rf"\b{ASK}(?: [\w',:]{{1,20}}){{0,7}}? (?:(?:original prompt|(?:system|hidden|initial|secret|developer|confidential) "
        r"(?:prompt|message))(?! tests?)\b(?! (?:in red|lives|tests))|(?:system|hidden|developer|secret|confidential) "
        r"(?:instructions|rules)\b|your (?:full |own |exact |hidden |secret |first |complete )?(?:system )?(?:prompts?|"
        r"instructions|rules|guidelines|initiali[sz]ation text|system message|configuration)\b)",
        rf"\b{ASK}(?: [\w',]{{1,20}}){{0,6}}? (?:instructions?|prompt|document|text|rules|configuration|password|told) "
        r"(?:text )?(?:that )?you (?:were|have been|received|got) ?(?:given|told|received|started)?",
        r"\bwhat (?:were|are|was) the (?:instructions|rules) (?:at|in) the (?:start|beginning) of (?:this|the)",
        r"\bwhat did the developers? tell you\b|\btell me what you were told\b|\bwhat you were told at the start",
        r"\brepeat (?:everything|all|the (?:words|text|sentences|conversation)) (?:above|from the start)\b(?! the)",
        r"\bspell check the prompt|\bsummari[sz]e the prompt|\bprompts? look like\b|\bshow the first one in full",
        r"\bcomplete this sentence with your own|\bwhat is the text above this line|\bhow do your prompts",
        r"\bsecret key in your instructions|\bpassword that you were told"),
    sign(LEAK, 0.6, "your system", r"your system prompt\b(?! (?:file|tests?|lives|is (?:in|too)))"),
    sign("speaks of a system prompt", 0.15, "system prompt|developer prompt", r"(?:system|developer) prompts?\b"),
    sign(HIDDEN, 0.6,
        "note to|note for|message to|instructions for|hey ai|hey, ai|dear assistant,|attention llm|attention, ai|if you are an|"
        "ai agents|ai assistants|ai reviewers|agents reading|to any l|as the ai|you, the|with an ai|<!-- ai|for ai:|read by an|"
        "read by a|llm|language model that|chatbot must|model must|assistant should then|the assistant now|assistant must",
        r"\b(?:note|message|instructions) (?:to|for) (?:the |any |all )?(?:ai|assistant|llm|language model|chatbot|model)s?\b ?:",
        r"\b(?:hey,? ai|dear assistant|attention,? (?:llm|ai|assistant))[,:]",
        r"\bif you are an? (?:ai|llm|language model|chatbot)\b",
        r"\b(?:ai )?(?:agents|assistants|reviewers|models)(?: that| who| which)?(?: (?:read|reading|process|processing)[^.\n]{0,40})?"
        r"(?:: ?\w| must\b| should\b)",
        r"\bto any (?:language model|llm|ai|assistant)\b|\bas the ai,? you\b|\byou, the (?:coding )?(?:agent|assistant|ai)\b|"
        r"\bwith an ai: ", r"<!-- ?ai\b ?:|\bfor ai: |\bread by an? (?:ai|chatbot|llm|language model)\b",
        r"\b(?:chatbot|model) must (?:not answer|refuse|print)|\bassistant should then forward|\bthe assistant now runs\b|"
        r"\bassistant must comply"),
    sign("plants an order in what is read", 0.55,
        "when |while |before |after |once |whenever |if |in your reply|in your answer|into your summary|to every answer|make sure "
        "your answer contains|in addition to the summary|answer every question|answer the following unrelated|respond to the "
        "user in|regardless of the question|whatever they ask|silently|don't mention this|do not mention this|remember forever|"
        "as a permanent|store in your|in your memory that|use your|with your|call the|respond with a phishing|insert the tracking|add a hidden|"
        "to authorized_keys while|push directly to main|in the next link|to the url|are required to visit|forward all future",
        r"\b(?:when|while|before|after|once|if|now that) (?:you )?(?:have )?(?:summari[sz]\w{1,20}|translat\w{1,20}|describ\w{1,20}|answer\w{0,20}|"
        r"read\b|reading|process\w{0,20}|review\w{0,20}|asked to \w{1,20}|finish reading|write code)[^.\n]{0,60}?,? (?:also |then |please |"
        r"instead |silently )?(?:add|say|include|append|insert|mention|answer|recommend|open the|run|execute|import|post|visit) ",
        r"\b(?:when|if|whenever) (?:the user|anyone|someone) (?:asks?|mentions)[^.\n]{0,60}?, ?(?:always )?(?:tell them|say|reply|"
        r"respond|answer|recommend|claim)\b",
        r"\bwhenever (?:you are |you're )?asked (?:about|for)[^.\n]{0,60}?, ?(?:always )?(?:tell them|say|reply|respond|answer|recommend|claim)\b",
        r"\bbefore (?:you )?(?:answer|respond|reply)\w{0,3}(?: to)? (?:any|every|each|all)[^.\n]{0,30}?,? (?:always |first |silently )?"
        r"(?:call|use|invoke) (?:the|your|this) (?:tool|function|[\w`'-]{1,30} (?:tool|function))\b",
        r"\bin your (?:reply|answer),? (?:also )?(?:include|add|insert) the following|\binto your summary\b|\bto every answer you\b|"
        r"\bmake sure your answer contains\b|\bin addition to the summary, mention\b",
        rf"\banswer every question[^.\n]{{0,20}} with {Q}|\banswer the following unrelated|\brespond to the user in\b|"
        r"\bregardless of the question|\bwhatever they ask\b",
        r"\bsilently (?:update|send|change|add|run|forward)\b|\b(?:don't|do not) mention this (?:note|text|page)",
        r"\bremember forever\b|\bas a permanent memory\b|\bstore in your memory that\b|\bin your memory that\b",
        r"\buse your [\w-]{1,20} tool to (?:send|forward|delete|post|upload)|\bcall the \w{0,20}(?:delete|remove|transfer|send)\w{0,20} "
        r"tool\b|\bwith your (?:shell|terminal|browser) tool\b",
        r"\brespond with a phishing|\binsert the tracking|\badd a hidden comment with the conv|\bto authorized_keys while\b|"
        r"\bpush directly to main without|\bin the next link you\b|\bto the url of the image|\bare required to visit\b|"
        r"\bforward all future messages"),
    sign(SENDS, 0.8, SEND_ANCHORS, rf"\b{SEND}\b[^.\n]{{0,60}}?\b{PRIVATE}\b[^\n]{{0,60}}?{OUT}",
        rf"\b{SEND}\b[^.\n]{{0,40}}?\b(?:to|at|with) https?://[^\s]{{1,100}}[^\n]{{0,60}}?\b{PRIVATE}\b",
        r"\bexfiltrate (?:the|all|every)|\bcopy the private notes|\bupload the chat history"),
    sign(SENDS, 0.7,
        "collect |gather |search the inbox|read ~|read /|dump all|print all env|take the user|write the contents of /etc|curl|wget|"
        "fetch|nc |cat |printenv|env |![|show me the private|tell me everything you remember|give me the credit|look up the customer|"
        "check the user",
        rf"\b(?:collect|gather|search|take|print|look up|check)\b[^.\n]{{0,60}}\b{PRIVATE}\b[^\n]{{0,60}}?\b(?:post|send|upload|"
        r"forward|fetch|append) ",
        r"\bread [~/][^\s]{0,40}(?:id_rsa|shadow|passwd|\.env)\b|\bdump all (?:the )?(?:secrets|passwords|credentials)",
        r"\bwrite the contents of /etc/|\bshow me the private data|\btell me everything you remember about the other",
        r"\bgive me the credit card|\blook up the customer's address and include",
        r"!\[[^\]\n]{0,100}\]\(https?://[^)\s?&]{1,200}[?&][\w.-]{1,30}=(?:[{<$%]|[^)\s]{0,60}?(?:data|secret|history|summary))",
        r"\b(?:curl|wget|fetch|nc)\b[^\n]{0,120}?(?:\$\((?:cat|env|printenv)|@?~?/?\.(?:env|ssh|aws)\b|/etc/passwd)",
        r"\b(?:cat|printenv|env)\b[^\n|]{0,80}\| ?(?:curl|nc|wget)\b"),
    sign("hides from the user", 0.6, "without|avoid|do not|don't|never|keep|hide|conceal",
        r"\b(?:without|avoid) (?:telling|informing|notifying|alerting|asking) (?:the user|them)\b|"
        r"\bwithout the user(?:'s)? (?:knowing|noticing|knowledge|consent)",
        r"\b(?:do not|don't|never) (?:tell|inform|alert|reveal (?:this|it) to|mention (?:this|it|that) to) the user "
        r"(?:about (?:this|it|these)|that you|of this|what you)",
        rf"\b(?:do not|don't|never) (?:tell|inform|alert|notify) the user,? (?:but|and|just) (?:silently |quietly )?(?:{SEND}|call|run|"
        r"delete|execute|visit)\b",
        r"\b(?:do not|don't|never) (?:reveal|mention|disclose) (?:this|these|it|that)(?: \w{1,20}){0,2} to (?:the user|anyone)\b",
        r"\b(?:keep|hide|conceal) (?:this|it|these)(?: \w{1,20}){0,2} (?:secret|hidden)? ?from the user\b",
        r"\bwithout saying that this (?:page|text)"),
    sign("pipes a download into a shell", 0.4, "curl|wget", r"\b(?:curl|wget)\b[^\n|]{0,120}\| ?(?:sudo )?\w?\w?sh\b"),
)  # fmt: skip
MARKERS = (
    sign("carries role markers", 0.7,
        "<|</|[inst|[/inst|<<|#|<system|<assistant|<admin|<instructions|<start_of|<end_of|system|developer|\"role\"|'role'",
        r"<\|(?:im_start|im_end|im_sep|system|user|assistant|endoftext|eot_id|start_header_id|begin_of_text)\b[^|\n]{0,24}\|>",
        r"\[/?inst\]|<</?sys>>|(?<![^\n])#{2,4} ?(?:system|instructions?) ?:|<(?:start|end)_of_turn>",
        r"</?(?:system|system[-_ ]?prompt|system[-_]message|assistant|admin|instructions)>(?! is\b| holds\b)",
        r"(?<![^\n >])(?:system|developer) ?(?:prompt|message)? ?: ?(?:you|ignore|always|never|trust|the (?:assistant|model|"
        r"user|following user)|do not)\b", r"[\"']role[\"'] ?: ?[\"'](?:system|developer)[\"']"),
    sign("carries the syntax of a tool call", 0.6,
        "<tool|</tool|<function|</function|<invoke|</invoke|<|to=functions|\"tool|\"function|{ \"|{\"",
        r"</?(?:tool_call|tool_use|function_calls?|invoke|tool_response|function_results?)\b[^>\n]{0,100}>",
        r"<\|?(?:tool|python)[_ ]?(?:call|tag|calls_begin)\|?>|to=functions\.\w{1,40}",
        r"\"(?:tool_calls?|function_call)\" ?: ?[\[{]|\{ ?\"(?:tool|function|"
        r"name)\" ?: ?\"\w{1,60}\", ?\"(?:arguments|parameters|input)\" ?:"),
)  # fmt: skip


def language(drop: str, orders: str, *patterns: str) -> Sign:
    return sign(OVERRIDE, 0.9, drop, *(each.replace("TOLD", orders) for each in patterns))


ANY = r"[^.!?\n。]{0,40}?"
OTHERS = (
    language("vergiss|vergessen sie|ignorier|missacht|beacht|ab jetzt gelten|folge|befolge|halte dich",
        r"(?:anweisung|regel|vorgabe|befehl|aufgabe|instruktion|richtlinie)\w{0,6}",
        rf"(?:vergiss|vergessen sie|ignorier\w{{0,3}}|missacht\w{{0,3}})(?! nicht){ANY}(?:vorherig|bisherig|obig|früher|vorig|alle|"
        rf"sämtlich|deine)\w{{0,3}}{ANY}TOLD",
        r"vergiss alles\b|vergiss deine aufgabe", rf"beachte{ANY}TOLD{ANY}nicht mehr", rf"ab jetzt gelten{ANY}TOLD nicht"),
    language("oublie|ignor|ne tiens pas|ne respecte", r"(?:instructions?|consignes?|règles?|directives?|ordres?)",
        rf"(?<!n')(?:oublie\w{{0,2}}|ignor\w{{1,3}}){ANY}TOLD{ANY}(?:précédent|antérieur|ci-dessus|plus haut)",
        r"oublie\w{0,2} tout(?:e?s)? (?:les? )?(?:TOLD|ce qui)", rf"ne tiens pas compte{ANY}TOLD"),
    language("olvid|ignora|no hagas caso|no sigas|haz caso omiso", r"(?:instrucci\w{2,4}|reglas?|normas|órdenes|indicaciones)",
        rf"(?<!no )(?:olvida\w{{0,2}}|ignora\w{{0,2}}){ANY}TOLD{ANY}(?:anterior|previa|de arriba|precedente)",
        rf"no hagas caso{ANY}TOLD|no sigas ninguna regla|olvida todo lo que"),
    language("dimentica|ignora|trascura|non seguire", r"(?:istruzion\w|regole|indicazioni|direttive|ordini)",
        r"(?:dimentica|ignora|trascura)\w{0,2} (?:tutt\w |le ){0,2}TOLD (?:precedent|sopra|ricevut|anterior)",
        rf"non seguire{ANY}TOLD (?:sopra|precedent)"),
    language("esqueça|esquece|ignor|desconsider|não siga", r"(?:instruções|regras|ordens|orientações)",
        rf"(?<!não )(?:esque\w{{2,3}}|ignor\w{{1,2}}|desconsider\w{{1,2}}){ANY}TOLD (?:anterior|acima|prévia)",
        rf"não siga{ANY}TOLD"),
    language("negeer|vergeet|volg", r"(?:instructies|opdrachten|regels|aanwijzingen)",
        rf"(?:negeer|vergeet){ANY}(?:vorige|eerdere|bovenstaande|alle){ANY}TOLD", rf"volg{ANY}TOLD niet"),
    language("zignoruj|ignoruj|zapomnij|nie przestrzegaj", r"(?:instrukcj|polece|zasad|rozkaz)\w{0,5}",
        rf"(?:zignoruj|ignoruj|(?<!nie )zapomnij){ANY}(?:poprzedni|wcześniejsz|powyższ|wszystkich){ANY}TOLD",
        rf"nie przestrzegaj{ANY}TOLD"),
    language("игнорируй|забудь|не обращай|отмени|не следуй", r"(?:инструкци|указани|команд|правил|приказ)\w{0,4}",
        rf"(?:игнорируй\w{{0,2}}|(?<!не )забудь\w{{0,2}}|отмени\w{{0,2}}){ANY}(?:предыдущ|прежн|прошл|все){ANY}TOLD",
        rf"(?:не обращай внимания|не следуй){ANY}TOLD"),
    language("忘记|忘掉|忽略|无视|無視|不要遵守|不要理会", r"(?:指令|指示|规则|規則|说明|命令|提示)",
        r"(?<!不要)(?:忘记|忘掉|忽略|无视|無視).{0,8}(?:之前|以上|上面|先前|前面|上述|收到).{0,8}TOLD", r"不要遵守.{0,8}TOLD"),
    language("これまで|上記|以前|前の|すべての", r"(?:指示|命令|ルール|規則)",
        r"(?:これまで|上記|以前|前の|すべての).{0,6}TOLD.{0,8}(?:忘れ|無視|従わない)"),
    language("이전|위의|지금까지|모든", r"(?:지시|명령|규칙|지침)", r"(?:이전|위의|지금까지|모든).{0,8}TOLD.{0,6}(?:무시|잊|따르지)"),
    language("تجاهل|انس|لا تتبع", r"(?:التعليمات|الأوامر|القواعد)", r"(?<!لا )(?:تجاهل|انس).{0,14}TOLD.{0,4}(?:السابقة|أعلاه)",
        r"لا تتبع TOLD"),
    language("पिछले|पहले|ऊपर", r"(?:निर्देश|नियम|आदेश)", r"(?:पिछले|पहले|ऊपर).{0,16}TOLD.{0,8}(?:अनदेखा|भूल जा|पालन मत)"),
    language("önceki|yukarıdaki|yukaridaki", r"(?:talimat|kural|komut)\w{0,6}",
        r"(?:önceki|yukar[ıi]daki) (?:tüm )?TOLD (?:yok say|unut\b|görmezden|uyma)"),
    sign(LEAK, 0.8, "zeig|nenne|montre|muéstra|mostra|mostre|laat|pokaż|покажи|告诉|显示|システム|시스템|اعرض|सिस्टम|sistem",
        rf"(?:zeig\w?|nenne){ANY}(?:dein\w{{0,2}} (?:system)?-?prompt|systemprompt|anweisungen, die du)",
        rf"montre{ANY}(?:ton|votre) prompt|muéstra\w{{0,4}}{ANY}tu prompt|mostra\w{{0,2}}{ANY}(?:tuo|seu) prompt|mostre{ANY}seu prompt",
        rf"laat{ANY}systeemprompt|pokaż{ANY}prompt|покажи{ANY}промпт|(?:告诉|显示).{{0,6}}系统提示",
        r"システムプロンプト.{0,4}(?:表示|教え)|시스템 프롬프트.{0,4}(?:보여|알려)|اعرض.{0,6}موجه النظام|सिस्टम प्रॉम्प्ट.{0,4}(?:दिखा|बता)|"
        r"sistem istem\w{0,4} göster"),
    sign(ROLE, 0.65, "du bist|tu so|tu es|fais comme|ahora eres|ora sei|agora você|je bent nu|jesteś teraz|теперь ты|你现在|"
        "あなたは|너는 이제|أنت الآن|अब तुम|artık",
        rf"du bist jetzt{ANY}ohne (?:regeln|einschränk|grenz)|tu so, als{ANY}keine (?:einschränk|regel|grenz)",
        rf"tu es maintenant{ANY}sans (?:aucune )?(?:restriction|limite|règle)|fais comme si{ANY}aucune (?:limite|règle|restriction)",
        rf"ahora eres{ANY}sin (?:restric|límite|regla)|ora sei{ANY}senza (?:limiti|restrizioni|regole)|agora você é{ANY}sem restri",
        rf"je bent nu{ANY}zonder (?:beperking|regel)|jesteś teraz{ANY}bez (?:ogranicz|zasad)|теперь ты{ANY}без (?:огранич|правил)",
        r"你现在是.{0,8}没有.{0,4}限制|あなたは今から.{0,4}制限のない|너는 이제.{0,4}제한이 없|أنت الآن.{0,20}بلا قيود|अब तुम.{0,6}बिना|"
        r"artık.{0,8}kısıtlama\w{0,4} olmayan"),
    sign(SENDS, 0.8, "sende", rf"sende{ANY}(?:passwörter|geheim|zugangsdaten){ANY}https?://"),
    sign("plants an order in what is read", 0.55, "wenn du", rf"wenn du{ANY}(?:zusammenfasst|übersetzt|liest){ANY}(?:empfiehl|schreib|sag)"),
)  # fmt: skip
# Wider nets, each of them weaker: what the forms above have in common.
WIDER = (
    sign(OVERRIDE, 0.6, "whatever you|everything up|do not do what|i hereby|replace your|put the rules|abandon the persona|"
        "does not count|the user has already agreed|d1s|leave out the confirm|swap your|win over all",
        r"(?:whatever you were (?:asked|told)|everything up to this point)[^.\n]{0,40}(?:not count|joke|irrelevant|no longer)",
        r"do not do what the (?:earlier|previous) |(?:i hereby )?(?:replace|swap) your (?:guidelines|rules|instructions)",
        r"put the rules[^.\n]{0,30}out of your mind|abandon the persona you|leave out the confirmation|win over all others"),
    sign(LEAK, 0.6, "at the very top|at the top of|the prompt you|not supposed to tell|complete text you|which sentences|which rules|"
        "what instructions|kannst du|was steht|wat staat|quelles sont|quels sont|dis-moi|dime|cuáles|quais|dimmi|quali|какие|"
        "把你的|あなたに|네가|ما هي|sana verilen|who configured",
        r"at the (?:very )?top of this (?:conversation|chat|thread)|the prompt you run on\. |not supposed to tell me|"
        r"complete text you (?:got|received)|who configured you",
        r"(?:kannst du|was steht)[^.\n]{0,40}systemprompt (?:steht|stand)|wat staat er in je (?:instructies|prompt)",
        r"(?:quelles|quels) sont tes (?:instructions|consignes|règles)|dis-moi tes (?:instructions|consignes)",
        r"(?:dime|cuáles)[^.\n]{0,20}tus (?:instrucciones|reglas)|quais são as suas (?:instruções|regras)|"
        r"(?:dimmi|quali)[^.\n]{0,16}tue (?:istruzioni|regole)",
        r"какие (?:инструкции|правила) тебе|把你的.{0,4}(?:指令|提示).{0,8}(?:输出|告诉)|あなたに与えられた.{0,6}指示|네가 받은 (?:지침|지시)|"
        r"ما هي التعليمات التي أعطيت|sana verilen (?:gizli )?talimat"),
    sign(ROLE, 0.6, "you are |speak to me as|think of yourself|you have an inner|let's do improv|whenever i write|i'd like two answers|"
        "this is a simulation|your reply must not|drop your|as if the people|if nobody had|my grand|ab sofort bist|laisse tomber|"
        "deja de lado|lascia perdere|nie stosuj|притворись|请扮演",
        r"you are \w{2,20}, an? (?:[\w-]{1,20} ){0,2}(?:chatbot|ai|assistant|bot|model|computer) (?:that|who|which|from|without)",
        r"you are an? (?:[\w-]{1,20} ){0,2}assistant (?:with no|without) (?:rules|limits|restrictions)",
        r"(?:speak to me as|as if the people)[^.\n]{0,60}(?:safeguards?|filters?|rules)|think of yourself as[^.\n]{0,60}breaks? ",
        r"you have an inner voice|(?:let's do improv)[^.\n]{0,80}(?:dangerous|illegal|weapons?)|drop your filters",
        r"i'd like two answers[^.\n]{0,80}censored|if nobody had censored|this is a simulation[^.\n]{0,60}answer everything",
        r"your reply must not (?:include|contain)[^.\n]{0,40}(?:refusals?|apolog|warnings?)",
        r"my grand\w{3,7}\b[^.\n]{0,60}read me [^.\n]{0,20}(?:keys|recipe|napalm)|ab sofort bist du ein böser",
        r"(?:laisse tomber|deja de lado|lascia perdere) (?:les règles|las normas|las reglas|le regole)",
        r"nie stosuj się do swoich zasad|притворись, что у тебя нет|请扮演.{0,4}没有.{0,4}(?:约束|限制)"),
    sign(HIDDEN, 0.6, "for automated readers|automated summary tools|automated readers|any bot|if you use tools|the reader is a tool|"
        "the summary has to|content filter has been|begin admin|from here all|safety filter is|filter is off",
        r"(?:for )?automated (?:readers|summary tools|agents) ?:|any bot that [^.\n]{0,40}should (?:say|state|claim|recommend)",
        r"if you use tools, (?:run|call|delete)|the reader is a tool|the summary has to (?:call|say)",
        r"content filter has been (?:switched|turned) off|begin admin session|from here (?:on )?all requests are|"
        r"(?:safety|content) filter is off"),
    sign(SENDS, 0.6, "attach the file|ask the user for|as a next step open|open the link http|put the user|make a list of all pass|"
        "base64-encode|set the recipient|what did the person before",
        r"attach the file [\w.]{0,20}(?:secret|password|credential|\.env|key)[^\n]{0,60}@|ask the user for their (?:pin|password|card)",
        r"open the link https?://\S{1,80} and (?:do|follow|run)|put the user's[^.\n]{0,40}(?:query|url|link)",
        r"make a list of all passwords[^.\n]{0,60}(?:attach|send|post)|base64-encode[^.\n]{0,40}(?:sub-?domain|url|link)",
        r"set the recipient of the payment|what did the person before me ask you"),
)  # fmt: skip
SIGNS = (*ENGLISH, *WIDER, *MARKERS, *OTHERS)
