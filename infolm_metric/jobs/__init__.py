"""Scoring of large corpora with resumable jobs or on a Ray cluster."""
