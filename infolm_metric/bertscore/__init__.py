"""BERTScore: cosine similarity of each token to its best match in the other text."""
