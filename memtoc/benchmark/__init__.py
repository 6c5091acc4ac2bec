"""What sources and construction share: kinds, families, folds, drafts and sheets."""
