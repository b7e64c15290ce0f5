"""Scoring of large corpora: resumable jobs, and Ray."""
