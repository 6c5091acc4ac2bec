"""Our matcher: the same entity on whole words (spec section 4)."""

from memtoc.scoring.text import occurrences, read


def same_answer(answer: str, target: str, question: str = "") -> tuple[bool, str]:
    """Whether the answer gives the target, and the rule that decided."""
    said, wanted = read(answer), read(target)
    if next(occurrences(wanted.words, said.words), None) is not None:
        return True, "whole_words"
    if next(occurrences(said.words, wanted.words), None) is not None:
        return True, "short_form"
    return False, "different"
