"""Text that others can read: agents say anything, and formats do not hold everything."""

import json
import re
from typing import Final

REPLACEMENT: Final = "\ufffd"
# The characters that XML 1.0 cannot hold, not even escaped; surrogates alone are no characters in any format.
_NOT_IN_XML: Final = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\ud800-\udfff\ufffe\uffff]")
_SURROGATE: Final = re.compile("[\ud800-\udfff]")


def for_xml(text: str) -> str:
    """The text, with a replacement for each character that XML 1.0 cannot hold; escaping is the writer's."""
    return _NOT_IN_XML.sub(REPLACEMENT, text)


def json_bytes(value: object, indent: int | None = None) -> bytes:
    """Plain data as JSON in UTF-8, with keys as they come.

    Raises:
        ValueError: NaN or an infinity, which JSON has no word for.
    """
    text = json.dumps(value, ensure_ascii=False, allow_nan=False, indent=indent)
    return _SURROGATE.sub(REPLACEMENT, text).encode()
