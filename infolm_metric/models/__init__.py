"""Models: checkpoints, encoders, NLI models, and scorers that encode texts."""
