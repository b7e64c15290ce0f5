"""The sub-commands of `infolm`, one file per command; `main` holds the table of their names."""
