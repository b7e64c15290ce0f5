"""BaryScore: optimal transport between the contextual embeddings of two texts."""
