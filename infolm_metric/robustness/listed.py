"""Word lists, written as running text."""


def listed(words: str) -> tuple[str, ...]:
    """The words between blanks, in order.

    >>> listed("a an the")
    ('a', 'an', 'the')
    """
    return tuple(words.split())
