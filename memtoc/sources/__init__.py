"""Where questions come from: one source a file."""
