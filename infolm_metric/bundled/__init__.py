"""The bundled masked language model: data alone; tools/ of the project has what trained it."""
