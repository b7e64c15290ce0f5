"""MENLI: entailment between two texts, by a natural language inference (NLI) model."""
