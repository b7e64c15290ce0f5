"""BaryScore: how far two texts' tokens lie apart in a model's layers, by optimal transport."""
