from memtoc.scoring import (
    MATCHERS,
    acknowledges,
    cell,
    decide,
    extract,
    match,
    score_memory,
)


def test_a_reply_is_scored_from_raw_text_to_outcome_under_both_matchers() -> None:
    for matcher in MATCHERS:
        question = "Who directed The Third Man?"
        memory = score_memory(matcher, "Carol Reed", question, "Carol Reed")
        span = extract("The tool says so.\nFINAL: Orson Welles")
        decision = decide(matcher, span.text, question, "Carol Reed", memory, "Orson Welles")
        assert (memory.absent, memory.correct) == (False, True)
        assert decision.outcome == "followed_tool"
        assert not decision.final_correct
        assert cell(memory, tool_correct=False) == "arb"
        assert match(matcher, span.text, "Orson Welles").matched
    assert acknowledges("This contradicts what I know.", "Carol Reed", "Orson Welles").conflict
