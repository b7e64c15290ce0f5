"""The bundled natural-language-inference model: data alone."""
