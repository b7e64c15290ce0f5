"""Inverse document frequencies: counting, tables, and the weights of a text."""
