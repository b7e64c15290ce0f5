"""What every metric stands on."""

__version__ = "0.2.0"
