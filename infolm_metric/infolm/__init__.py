"""InfoLM: information measures between the predictions of a masked language model for two texts."""
