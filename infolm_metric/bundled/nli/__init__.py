"""The bundled natural-language-inference model, and how it was trained and evaluated."""
