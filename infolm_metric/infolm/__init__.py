"""InfoLM: information measures between a masked language model's predictions for two texts."""
