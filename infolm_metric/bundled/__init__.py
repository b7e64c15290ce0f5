"""The bundled masked language model, and the scripts that trained and judged it."""
