"""Text in, scored row out: extraction, matching, abstention, outcome."""
