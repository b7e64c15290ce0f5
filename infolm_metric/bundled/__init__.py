"""Data of the bundled masked language model, which was trained by tools/train_masked_lm.py."""
