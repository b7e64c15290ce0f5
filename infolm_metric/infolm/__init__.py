"""InfoLM: what a masked language model predicts for two texts, by an information measure."""
