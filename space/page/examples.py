"""Pairs of texts that teach what the metric sees, and what to look at in each."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Example:
    """A candidate with its reference, and what there is to see."""

    name: str
    candidate: str
    reference: str
    lesson: str


PARAPHRASE = Example(
    "A paraphrase that shares no word",
    "Heavy rain flooded several streets yesterday.",
    "After strong storms, many roads were under water.",
    "No word is shared, so metrics that count common words see nothing in common. InfoLM compares "
    "what the model expects, and scores the two far lower than unrelated texts.",
)
UNRELATED = Example(
    "An unrelated text",
    "She painted the old fence green.",
    "After strong storms, many roads were under water.",
    "Nothing in common: the model expects other words, and the score is that of any two texts that "
    "have nothing to do with each other.",
)
EXAMPLES = (
    PARAPHRASE,
    Example(
        "Blind spot: a wrong number",
        "The company sold 900 cars in May.",
        "The company sold 300 cars in May.",
        "**A blind spot.** The number is wrong, and the score says “close” all the same: InfoLM "
        "compares what a model expects, not facts. Do not trust it with numbers, names or dates.",
    ),
    Example(
        "Blind spot: a negation",
        "The medicine is not safe for children.",
        "The medicine is safe for children.",
        "**A blind spot.** One word turns the meaning round, and the score says “close” all the "
        "same: InfoLM notices the word, and not how much depends on it.",
    ),
    UNRELATED,
    Example(
        "The same words in another order",
        "The cat chased the dog across the garden.",
        "The dog chased the cat across the garden.",
        "A metric that counts words sees a copy. InfoLM sees a difference, though a small one.",
    ),
)
