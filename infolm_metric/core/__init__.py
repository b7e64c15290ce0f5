"""Settings, input, baselines and results of all metrics. Imported without torch."""

__version__ = "0.6.0"
