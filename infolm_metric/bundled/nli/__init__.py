"""Data of the bundled NLI model."""
