"""Every spelling is found, wherever the bytes are cut, and nothing else is touched."""

import base64
import io
import json
import random
import re
import string
import urllib.parse
import zlib
from pathlib import Path

import pytest

import scylla_gha.redaction as subject
from scylla_gha.errors import ConfigError
from scylla_gha.redaction import Redactor

PLAIN = "kT9xQ2mZ7vB4nL8cR1wY5sD3"
ODD = 'p/s+w"o\\r=d é&\t%4'
LINES = "first line of it, long\nsecond line of it, long\n"


def cut(text: bytes, at: int) -> bytes:
    return text[:at] + b"\n" + text[at:]


def forms(secret: str) -> dict[str, bytes]:
    raw = secret.encode()
    return {
        "exact": raw,
        "url": urllib.parse.quote(secret, safe="").encode(),
        "url, slash kept": urllib.parse.quote(secret).encode(),
        "url, lower case": re.sub("%..", lambda code: code[0].lower(), urllib.parse.quote(secret, safe="")).encode(),
        "form": urllib.parse.urlencode({"": secret}).encode()[1:],
        "every byte": "".join(f"%{byte:02X}" for byte in raw).encode(),
        "json": json.dumps(secret).encode()[1:-1],
        "json, not ascii": json.dumps(secret, ensure_ascii=False).encode()[1:-1],
        "json in json": json.dumps(json.dumps(secret)).encode()[3:-3],
        "hex": raw.hex().encode(),
        "HEX": raw.hex().upper().encode(),
        **{f"base64 at {n}": base64.b64encode(b"user:"[:n] + raw) for n in range(6)},
        **{f"base64 at {n} of a text": base64.urlsafe_b64encode(b"user:"[:n] + raw + b", end").rstrip(b"=")
           for n in range(3)},
        "base64 in lines": base64.encodebytes(b"long before it, " * 3 + raw + b"and after" * 9).rstrip(),
        "base64 in lines in json": json.dumps(base64.encodebytes(b"long before it, " * 3 + raw).decode()).encode(),
        "base64 in lines in a diff": b"\n+".join(base64.encodebytes(b"long before it, " * 3 + raw).splitlines()),
        **{f"base32 at {n}": base64.b32encode(b"user:"[:n] + raw) for n in range(5)},
        **{f"base32 at {n} of a text": base64.b32encode(b"user:"[:n] + raw + b", end").rstrip(b"=") for n in range(5)},
        **{f"base32 at {n}, lower case": base64.b32encode(b"user:"[:n] + raw + b"!").lower() for n in range(5)},
        **{f"base32 cut at {n}": cut(base64.b32encode(raw), n) for n in (3, 15, 30)},
        "base32 in lines in a diff": b"\n+".join(cut(base64.b32encode(b"long before it, " * 3 + raw), 76).splitlines()),
        "base32 twice": base64.b32encode(raw) * 2,
        "hex in lines": b"\n".join(raw.hex().encode()[at : at + 30] for at in range(0, 2 * len(raw), 30)),
    }  # fmt: skip


@pytest.mark.parametrize("secret", [PLAIN, ODD])
@pytest.mark.parametrize("form", forms(PLAIN))
def test_every_form_is_found_at_every_place_of_a_text(secret: str, form: str) -> None:
    written = forms(secret)[form]
    redactor = Redactor(["another-1-secret", secret])
    for before, after in ((b"", b""), (b"key: ", b" end\n"), (b"a" * 300, b"\n" * 300)):
        clean, found = redactor.redact_bytes(before + written + after)
        assert found >= 1
        assert clean.startswith(before)
        assert_gone(secret, clean[len(before) : len(clean) - len(after)])


def redacted_chunks(redactor: Redactor, chunks: list[bytes]) -> tuple[bytes, int]:
    """Redact a file whose reads return these chunks."""

    class Chunks(io.BytesIO):
        def read(self, _size: int | None = -1, /) -> bytes:
            return next(remaining, b"")

    remaining = iter([chunk for chunk in chunks if chunk])
    target = io.BytesIO()
    count = redactor.redact(Chunks(), target)
    return target.getvalue(), count


def assert_gone(secret: str, clean: bytes) -> None:
    """Neither the secret nor a third of it is left, as it is, in base64, or in base32."""
    raw = secret.encode()
    size = len(raw) // 3
    tails = [raw[at : at + size] for at in range(len(raw) - size + 1)]
    encoded = [base64.b64encode(b"\0" * n + raw)[4:-4] for n in range(3)]
    encoded += [base64.b32encode(b"\0" * n + raw)[8:-8] for n in range(5)]
    tails += [text[at : at + 8] for text in encoded for at in range(len(text) - 7)]
    assert not any(tail in clean or tail in clean.upper() for tail in tails)


@pytest.mark.parametrize("form", forms(PLAIN))
def test_a_secret_cut_at_any_byte_by_a_chunk_is_found(form: str, monkeypatch: pytest.MonkeyPatch) -> None:
    written = b"x" * 400 + forms(PLAIN)[form] + b"y" * 400
    redactor = Redactor([PLAIN])
    whole, found = redactor.redact_bytes(written)
    for cut in range(400, 401 + len(forms(PLAIN)[form])):
        assert redacted_chunks(redactor, [written[:cut], written[cut:]]) == (whole, found), cut
    monkeypatch.setattr(subject, "_CHUNK_BYTES", 1)
    target = io.BytesIO()
    assert redactor.redact(io.BytesIO(written), target) == found
    assert target.getvalue() == whole


def test_any_cutting_of_any_bytes_gives_the_same_result() -> None:
    choose = random.Random(7)
    secrets = [PLAIN, PLAIN[5:] + "more", "ababcabab-9ab", ODD, "ghp_" + "a1B2" * 9]
    redactor = Redactor(secrets)
    token = b"glpat-" + b"Ab1_" * 6
    for _ in range(150):
        pieces = [choose.choice([*map(str.encode, secrets), *forms(PLAIN).values(), token, PLAIN.encode()[:9], b"ab",
                                 b"\\", b"\\u00e9", b'"', b"\n", choose.randbytes(choose.randint(0, 900))])
                  for _ in range(choose.randint(1, 12))]  # fmt: skip
        data = b"".join(pieces)
        whole = redactor.redact_bytes(data)
        cuts = sorted(choose.choices(range(len(data) + 1), k=choose.randint(0, 8)))
        chunks = [data[start:end] for start, end in zip([0, *cuts], [*cuts, len(data)], strict=True)]
        assert redacted_chunks(redactor, chunks) == whole
        assert not any(secret.encode() in whole[0] for secret in secrets)


def test_secrets_that_overlap_or_hold_each_other_have_one_mark() -> None:
    redactor = Redactor(["inner-0123456789", "https://u:inner-0123456789@host", "6789@host-of-9"])
    assert redactor.redact_bytes(b"<https://u:inner-0123456789@host-of-9>") == (b"<[redacted]>", 1)
    assert redactor.redact_bytes(b"<inner-0123456789><inner-0123456789>") == (b"<[redacted]><[redacted]>", 2)


def test_json_stays_json_whatever_is_next_to_a_secret() -> None:
    choose = random.Random(3)
    secrets = ["nobody-knows-1", "u00e9-is-it-2", "\\end-3-with-\\", "0041-hex-start", ODD]
    redactor = Redactor(secrets)
    around = ["\n", "\\", "é", "\u0000", "\U0001f600", '"', "\\u", "u", "\\n", "npm_" + "a1" * 18, "\t-----BEGIN ", "x"]
    for _ in range(600):
        text = "".join(choose.choice([*around, *secrets]) for _ in range(choose.randint(1, 9)))
        line = json.dumps({"text": text, "again": json.dumps([text])}, ensure_ascii=choose.random() < 0.5).encode()
        clean, _ = redactor.redact_bytes(line)
        assert set(json.loads(clean)) == {"text", "again"}
        assert not any(secret in json.loads(clean)["text"] for secret in secrets)


def test_a_private_key_in_any_wrapping_is_taken_out_and_no_more() -> None:
    body = "\n".join(base64.b64encode(random.Random(1).randbytes(48)).decode() for _ in range(20))
    key = f"-----BEGIN RSA PRIVATE KEY-----\n{body}\n-----END RSA PRIVATE KEY-----\n"
    redactor = Redactor()
    for written in (key, json.dumps({"a": key, "b": 1}), json.dumps({"a": json.dumps({"k": key}), "b": 1}),
                    key.replace("\n", "\r\n"), "+" + key.replace("\n", "\n+")):  # fmt: skip
        clean, found = redactor.redact_bytes(written.encode())
        assert found == 1
        assert body.splitlines()[3].encode() not in clean
        assert b"PRIVATE" not in clean
        if written.startswith("{"):
            assert json.loads(clean)["b"] == 1
    cut = key[: len(key) // 2].encode()
    assert redactor.redact_bytes(b"a " + cut) == (b"a [redacted]", 1)


def test_what_is_public_stays_but_never_a_given_secret() -> None:
    token = b"ghp_" + b"a1B2" * 9
    redactor = Redactor(["ghp_" + "zZ9y" * 9]).with_public_tokens(lambda text: text == token)
    assert redactor.redact_bytes(token + b" ghp_" + b"zZ9y" * 9) == (token + b" [redacted]", 1)
    assert redactor.redact_bytes(b"ghp_" + b"c1B2" * 9)[1] == 1


def test_each_long_line_of_a_secret_is_one() -> None:
    redactor = Redactor([LINES])
    assert (
        redactor.redact_bytes(b"+first line of it, long\n+second line of it, long\n")[0]
        == b"+[redacted]\n+[redacted]\n"
    )


@pytest.mark.parametrize(
    ("value", "reason"),
    [("1234567", "shorter than 8"), ("production", "a plain word"), ("safe.directory", "a plain word"),
     ("aaaaaaaaaaab", "fewer than 4 different"), ("[redacted", "a part of the text that replaces")],
)  # fmt: skip
def test_what_would_take_half_of_every_file_is_refused(value: str, reason: str) -> None:
    with pytest.raises(ConfigError, match=reason) as caught:
        Redactor([value])
    assert value not in str(caught.value)


def test_ordinary_text_is_not_touched() -> None:
    choose = random.Random(11)
    redactor = Redactor([PLAIN, ODD])
    letters = string.ascii_letters + string.digits
    minified = "".join(choose.choices(letters + "(){};=>.,_$-", k=2_000_000))
    kinds = [
        b"\n".join(b"%040x" % choose.getrandbits(160) for _ in range(20_000)),
        b" ".join(str(choose.getrandbits(128)).encode() for _ in range(5_000)),
        b"data:image/png;base64," + base64.b64encode(choose.randbytes(6_000_000)),
        base64.urlsafe_b64encode(choose.randbytes(3_000_000)),
        base64.b85encode(zlib.compress(choose.randbytes(2_000_000))),
        choose.randbytes(6_000_000),
        minified.encode(),
        b"task-project-configuration-settings-page-for-everybody sk_test_configuration_values task-ant-design",
        b"sk-scylla-aBcDeFgHiJkLmNoPqRsTuVwXyZ012345 -----BEGIN CERTIFICATE-----\nMIIB\n-----END CERTIFICATE-----",
        b"//registry/:_authToken=${NPM_TOKEN} aws_secret_access_key = os.environ['AWS_SECRET_ACCESS_KEY']",
    ]
    for text in kinds:
        assert redactor.redact_bytes(text) == (text, 0)


def test_the_projects_own_files_hold_no_token() -> None:
    redactor = Redactor()
    for path in (Path(__file__).parents[2] / "scylla_gha").rglob("*.py"):
        assert redactor.redact_bytes(path.read_bytes())[1] == 0, path


def test_a_file_is_written_only_where_something_was_found(tmp_path: Path) -> None:
    path = tmp_path / "x.txt"
    path.write_bytes(b"nothing")
    before = path.stat().st_ino
    redactor = Redactor([PLAIN])
    assert (redactor.redact_file(path), path.stat().st_ino) == (0, before)
    path.write_bytes(b"some " + PLAIN.encode())
    assert (redactor.redact_file(path), path.read_bytes()) == (1, b"some [redacted]")
    assert [each.name for each in tmp_path.iterdir()] == ["x.txt"]


def test_memory_is_bounded_also_by_a_flood_of_overlapping_secrets() -> None:
    redactor = Redactor(["abcdabcd-abcdabcd-abcd"])
    stream = subject._Stream()
    largest = 0
    for _ in redactor._pass((b"abcdabcd-" * 11_000 for _ in range(30)), stream):
        largest = max(largest, len(stream.buffer))
    assert largest < 400_000
    assert stream.count == 1


def test_more_secrets_and_the_same_ones() -> None:
    redactor = Redactor([PLAIN])
    assert redactor.with_secrets([PLAIN]) is redactor
    assert redactor.with_secrets(["another-1-secret"]).redact_bytes(f"{PLAIN} another-1-secret".encode())[1] == 2


def test_places_are_told_in_characters() -> None:
    assert Redactor([PLAIN]).spans(f"é{PLAIN} ü {PLAIN}") == [(1, 25), (28, 52)]
