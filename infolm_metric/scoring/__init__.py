"""Base classes of scorers and their runs, for one process, several ranks and `evaluate`."""
