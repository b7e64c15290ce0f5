"""What every metric stands on."""

__version__ = "0.3.0"
