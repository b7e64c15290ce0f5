"""Modules of the demo: tabs, explanations for each metric, settings, appearance and limits."""
