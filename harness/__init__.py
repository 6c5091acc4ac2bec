"""What both lines of research stand on: engines, caches, folders, fingerprints, statistics."""
