"""Models: checkpoints, tokens, encoders and NLI models."""
