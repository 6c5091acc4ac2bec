"""What the products share: engines, caches, run folders, fingerprints, sweeps, statistics.

Imports neither memtoc nor factored.
"""
