"""One redactor over all that is stored of one thing, with the count of what was taken out."""

import contextlib
import os
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar

from scylla_gha.model.record import Record
from scylla_gha.redaction.redactor import Redactor

R = TypeVar("R", bound=Record)


@dataclass(slots=True)
class RedactionSession:
    """Counts places: a secret that stands in two files was found twice.

    It goes on until nothing is found, since what was glued to a secret may look like a token without it. So what was
    swept once is never changed by a second time, and digests of it hold.
    """

    redactor: Redactor
    found: int = 0

    def clean(self, data: bytes) -> bytes:
        """The bytes without secrets."""
        clean, found = self.redactor.redact_bytes(data)
        while found:
            self.found += found
            clean, found = self.redactor.redact_bytes(clean)
        return clean

    def record(self, record: R) -> R:
        """The record without secrets in any of its texts."""
        text = record.model_dump_json().encode()
        clean = self.clean(text)
        return record if clean == text else type(record).model_validate_json(clean)

    def file(self, path: Path) -> None:
        """Clean a file, where it is one."""
        if not path.is_symlink() and path.is_file():  # a link's target may be too long a name to ask about
            while found := self.redactor.redact_file(path):
                self.found += found

    def folder(self, root: Path, but: Path | None = None) -> None:
        """Clean all files below, but for one."""
        for place, _, names in os.walk(root):
            for name in names:
                if (path := Path(place, name)) != but:
                    self.file(path)

    @contextlib.contextmanager
    def guarding(self, root: Path) -> Iterator[None]:
        """Clean an attempt's folder also where the block ends in an error, so that nothing is left as it came.

        Its diff was made of clean files. As a text it may look like a secret, across two files for instance, and would
        not apply without it.
        """
        try:
            yield
        finally:
            self.folder(root, but=root / "diff.patch")
