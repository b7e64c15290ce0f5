"""Functions and base classes shared by all metrics."""

__version__ = "0.5.0"
