"""Modules of the demo: tabs, explanations of each metric, settings, appearance and limits."""
