"""Counts and durations in sentences."""


def counted(number: float, noun: str, plural: str = "", form: str = ",") -> str:
    """Return a number with its noun: `1 trial`, `2 trials`, `1,000 trials`.

    Args:
        number: how many.
        noun: of one; with the verb, where that differs too (`row is`).
        plural: of several, where that is not the noun with an s.
        form: of the number.
    """
    shown = format(number, form)
    return f"{shown} {noun if shown.lstrip('+-') == '1' else plural or f'{noun}s'}"


def duration(seconds: float) -> str:
    """Return seconds, or minutes from two minutes on, with their unit."""
    return f"{seconds:.0f} s" if seconds < 120 else f"{seconds / 60:.0f} min"  # noqa: PLR2004 two minutes
