"""Data of the bundled masked language model, described in README.md."""
