"""Markers in texts, and texts without the numbers, logins and names that each repository has of its own."""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final

RETIRED: Final = "<!-- scylla:retired -->"  # in what cannot be deleted and is no part of the fixture any more
_MARKER: Final = re.compile(r"(?<!\n)\n*<!-- scylla:seed:(?P<key>[^\s>]+) -->")
_NUMBER: Final = re.compile(r"(?<![\w&/])#(\d+)\b")
_ADDRESS: Final = re.compile(r"(?<=⟦repo⟧/)(issues|pull)/(\d+)\b")
_LOGIN: Final = re.compile(r"(?<![\w/`])@([A-Za-z0-9](?:[A-Za-z0-9-]*[A-Za-z0-9])?(?:\[bot\])?)")
_TOKEN: Final = re.compile(r"⟦([^⟦⟧]+)⟧")


def marked(text: str, key: str) -> str:
    """Return a text with the hidden marker that ties what has it to a key of the fixture."""
    mark = f"<!-- scylla:seed:{key} -->"
    return f"{text.rstrip()}\n\n{mark}" if text.strip() else mark


def key_in(text: str | None) -> str | None:
    """Return the key of a text's last marker; None without one."""
    keys = [matched["key"] for matched in _MARKER.finditer(text or "")]
    return keys[-1] if keys else None


def without_marker(text: str | None) -> str:
    """Return a text without markers, with line ends as the fixture has them."""
    return _MARKER.sub("", (text or "").replace("\r\n", "\n")).rstrip()


@dataclass(frozen=True, slots=True)
class Dialect:
    """Numbers, logins and name of one repository.

    Attributes:
        repository: OWNER/NAME.
        users: names of the fixture's users by login in lower case.
        keys: keys such as `pr.review_me` by number.
        logins: login by the fixture's name of a user, as it is written.
        has_markers: False for the hub of a fixture, whose texts have none.
    """

    repository: str
    users: Mapping[str, str]
    keys: Mapping[int, str]
    logins: Mapping[str, str] = field(default_factory=dict)
    has_markers: bool = True

    def user(self, login: str) -> str:
        """Return the fixture's name of a user; `@login` for others."""
        return self.users.get(login.lower().removesuffix("[bot]"), f"@{login}")

    def neutral(self, text: str | None) -> str:
        """Return a text without its marker, and with names of the fixture in the place of numbers and logins."""
        neutral = re.sub(rf"(?i)(?<![\w/.-]){re.escape(self.repository)}(?![\w-])", "⟦repo⟧", without_marker(text))
        neutral = re.sub(rf"(?i)(?<=github\.com/){re.escape(self.repository)}(?![\w-])", "⟦repo⟧", neutral)
        neutral = _ADDRESS.sub(lambda part: f"{part[1]}/{self._key(part[2])}", neutral)
        neutral = _NUMBER.sub(lambda part: f"#{self._key(part[1])}", neutral)
        return _LOGIN.sub(self._mention, neutral)

    def _key(self, number: str) -> str:
        key = self.keys.get(int(number)) if len(number) < 10 else None  # noqa: PLR2004 no number is that long
        return f"⟦{key}⟧" if key else number

    def _mention(self, part: "re.Match[str]") -> str:
        name = self.users.get(part[1].lower().removesuffix("[bot]"))
        return f"@⟦@{name}⟧" if name else part[0]

    def marker(self, key: str, text: str | None) -> str | None:
        """Return the key that the marker of an object's text names."""
        return key_in(text) if self.has_markers else key

    def spoken(self, neutral: str, numbers: Mapping[str, int]) -> str:
        """Return a neutral text in the words of this repository; `numbers` are those of its issues by key."""
        names = {f"@{user}": login for user, login in self.logins.items()}
        names |= {key: str(number) for key, number in numbers.items()} | {"repo": self.repository}
        return _TOKEN.sub(lambda part: names.get(part[1], part[0]), neutral)
