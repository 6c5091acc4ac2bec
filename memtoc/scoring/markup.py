"""What models set around an answer: LaTeX, HTML, markdown and citations, taken off a line.

Patterns are bounded, and a line without the signs of a markup is not searched for it.
"""

import html
import re
import unicodedata

# Replaced before LaTeX is read, so that a price in it ("\\$5") is no delimiter of a formula.
_PRICE = "\ue000"
# A runaway line is read this far; no matcher of ours reads further.
_MAX_LINE = 2000
# How deep \boxed{\text{\textbf{Paris}}} may be nested.
_DEPTH = 6

_BOX = re.compile(r"\\(?:boxed|fbox|framebox)\s{0,3}\{")
_OPENS_BOX = re.compile(rf"\s*(?:\\[\[(]|\${{1,2}})?\s*{_BOX.pattern}")
_WRAPPED = re.compile(
    r"\\(?:boxed|fbox|framebox|text[a-z]{0,9}|math[a-z]{1,9}|operatorname\*?|mbox|hbox|emph|ce"
    r"|underline|overline|bf|it|rm)\s{0,3}\{([^{}]{0,2000})\}"
)
_FRACTION = re.compile(r"\\[dtc]?frac\s{0,3}\{([^{}]{0,200})\}\s{0,3}\{([^{}]{0,200})\}")
_ROOT = re.compile(r"\\sqrt\s{0,3}\{([^{}]{0,200})\}")
_FORMULA = re.compile(r"\$\$([^$]{1,1000})\$\$|\$(?=[^\s$])([^$\n]{1,300})(?<=[^\s$\\])\$(?!\d)")
# "$5 and more (US$)" holds prices: a formula that opens with a figure holds no words.
_PRICED = re.compile(r"\d[^\\]*[^\W\d_]{2}")
_ACCENT = re.compile(r"\\(?:(['\"`^~=.])\s?\{?|([cvHuk])\s?\{)(\\?[A-Za-z])\}?")
_MARKS = {
    "'": "\u0301", '"': "\u0308", "`": "\u0300", "^": "\u0302", "~": "\u0303", "=": "\u0304",
    ".": "\u0307", "c": "\u0327", "v": "\u030c", "H": "\u030b", "u": "\u0306", "k": "\u0328",
}  # fmt: skip
_DEGREE = re.compile(r"\s{0,2}\^\s?\{?\s?\\circ\s?\}?|\\degree\b|\\textdegree\b")
_SYMBOLS = {
    "times": "×", "cdot": "·", "pm": "±", "approx": "≈", "infty": "∞", "to": "→",
    "rightarrow": "→", "leq": "≤", "geq": "≥", "le": "≤", "ge": "≥", "ldots": "...",
    "dots": "...", "ss": "ß", "o": "ø", "O": "Ø", "l": "ł", "L": "Ł", "aa": "å", "AA": "Å",
    "ae": "æ", "AE": "Æ", "oe": "œ", "OE": "Œ", "i": "i", "euro": "€", "pounds": "£", "yen": "¥",
}  # fmt: skip
_COMMAND = re.compile(r"\\([A-Za-z]{1,20})\b")
# Between figures a thin space or a guarded comma only groups them: 8\,849 and 8{,}849.
_GROUPED = re.compile(r"(?<=\d)(?:\\[,;:! ]|\{,\})(?=\d{3})")
_SPACED = re.compile(r"\\(?:[,;: ]|quad\b|qquad\b|\\)|(?<=[\w.])~(?=\w)")
_DELIMITER = re.compile(
    r"\\(?:[()\[\]!]|(?:left|right)\b\.?|(?:display|text|script)style\b|limits\b"
    r"|(?:begin|end)\s?\{[a-z*]{1,20}\})"
)
_SCRIPT = re.compile(r"(?<=[^\W_])_(?:\{([^{}]{1,20})\}|([^\W_]))|\^\{([^{}]{1,20})\}")

_NAMED_TAGS = "answer|final_?answer|final|response|result|output|solution"
_TAGGED = re.compile(rf"<({_NAMED_TAGS})>(.{{1,2000}}?)</\1>|</(?:{_NAMED_TAGS})>", re.IGNORECASE)
_STRUCK = re.compile(r"<(del|strike)>.{0,500}?</\1>|~~[^~\n]{1,500}~~", re.IGNORECASE)
_RAISED = re.compile(r"<sup\b[^<>]{0,80}>([^<>]{0,80})</sup>", re.IGNORECASE)
_TAG = re.compile(
    r"</?(?:(br|p|div|li|ul|ol|td|th|tr|table|tbody|h[1-6]|blockquote|hr)|b|i|em|strong|u|span"
    r"|code|pre|a|sub|sup|small|big|font|mark|q|cite|center|tt|kbd|var|abbr)"
    r"(?:\s[^<>]{0,300})?/?>",
    re.IGNORECASE,
)
_ENTITY = re.compile(r"&(?:[a-zA-Z]{2,31}\d{0,2}|#\d{1,7}|#[xX][0-9a-fA-F]{1,6});")

_LINK = re.compile(
    r"!?\[([^\[\]\n]{1,300})\]\((?:[^()\s]|\([^()\s]{0,80}\)){1,500}(?:\s\"[^\"\n]{0,200}\")?\)"
)
_REFERENCE_LINK = re.compile(r"\[([^\[\]\n]{0,300}[^\W\d][^\[\]\n]{0,300})\]\[[\w -]{0,40}\]")
_CODE = re.compile(r"(`{1,2})([^`\n]{1,500})\1")
# Not inside a word: M*A*S*H and snake_case keep their signs.
_STARRED = re.compile(r"(?<![\w*])(\*{1,3})(?=[^\s*])([^*\n]{1,1000})(?<=[^\s*])\1(?![\w*])")
_UNDERLINED = re.compile(r"(?<!\w)(_{1,3})(?=[^\s_])([^_\n]{1,1000})(?<=[^\s_])\1(?!\w)")
_LEFT_OVER = re.compile(r"(?<!\d)\*\*|\*\*(?!\d)")

_NUMBERS = r"\^?\d{1,3}(?:\s?[,;–-]\s?\^?\d{1,3}){0,9}"
_SOURCE = r"(?:sources?|references?|refs?\.?|citations?|cited|see|cf\.)"
_TRAILING_CITATION = re.compile(
    rf"\s{{0,4}}(?:\[{_NUMBERS}\]|\[(?:citation needed|{_SOURCE})[^\[\]]{{0,200}}\]"
    r"|【[^【】]{1,80}】"
    rf"|[(\[]{_SOURCE}(?::|\s)(?:[^()]|\([^()]{{0,200}}\)){{1,300}}[)\]]"
    r"|[(<\[]?\b(?:https?://|www\.)[^\s()<>\[\]]{1,500}[)>\]]?"
    r"|(?<=[^\W\d_]{4})[¹²³⁰⁴-⁹]{1,3})(?=\s{0,4}[.,;]{0,2}\s{0,4}\Z)",
    re.IGNORECASE,
)
_SOURCE_BEHIND = re.compile(
    rf"(?<=\w)(?:[.;,]|\s[-–—|])?\s+{_SOURCE}:\s.{{1,500}}\Z", re.IGNORECASE
)
_INNER_CITATION = re.compile(
    rf"(?<=[\w.,;)\"'”])\s?(?:\[{_NUMBERS}\](?=[\s.,;:)\[]|\Z)|【\d[^【】]{{0,60}}】)"
)


def undressed(line: str) -> str:
    r"""Return a line without markup: ``\boxed{\text{Paris}}`` and ``**Paris** [1]`` as Paris.

    What is struck out goes, a price keeps its sign, and a line of citations alone stays as it is.
    """
    plain = line[:_MAX_LINE]
    if "<" in plain or "&" in plain:
        plain = _without_html(plain)
    if "\\" in plain or "$" in plain:
        plain = _without_latex(plain)
    if any(sign in plain for sign in "*_`~["):
        plain = _without_markdown(plain)
    if any(sign in plain for sign in "[(【:/¹²³⁴⁵⁶⁷⁸⁹⁰"):
        plain = _without_citations(plain)
    return plain.strip() if len(line) <= _MAX_LINE else plain + line[_MAX_LINE:]


def boxed(text: str) -> str | None:
    r"""Return what stands in the last ``\boxed{...}`` of a text; None if there is none.

    Where its line holds a second box, the line is returned; of a box that was cut off, the rest.
    """
    boxes = list(_BOX.finditer(text))
    if not boxes:
        return None
    last = boxes[-1]
    line_start = text.rfind("\n", 0, last.start()) + 1
    if len(boxes) > 1 and boxes[-2].start() >= line_start:
        return text[line_start:].split("\n", 1)[0]
    depth, rest = 1, text[last.end() : last.end() + 2000]
    for at, sign in enumerate(rest):
        if sign in "{}" and rest[at - 1 : at] != "\\":
            depth += 1 if sign == "{" else -1
        if depth == 0:
            return " ".join(rest[:at].split())
    return rest.lstrip().split("\n", 1)[0]


def box_goes_on(line: str) -> bool:
    r"""Return whether a line opens with a ``\boxed{`` that it does not close."""
    return bool(_OPENS_BOX.match(line)) and line.count("{") > line.count("}")


def _without_html(line: str) -> str:
    plain = _TAGGED.sub(lambda found: found[2] or "", line)
    plain = _RAISED.sub(_lowered, _STRUCK.sub(" ", plain))
    plain = _TAG.sub(lambda found: " " if found[1] else "", plain)
    return _ENTITY.sub(lambda found: html.unescape(found[0]), plain)


def _lowered(raised: re.Match[str]) -> str:
    """Return the text of a raised part: an exponent behind a figure, nothing for a footnote."""
    inner, before = raised[1].strip(), raised.string[max(0, raised.start() - 4) : raised.start()]
    if inner.isdigit() and before[-1:].isdigit():
        return f"^{inner}"
    return "" if inner.isdigit() and len(before) == 4 and before.isalpha() else inner


def _without_latex(line: str) -> str:
    plain = line.replace("\\$", _PRICE)
    plain = _FORMULA.sub(_formula, plain)
    if "\\" in plain or plain != line:
        plain = _without_commands(plain)
    return plain.replace(_PRICE, "$").strip()


def _formula(found: re.Match[str]) -> str:
    inner = found[1] or found[2]
    return found[0] if _PRICED.match(inner) else inner


def _without_commands(plain: str) -> str:
    plain = _DEGREE.sub("°", _GROUPED.sub("", plain))
    plain = _ACCENT.sub(_accented, _SPACED.sub(" ", _DELIMITER.sub("", plain)))
    for _ in range(_DEPTH):
        before = plain
        plain = _WRAPPED.sub(r"\1", plain)
        plain = _ROOT.sub(r"√\1", _FRACTION.sub(r"\1/\2", plain))
        plain = _SCRIPT.sub(_script, plain)
        if plain == before:
            break
    plain = _COMMAND.sub(_symbol, plain)
    # An escaped sign stands for itself; other braces only grouped.
    return re.sub(r"\\([%&#_{}])|[{}]", lambda found: found[1] or "", plain)


def _accented(found: re.Match[str]) -> str:
    mark = _MARKS[found[1] or found[2]]
    return unicodedata.normalize("NFC", found[3].lstrip("\\") + mark)


def _script(found: re.Match[str]) -> str:
    return f"^{found[3]}" if found[3] else found[1] or found[2]


def _symbol(found: re.Match[str]) -> str:
    name = found[1]
    if name in _SYMBOLS:
        return _SYMBOLS[name]
    case = "CAPITAL" if name[0].isupper() else "SMALL"
    try:
        return unicodedata.lookup(f"GREEK {case} LETTER {name.upper()}")
    except KeyError:
        return found[0]


def _without_markdown(line: str) -> str:
    plain = _LINK.sub(r"\1", _STRUCK.sub(" ", line))
    plain = _CODE.sub(r"\2", _REFERENCE_LINK.sub(r"\1", plain))
    # Twice, for italics inside bold.
    for _ in range(2):
        plain = _UNDERLINED.sub(r"\2", _STARRED.sub(r"\2", plain))
    return _LEFT_OVER.sub("", plain)


def _without_citations(line: str) -> str:
    plain = _INNER_CITATION.sub("", line)
    plain = _SOURCE_BEHIND.sub("", plain)
    for _ in range(5):
        shorter = _TRAILING_CITATION.sub("", plain, count=1)
        if shorter == plain:
            break
        plain = shorter
    return plain if plain.strip(" .,;:") else line
