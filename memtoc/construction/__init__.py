"""From factual questions to a benchmark: screening, wrong values, checks, review, folds."""
