"""Redaction on one core, run by hand: `taskset -c 0 python tests/benchmarks/redaction.py [--mb 200] [--engines]`.

Megabytes a second of processor time, the best of three. `--engines` measures what could find the anchors, on the same
literals; those that are no dependency have to be installed first (google-re2, pyahocorasick, hyperscan).
"""

import argparse
import base64
import importlib.util
import io
import json
import random
import re
import string
import time
from collections.abc import Callable
from typing import Any

from scylla_gha.redaction import Redactor
from scylla_gha.redaction.patterns import TOKEN_PATTERNS, secret_encodings

CHOOSE = random.Random(1)
SECRETS = ["".join(CHOOSE.choices(string.ascii_letters + string.digits, k=40)) for _ in range(15)]
CHUNK = 1 << 20
Scan = Callable[[bytes], int]


class Sink(io.RawIOBase):
    def writelines(self, lines: Any, /) -> None:
        for _ in lines:
            pass


def json_lines(size: int) -> bytes:
    """As an agent's transcript, without its stream's events."""
    words = ["".join(CHOOSE.choices(string.ascii_lowercase, k=CHOOSE.randint(2, 10))) for _ in range(20_000)]
    lines = []
    for number in range(2000):
        text = " ".join(CHOOSE.choices(words, k=80)) + f'\n"path": src/{number}.py, sha {CHOOSE.getrandbits(160):040x}'
        block = {"type": "text", "text": text, "input": json.dumps({"command": text[:40]})}
        lines.append(json.dumps({"type": "assistant", "message": {"id": f"msg_{number}", "content": [block]}}) + "\n")
    return "".join(lines).encode() * (size // sum(map(len, lines)) + 1)


def events(size: int) -> bytes:
    """A stream's events, 20 characters each."""
    lines = [json.dumps({"type": "stream_event", "event": {"type": "content_block_delta", "index": 0, "delta": {
        "type": "text_delta", "text": "".join(CHOOSE.choices(string.ascii_lowercase, k=20))}}, "session_id": "s" * 36,
        "parent_tool_use_id": None, "uuid": f"{number:032x}"}) + "\n" for number in range(400)]  # fmt: skip
    lines.append('{"type":"stream_event","event":{"type":"message_stop"}}\n')
    return "".join(lines).encode() * (size // sum(map(len, lines)) + 1)


def texts(size: int) -> dict[str, bytes]:
    leak = base64.b64encode(b"user:" + SECRETS[0].encode()) + b"\n"
    plain = json_lines(size)
    return {
        "JSON lines": plain[:size],
        "random bytes": CHOOSE.randbytes(size),
        "base64": base64.b64encode(CHOOSE.randbytes(size * 3 // 4)),
        "stream events": events(size // 4)[: size // 4],
        "a secret every 10 kB": b"".join(plain[at : at + 10_000] + leak for at in range(0, size, 10_000)),
    }


def speed(data: bytes, work: Callable[[], object]) -> float:
    best = float("inf")
    for _ in range(3):
        began = time.process_time()
        work()
        best = min(best, time.process_time() - began)
    return len(data) / 1e6 / best


def whole(megabytes: int) -> None:
    every = texts(megabytes * 1_000_000)
    for count in (0, 1, 5, 15):
        redactor = Redactor(SECRETS[:count])
        for name, data in every.items():
            rate = speed(data, lambda data=data, redactor=redactor: redactor.redact(io.BytesIO(data), Sink()))  # type: ignore[misc]
            print(f"{count:2} secrets  {name:22} {rate:7.0f} MB/s")


def literals() -> list[bytes]:
    own = [anchor for secret in SECRETS[:5] for each in secret_encodings(secret) for anchor, _ in each.anchors]
    return sorted({*own, *(anchor for kind in TOKEN_PATTERNS for anchor in kind.anchors)})


def engines(found: list[bytes]) -> dict[str, Scan]:
    import ahocorasick_rs

    first = ahocorasick_rs.MatchKind.LeftmostFirst
    one = ahocorasick_rs.BytesAhoCorasick(found, matchkind=first)
    some = [ahocorasick_rs.BytesAhoCorasick(found[at : at + 40], matchkind=first) for at in range(0, len(found), 40)]
    either = re.compile(b"|".join(map(re.escape, found)))
    made: dict[str, Scan] = {
        "ahocorasick-rs, groups of 40": lambda data: sum(len(each.find_matches_as_indexes(data)) for each in some),
        "ahocorasick-rs, all in one": lambda data: len(one.find_matches_as_indexes(data)),
        "re, one alternation": lambda data: sum(1 for _ in either.finditer(data)),
        "bytes.find, one by one": lambda data: sum(data.find(each) >= 0 for each in found),
    }
    installed = {name for name in ("re2", "ahocorasick", "hyperscan") if importlib.util.find_spec(name)}
    return made | {f"{name}, not a dependency": _other(name, found) for name in sorted(installed)}


def _other(name: str, found: list[bytes]) -> Scan:
    module: Any = importlib.import_module(name)
    if name == "re2":
        either = module.compile(b"|".join(map(re.escape, found)))
        return lambda data: sum(1 for _ in either.finditer(data))
    if name == "ahocorasick":
        machine = module.Automaton()
        for literal in found:
            machine.add_word(literal.decode(), literal)
        machine.make_automaton()
        return lambda data: sum(1 for _ in machine.iter(data.decode("latin-1")))
    base = module.Database()
    base.compile(expressions=found, ids=list(range(len(found))), literal=True)

    def scan(data: bytes) -> int:
        hits: list[int] = []
        base.scan(data, match_event_handler=lambda *told: hits.append(told[0]))
        return len(hits)

    return scan


def compare() -> None:
    data = json_lines(20_000_000)[:20_000_000]
    chunks = [data[at : at + CHUNK] for at in range(0, len(data), CHUNK)]
    found = literals()
    print(f"{len(found)} literals")
    for name, scan in engines(found).items():
        print(f"{name:32} {speed(data, lambda scan=scan: [scan(chunk) for chunk in chunks]):7.0f} MB/s")  # type: ignore[misc]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--mb", type=int, default=200)
    parser.add_argument("--engines", action="store_true")
    given = parser.parse_args()
    compare() if given.engines else whole(given.mb)


if __name__ == "__main__":
    main()
