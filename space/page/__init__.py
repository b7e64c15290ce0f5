"""The page of the Space: a file a tab, a file for what explains each metric, looks and limits."""
