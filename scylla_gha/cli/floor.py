"""The disk's floor: below it nothing new starts, so that what runs can still be written down."""

import shutil
from collections.abc import Iterable
from pathlib import Path
from typing import Final

_MEGA: Final = 1_000_000


def disk_lack(places: Iterable[Path], floor_mb: int) -> str | None:
    """Which disk has less free space than the floor; None where all have enough. A place need not be there yet."""
    for place in places:
        there = next(folder for folder in (place, *place.parents) if folder.exists())
        free = shutil.disk_usage(there).free // _MEGA
        if free < floor_mb:
            return (f"the disk of {there} has {free} MB left, and nothing new starts below {floor_mb} MB "
                    "(limits.free_disk_mb); make room, and run the same command again")  # fmt: skip
    return None
