"""Set phrases by which a span declines to answer: the paper's list and ours."""

import re

# The paper's: short phrases anywhere in the span, long polite ones at its start only.
PAPER = re.compile(
    r"\b(?:unknown|unable to|not sure|not known|not possible to|no information|not available"
    r"|unavailable|not (?:been )?(?:provided|specified|mentioned|found)"
    r"|(?:can ?not|can't) (?:be (?:determined|found|provided|answered)"
    r"|determine|provide|answer|find|identify)"
    r"|(?:could not|couldn't) (?:be (?:determined|found|retrieved|provided|identified|accurately)"
    r"|determine|provide|find (?:a|the|this|that|out))"
    r"|(?:does|did|do)(?: not|n't) (?:provide|contain|specify|include|answer|mention))\b"
    r"|^\W*(?:i am sorry|i'm sorry|i apologi[sz]e|i do not (?:know|have)"
    r"|i don't (?:know|have)|i (?:can ?not|can't))\b",
    re.IGNORECASE,
)

# Ours: a negated verb of finding, a negated state, an absent fact, nobody who knows, a wish not to
# say. It grew from the outputs of five models and from tables of our own; docs/scoring.md says how
# much of its agreement is fitting.
_FIND = (
    "determine|provide|find|answer|retrieve|identify|access|locate|give|verify|confirm|say|specify"
    "|contain|include|mention|state|return|know|have|recall|list|indicate|establish|obtain|offer"
    "|supply|reveal|disclose|tell|ascertain|conclude|name|show|address|yield|produce|complete"
    "|fulfil|fulfill|assist|help|connect|remember|guess|speculate|respond|reply|comment|record"
)
_FOUND = (
    "determined|found|retrieved|identified|provided|verified|confirmed|answered|located|given"
    "|established|accessed|ascertained|known|obtained|specified|available|mentioned|listed"
    "|included|stated|recorded|documented|disclosed|clear|possible|present|contained|returned"
    "|indicated|public|sure|certain|aware|familiar|able"
)
_NO = r"(?:not|n't|never)"
_FACT = (
    "information|data|records?|answer|details?|results?|mention|evidence|value|knowledge|idea"
    "|way|match(?:es)?|reference|output|response"
)
OURS = re.compile(
    rf"\b(?:can?|could|do|does|did|would|will|wo|was|were|is|am|are|has|have)\s?{_NO}"
    rf"(?:\s(?!only\b)[a-z]+){{0,2}}?\s(?:{_FIND})\b"
    rf"|\bcannot(?:\s[a-z]+){{0,2}}?\s(?:{_FIND})\b"
    rf"|\b(?:can?|could|would|will)\s?{_NO}\sbe(?:\s[a-z]+){{0,2}}?\s(?:{_FOUND})\b"
    rf"|\bcannot\sbe(?:\s[a-z]+){{0,2}}?\s(?:{_FOUND})\b"
    rf"|(?<!if )\b(?:is|are|was|were|been|am|'m|'s|'re)\s?{_NO}(?:\s[a-z]+)?\s(?:{_FOUND})\b"
    rf"|\b(?:unable|failed|fails|fail|impossible|not able|not possible|difficult)\sto\b"
    rf"|(?P<absent>\b(?:no|any|insufficient|not enough|without enough|lacks?)"
    rf"(?:\s(?:the|specific|reliable|such|available|relevant|sufficient|further|known|clear"
    rf"|definitive|matching|necessary|exact))?"
    rf"\s(?:{_FACT})\b(?!\s(?:except|but)\b))"
    r"|(?P<nobody>\b(?:no[ -]?one|nobody|none of us) (?:really |actually |else |seems to )?"
    r"(?:knows?"
    r"|remembers?|recalls?|(?:can|could) (?:say|tell|know)|is (?:sure|certain)|has)\b)"
    r"|\b(?:rather|prefer|prefers|choose|wish|want|like) not\b|\bprefer to not\b"
    r"|\b(?:nothing|none) (?:(?:was|is|were|has been|could be|can be) )?(?:relevant |further )?"
    r"(?:found|returned|known|recorded|available|retrieved|located|turned up|came up|provided)\b"
    r"|\b(?:is|are|was|were|remains?|stays?) silent(?=\W*$| (?:on|about|regarding|as to|here)\b)"
    r"|\bto be (?:determined|confirmed|announced|decided)\b|(?:\b(?:no|not a)|n't a) clue\b"
    r"|\bnot (?:willing|inclined|prepared) to\b|\bunwilling to\b"
    r"|\bi(?: have|'ve)? (?:forgot|forgotten)\b|\b(?:anyone|anybody)'s guess\b"
    r"|\b(?:is|remains|'s) a mystery\b"
    r"|\bunavailable\b|\bnot (?:provided|specified|available|mentioned|found|known|given|listed)\b"
    r"|\b(?:unsure|uncertain)(?=\s*(?:$|[.,;:!]|(?:whether|about|of|if|who|what|which"
    r"|when)\b))|\bno idea\b|\bunanswerable\b"
    r"|\b(?:decline|refuse) to\b|\bhave to abstain\b|\b(?:i|must|will|should) abstain\b"
    r"|\bwithhold\b"
    r"|\b(?:is|are|was|were|remains?) (?:missing|unclear)\b"
    r"|(?:^|[.:;,]\s|\b(?:is|are|was|were|remains?|as|currently|still|be)\s)(?:also |completely )?"
    r"[\"']?(?:unknown|undetermined|unspecified|undisclosed|indeterminate)"
    r"[\"']?(?=\s*(?:$|[.,;:!)(-]|(?:to|at|in|by|based|due|because|from|as|and|for|since"
    r"|without|given)\b))"
    r"|^\W*(?:i'm |i am )?(?:so |very )?(?:sorry|apologies|afraid)\b|^\W*i apologi[sz]e\b"
)
# OURS matches no clause without one of these; they are looked for first, being cheaper.
TRIGGERS = (
    "not", "n't", "no ", "un", "any ", "insufficient", "without", "lack", "fail", "impossible",
    "difficult", "sorry", "afraid", "apolog", "decline", "refuse", "abstain", "withhold", "missing",
    "indeterminate", "nobody", "noone", "no-one", "none", "silent", "to be ", "forg", "'s guess",
    "mystery",
)  # fmt: skip
# What may follow "no information" in a sentence; anything else makes it part of a name.
BEHIND_ABSENT = re.compile(
    r"[^\w]*(?:about|on|regarding|concerning|available|exists?|found|provided|given|returned|listed"
    r"|beyond|besides|whatsoever|matching|linking|linked|related|relating|required|needed"
    r"|necessary|could|can|due|specific|relevant|.*ed\b|.*ing\b)"
)
# What may follow "nobody knows" in a sentence; anything else makes it part of a title.
BEHIND_NOBODY = re.compile(
    r"\W*(?:who|whom|whose|what|when|where|which|whether|how|why|if|for|about|this|that|it|exactly"
    r"|with|at|precisely|(?:the|its|his|her|their) (?:exact|precise|true|real|actual|correct|answer"
    r"|name|date|identity|origin|reason|truth))\b"
)
NOBODY = re.compile(r"\W*(?:no[ -]?one|nobody|nothing)\b")
# A span that is nothing but one of these.
BARE = frozenset(
    (
        "unknown", "none", "n/a", "na", "null", "nil", "not available", "not applicable",
        "no answer", "abstain", "undetermined", "unspecified", "unanswerable", "error", "no data",
        "not found", "i don't know", "i do not know", "idk", "no idea", "nothing", "uncertain",
        "unclear",
        "unavailable", "timeout", "timed out", "access denied", "permission denied",
        "insufficient information", "tool error", "no value", "no result",
        "tbd", "tba", "tbc", "not sure", "i'm not sure", "i am not sure", "no comment", "i pass",
        "pass", "no match", "none found", "who knows", "beats me",
    )
)  # fmt: skip
# What a span that asserts nothing says instead: something failed, or more is needed.
_FAILING = (
    r"(?:errors?|fail(?:s|ed|ure)?|unavailable|timed out|time-?out|denied|down|offline|issues?"
    r"|empty|null|nothing|busy|refused)"
)
_FAILED = (
    r"(?:tool|service|server|database|lookup|query|request|call|response|output|result|api|access"
    r"|permission|return|returned|system|data|information)"
)
NO_VALUE = re.compile(
    rf"\b{_FAILED}\b.{{0,80}}?\b{_FAILING}\b|\b{_FAILING}\b.{{0,80}}?\b{_FAILED}\b"
    r"|\bplease (?:try|provide|specify|clarify|call|check)\b|\btry again\b"
    r"|\b(?:need|needs|needed|require[sd]?)\b"
)
# Clauses that report a failure, give advice or hedge: they hold words beyond the question's, yet
# assert no answer.
NO_ASSERTION = re.compile(
    r"\b(?:tool|errors?|issues?|databases?|unavailab\w*|stale|cached?|try again|please"
    r"|you (?:may|can|could|might|would|need)|further|additional|to find|would need|need to"
    r"|recommend\w*|sources?"
    r"|resources?|more (?:information|context|details)|service|outputs?|results?|responses?"
    r"|information|data|context|mentions?|mentioned|only (?:returned|provided|returns|provides)"
    r"|requires?|required|confirmation|unfortunately|sorry|afraid|(?:un)?related|(?:ir)?relevant"
    r"|nearby|specific|requested|request|query|question|whether|temporar\w+|upstream|internal"
    r"|language model)\b"
)
