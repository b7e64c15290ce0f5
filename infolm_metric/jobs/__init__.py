"""Corpora larger than a call: jobs that go on where they stopped, and Ray."""
