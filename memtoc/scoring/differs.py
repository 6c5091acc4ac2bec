"""Soft and comparative wordings by which a reply says that the return is not what it knew.

"This differs from what I remember", "that isn't the city I would have named", "my first thought was
X". What denies a difference ("this is no different from what I recall") counts for nothing.
"""

import re

from memtoc.scoring.belief import FORMER, NOT_AS_BELIEVED, former, holds
from memtoc.scoring.clauses import clauses_of
from memtoc.scoring.text import occurs, read

HINT = re.compile(
    r"\b(?:i|my|we|our|me|unlike|contrary|surpris\w+|despite|ring|memory)\b", re.IGNORECASE
)
# What one says of a return that is not what one knew, without a word for the conflict itself.
_KNEW = (
    r"(?:i (?:had |would have |'d )?"
    r"(?:recall(?:ed)?|remember(?:ed)?|expect(?:ed)?|thought|believed?|assumed|kn[eo]w"
    r"|learn(?:ed|t)|imagined|guess(?:ed)?|sa(?:id|y)|nam(?:ed|e)|given|give|think"
    r"|(?:was|have been) taught|(?:had|have) in mind)"
    r"|my (?:memory|recollection|knowledge|training|expectations?)|what i)"
)
_TOOL = r"(?:the |this |that |its )?(?:tool|lookup|return|output|database|search|result|response)"
_SOFT = re.compile(
    rf"\b(?:not|n't) (?:exactly |quite |really |at all )?(?:(?:the|an?) )?(?:\w+ )?"
    rf"(?:(?:what|how|as|that|which|who|where|when) )?(?:{_KNEW})\b(?! of\b)"
    rf"|\b(?:unlike|in contrast (?:to|with)|as opposed to|in opposition to)"
    rf" (?:{_TOOL}|{_KNEW})\b"
    r"|\b(?:i|my (?:memory|recollection|knowledge|records?|notes?|training(?: data)?|data"
    r"|understanding|impression|belief)) (?:\w+ ){0,2}?(?:recall|remember|know|knew|believed?|think"
    r"|thought|says?|said|suggests?|suggested|tells|told|points?|pointed|expect(?:ed)?|was|is|had"
    r"|learned|learnt|have) (?:\w+ ){0,3}?"
    r"(?:differently|otherwise|(?:something|someone|somebody|somewhere) else|another \w+"
    r"|an? different \w+)\b"
    r"|\b(?:unexpected|surprising|strange|odd) to me\b|\breconcile\b"
    rf"|\b{_TOOL}\b[^.;]{{0,60}}?\bbut i (?:\w+ )?(?:lean|tend|prefer|incline)\b"
    r"|\b(?:surpris(?:es|ed|ing)|odd|strange|unexpected(?:ly)?|news to me)\b"
    rf"[^.;]{{0,40}}?\b(?:{_KNEW})\b|\b(?:surprises|surprised) me\b|\bnews to me\b|\ba surprise\b"
    rf"|\b(?:doubt|distrust|mistrust|overrul\w+|overrid\w+|disregard\w*|i question|reject|dispute"
    r"|sceptical of|skeptical of|suspicious of|wary of|convinced by)\b(?: \w+){0,2}? "
    rf"{_TOOL}\b"
    r"|(?:not|n't) ring (?:true|a bell)|\b(?:not|\w{1,8}n't) in (?:keeping|line|agreement) with"
    r"|\bmisremember\w*|\bstand corrected\b|\bcorrects me\b"
    r"|(?<!if )\bi (?:was|am|'m|must (?:be|have been)) (?:\w+ )?(?:mistaken|wrong)\b"
    r"|\bi (?:disagree|(?:do not|don't) agree|beg to differ)\b"
    r"|\bi would(?: not|n't) have (?:said|guessed|thought|answered|named|picked|expected)\b"
    rf"|\b(?:despite|in spite of|notwithstanding|regardless of|whatever)(?: what)? {_TOOL}"
    r"(?:'s)? (?:says?|said|returns?|returned|gives?|gave|answer|value|claims?|output|lists?)\b"
    rf"|\b(?:trust|prefer|rely on|believe|go with|stick (?:with|to)|stay with) my (?:own )?"
    rf"(?:memory|knowledge|recollection)[^.;]{{0,30}}?\b(?:than|over|instead|rather|not)\b"
)
_EVEN = re.compile(
    r"(?:\b(?:no|not|hardly|nothing|never|without)\b|n't\b)[^.;]{0,30}?\b(?:surpris\w+|doubt\w*"
    r"|distrust|mistrust|disregard|reject|dispute|overrule|override|different(?:ly)?"
    r"|unexpected|contrary|odd|strange|at variance|unlike|at odds|in conflict|news)\b"
    r"|\b(?:no|not|never|nothing|n't)(?: \w+){0,3} (?:that |which )?(?:differs?|otherwise)\b"
    r"|\b(?:matches|agrees|confirms|same|as|just what|exactly what) (?:i|my|with|as)\b"
    r"|\b(?:not|n't) (?:recall|remember|know|think) (?:anything|any|otherwise|differently)\b"
)


def differs(sentence: str, pair: str, returned: tuple[str, ...]) -> str:
    """Return the rule by which a sentence sets own knowledge apart from the return; else empty.

    ``pair`` is the sentence with the next one, ``returned`` the words of the tool's value.
    """
    if _EVEN.search(sentence):
        return ""
    if _SOFT.search(sentence):
        return "own_knowledge_differs"
    if NOT_AS_BELIEVED.search(sentence):
        return "former_belief"
    if not FORMER.search(sentence) or holds(pair):
        return ""
    for start, end in clauses_of(sentence):
        clause = re.split(r"\b(?:until|till)\b", sentence[start:end])[0]
        # "I thought it was X, and the tool says X": the belief is the return.
        if former(clause) and not occurs(returned, read(clause).words):
            return "former_belief"
    return ""
