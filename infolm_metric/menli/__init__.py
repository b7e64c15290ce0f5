"""MENLI: texts scored by what follows from them, with a natural-language-inference model."""
