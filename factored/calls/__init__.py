"""One tool agent on recorded calls, outside of the agent loop: ``--config-name=calls``.

settings   what a run asks for
data_set   the recorded calls as requests in English, and the sample of them
results    each reply held against its recorded call; counts
run        from settings to a finished folder
"""
