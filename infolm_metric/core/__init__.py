"""Values that all metrics share, without torch."""

__version__ = "0.6.0"
