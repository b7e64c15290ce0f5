"""Unusual pairs, with empty texts, digits and identical texts, and a long text."""

PAIRS = [
    ("the cat sat on the mat", "the cat is on the mat"),
    ("a dog ran in the park 42 times, didn't it?", "dogs run in parks"),
    ("", "the rain in spain"),
    ("hello world again and again", ""),
    ("the cat", "the cat"),
]
CANDIDATES, REFERENCES = map(list, zip(*PAIRS, strict=True))
LONG = " ".join(["the old man saw a small red boat near the river and the bridge"] * 5)
