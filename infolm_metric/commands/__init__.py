"""Commands of `infolm`, one module per command; `main` lists their names."""
