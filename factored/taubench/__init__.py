"""TauBench: the retail and airline environments, their tasks, user simulators and reward.

A domain is one module of tools (``retail``, ``airline``); its databases, tasks, tool schemas and
policy are read at run time from a data folder (``loading``), never shipped here.
"""
