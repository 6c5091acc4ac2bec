"""Factored agents: a planner that speaks English and a small tool agent that writes the call."""
