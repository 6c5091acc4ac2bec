"""MemToC: whom does a model follow when a tool and its own memory disagree, and is that right?"""
