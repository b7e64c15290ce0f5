"""Commands of `infolm`, one module each. `main` lists them."""
