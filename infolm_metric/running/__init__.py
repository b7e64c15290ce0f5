"""Corpora larger than a call: files, shards, jobs that go on where they stopped, Ray."""
