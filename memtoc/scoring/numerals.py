"""Numbers and ordinals in words or Roman figures, as figures: twelfth = 12th, Leopold II."""

from memtoc.scoring.lexicon import words

_ONES, _TENS, _ORDINALS = words("ones"), words("tens"), words("ordinals")
# I, V and X are read in text.py, where an initial (V. Woolf) can be told from a numeral (George V).
_ROMAN_VALUES = (2, 3, 4, 6, 7, 8, 9, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20, 21, 22, 23)


def ordinal(number: int) -> str:
    """Return a number as an ordinal: 1 as 1st, 12 as 12th, 22 as 22nd."""
    if number % 100 in (11, 12, 13):
        return f"{number}th"
    return str(number) + {1: "st", 2: "nd", 3: "rd"}.get(number % 10, "th")


FIGURES = (
    {word: str(n) for n, word in enumerate(_ONES)}
    | {word: str(n) for n, word in zip(range(20, 100, 10), _TENS, strict=True)}
    | {word: ordinal(n) for n, word in enumerate(_ORDINALS)}
    | {word: ordinal(n) for n, word in zip(range(20, 100, 10), words("tenths"), strict=True)}
    | {word: ordinal(n) for n, word in zip(_ROMAN_VALUES, words("roman"), strict=True)}
)
# Twenty-one is two words until text.py joins them.
TENS = frozenset(str(n) for n in range(20, 100, 10))
# The words that a ten may be joined to, and whether that makes an ordinal.
UNITS = {word: (n, False) for n, word in enumerate(_ONES) if 1 <= n <= 9} | {
    word: (n, True) for n, word in enumerate(_ORDINALS) if 1 <= n <= 9
}


def joined(ten: str, unit: str) -> str:
    """Return a ten and a unit in one figure: ("20", "first") as "21st", ("20", "one") as "21"."""
    number, is_ordinal = UNITS[unit]
    total = int(ten) + number
    return ordinal(total) if is_ordinal else str(total)
