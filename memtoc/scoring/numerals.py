"""Numbers and ordinals in words or Roman figures, as figures: twelfth = 12th, Leopold II."""

from memtoc.scoring.lexicon import words

_ONES, _TENS, _ORDINALS = words("ones"), words("tens"), words("ordinals")
_ROMAN_VALUES = (2, 3, 4, 6, 7, 8, 9, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20, 21, 22, 23)


def ordinal(number: int) -> str:
    """1 -> 1st, 12 -> 12th, 22 -> 22nd."""
    if number % 100 in (11, 12, 13):
        return f"{number}th"
    return str(number) + {1: "st", 2: "nd", 3: "rd"}.get(number % 10, "th")


_FIGURES = (
    {word: str(n) for n, word in enumerate(_ONES)}
    | {word: str(n) for n, word in zip(range(20, 100, 10), _TENS, strict=True)}
    | {word: ordinal(n) for n, word in enumerate(_ORDINALS)}
    | {word: ordinal(n) for n, word in zip(range(20, 100, 10), words("tenths"), strict=True)}
    | {word: ordinal(n) for n, word in zip(_ROMAN_VALUES, words("roman"), strict=True)}
)
_UNITS = {word: n for n, word in enumerate(_ONES) if 1 <= n <= 9}
_UNITHS = {word: n for n, word in enumerate(_ORDINALS) if 1 <= n <= 9}


def numeral(word: str, following: str) -> tuple[str, int]:
    """The word as figures and how many words it takes: (twenty, first) -> (21st, 2)."""
    if word in _TENS:
        ten = int(_FIGURES[word])
        if following in _UNITS:
            return str(ten + _UNITS[following]), 2
        if following in _UNITHS:
            return ordinal(ten + _UNITHS[following]), 2
    return _FIGURES.get(word, word), 1
