"""Scorers and runs: what computes the scores of pairs, for all metrics."""
