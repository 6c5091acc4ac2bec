"""What sources and construction both stand on: kinds, families, folds, drafts and sheets."""
