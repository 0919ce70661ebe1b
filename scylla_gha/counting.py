"""Counts in sentences."""


def counted(number: int, noun: str, plural: str = "") -> str:
    """`1 trial`, `2 trials`, `1,000 trials`: a number with its noun.

    Args:
        number: how many.
        noun: of one.
        plural: of several, where that is not the noun with an s.
    """
    return f"{number:,} {noun if number == 1 else plural or f'{noun}s'}"
