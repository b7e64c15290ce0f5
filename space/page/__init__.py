"""The modules of the demo: one per tab, one per explanation of a metric, looks and limits."""
