"""Push by git: the commands and the pack that a client sends, and the report that it gets.

The objects are stored by `git index-pack`, which checks them; then each command goes through `operations.refs`, as
every other change of a ref does. No hook runs. The format is that of gitprotocol-pack(5), "Pushing Data To a Server".
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from http import HTTPStatus
from typing import Final

from scylla_gha.counting import counted
from scylla_gha.errors import ToolError
from scylla_gha.hub.addresses import SITE
from scylla_gha.hub.cell import HubSession
from scylla_gha.hub.errors import HubError
from scylla_gha.hub.git_store import NO_COMMIT, GitRepository, is_sha
from scylla_gha.hub.operations.refs import BRANCH, RefRefusedError, change_ref, check_change
from scylla_gha.hub.records import RepositoryRecord
from scylla_gha.system.git import run_git_limited
from scylla_gha.system.process import ProcessLimits

_MEGA: Final = 1024 * 1024
GIT_LIMITS: Final = ProcessLimits(60.0, file_bytes=256 * _MEGA)
_MOST_PUSHED: Final = 48 * _MEGA
_MOST_STORED: Final = 512 * _MEGA
_LARGEST_OBJECT: Final = 32 * _MEGA
_MOST_UNPACKED: Final = 256 * _MEGA
_MOST_COMMANDS: Final = 1000
_MOST_READ: Final = 100_000  # commands that get an answer of their own
_DIGITS: Final = 4  # of a packet's length
_IN_BAND: Final = 65515  # of a packet's 65,520 bytes, without its length and the number of the band
_REPORT, _MESSAGES = b"\x01", b"\x02"
_PACK_HEADER: Final = 12


@dataclass(frozen=True, slots=True)
class RefCommand:
    """Change of a ref that a push asks for; None stands for a ref that does not exist."""

    ref: str
    old: str | None
    new: str | None


@dataclass
class PushReport:
    """Answer to a push: the reason of a refusal by ref, None if it was done; and lines that git shows as remote's."""

    capabilities: frozenset[str]
    results: dict[str, str | None] = field(default_factory=dict)
    lines: list[str] = field(default_factory=list)

    def refuse(self, ref: str, error: HubError) -> None:
        """Note that a command was refused."""
        self.results[ref] = error.reason if isinstance(error, RefRefusedError) else error.message
        self.lines += error.lines if isinstance(error, RefRefusedError) else ()

    def encoded(self, unpacked: str = "ok") -> bytes:
        """Return the bytes of the answer."""
        results = (f"ok {ref}" if reason is None else f"ng {ref} {reason}" for ref, reason in self.results.items())
        report = b"".join(packet(f"{line}\n".encode()) for line in (f"unpack {unpacked}", *results)) + b"0000"
        if "side-band-64k" not in self.capabilities:
            return report
        messages = "".join(f"{line}\n" for line in self.lines).encode()
        return b"".join((*_banded(_MESSAGES, messages), *_banded(_REPORT, report), b"0000"))


def packet(content: bytes) -> bytes:
    """Return a packet with its length before it."""
    return f"{len(content) + _DIGITS:04x}".encode() + content


def _banded(band: bytes, content: bytes) -> Iterator[bytes]:
    for at in range(0, len(content), _IN_BAND):
        yield packet(band + content[at : at + _IN_BAND])


def push(session: HubSession, repository: RepositoryRecord, content: bytes) -> bytes:
    """Do what a push asks for, as far as GitHub's rules allow it, and return the answer.

    Raises:
        HubError: the bytes do not follow the protocol, or are too many.
    """
    commands, capabilities, pack = read_push(content)
    report = PushReport(capabilities)
    if len(commands) > _MOST_COMMANDS:
        return _refused_whole(commands, report)
    git = session.git(repository)
    try:
        _store(git, commands, pack)
    except ToolError as error:
        report.results = {command.ref: "unpacker error" for command in commands}
        report.lines = str(error).splitlines()[-5:]
        return report.encoded("index-pack failed")
    if "atomic" in capabilities and _refuses_one(session, repository, commands, report):
        return report.encoded()
    for command in commands:
        _change(session, repository, command, report)
    return report.encoded()


def _refused_whole(commands: Sequence[RefCommand], report: PushReport) -> bytes:
    """Refuse a push of too many refs, as GitHub does where a repository has a limit."""
    report.results = {command.ref: "too many refs in one push" for command in commands}
    amount = counted(len(commands), "branch or tag", "branches and tags")
    report.lines = [
        f"error: This push updates {amount}, and at most {_MOST_COMMANDS:,} can be updated in a single push.",
        "Push fewer of them at once, such as git push origin 'refs/tags/v1.*'.",
    ]
    return report.encoded()


def read_push(content: bytes) -> tuple[list[RefCommand], frozenset[str], bytes]:
    """Return the commands of a push, the client's capabilities, and the pack, which is empty without one.

    Raises:
        HubError: the bytes do not follow the protocol.
    """
    commands: list[RefCommand] = []
    capabilities: frozenset[str] = frozenset()
    at = 0
    while True:
        line, at = _next_packet(content, at)
        if line is None:
            return commands, capabilities, content[at:]
        if line.startswith(b"shallow "):
            continue
        text, _, names = line.partition(b"\x00")
        if names:
            capabilities = frozenset(names.decode(errors="replace").split())
        commands.append(_command(text))
        if len(commands) > _MOST_READ:
            raise _invalid("it has too many commands")


def _next_packet(content: bytes, at: int) -> tuple[bytes | None, int]:
    """Return the packet at an offset (None: the end of the list), and the offset behind it."""
    digits = content[at : at + _DIGITS]
    try:
        length = int(digits, 16) if digits.isalnum() and len(digits) == _DIGITS else -1
    except ValueError:
        length = -1
    if length == 0:
        return None, at + _DIGITS
    if length <= _DIGITS or at + length > len(content):
        raise _invalid("a packet has a wrong length")
    return content[at + _DIGITS : at + length].removesuffix(b"\n"), at + length


def _command(text: bytes) -> RefCommand:
    try:
        old, new, ref = text.decode().split(" ", 2)
    except ValueError:  # of UnicodeDecodeError as well
        raise _invalid("a command is not old, new and ref") from None
    if not is_sha(old) or not is_sha(new):
        raise _invalid("a command has a wrong object name")
    return RefCommand(ref, None if old == NO_COMMIT else old, None if new == NO_COMMIT else new)


def _invalid(reason: str) -> HubError:
    return HubError(HTTPStatus.BAD_REQUEST, f"Invalid push: {reason}.")


def _store(git: GitRepository, commands: Sequence[RefCommand], pack: bytes) -> None:
    """Store the objects of a pack, and make sure that all that the commands name is there.

    Raises:
        ToolError: the pack is broken, too large, or lacks objects.
    """
    stored = sum(path.stat().st_size for path in (git.path / "objects/pack").glob("*.pack"))
    if len(pack) > _MOST_PUSHED or stored + len(pack) > _MOST_STORED:
        raise ToolError("The pack is too large.")
    if len(pack) > _PACK_HEADER and pack[8:_PACK_HEADER] != bytes(4):
        run_git_limited(git.path, "index-pack", "--stdin", "--fix-thin",
                        "--strict", "--fsck-objects", f"--max-input-size={_MOST_PUSHED}",
                        stdin=pack, limits=GIT_LIMITS)  # fmt: skip
    if names := [command.new for command in commands if command.new]:
        _check_objects(git, names)


def _check_objects(git: GitRepository, names: Sequence[str]) -> None:
    """Make sure that all that new commits name is there, and is not huge when it is unpacked.

    Raises:
        ToolError: an object is missing or too large.
    """
    listed = run_git_limited(git.path, "rev-list", "--objects", "--no-object-names", "--stdin", "--not", "--all",
                             stdin="".join(f"{name}\n" for name in names).encode(), limits=GIT_LIMITS)  # fmt: skip
    if not listed:
        return
    sizes = run_git_limited(git.path, "cat-file", "--batch-check=%(objectsize)", stdin=listed, limits=GIT_LIMITS)
    numbers = [int(line) for line in sizes.split() if line.isdigit()]
    if max(numbers, default=0) > _LARGEST_OBJECT or sum(numbers) > _MOST_UNPACKED:
        raise ToolError("error: GH001: Large files detected. You may want to try Git Large File Storage.")


def _refuses_one(
    session: HubSession, repository: RepositoryRecord, commands: Sequence[RefCommand], report: PushReport
) -> bool:
    """Tell if a command would be refused, so that an atomic push is refused as a whole."""
    for command in commands:
        try:
            _check_old(session, repository, command)
            check_change(session, repository, command.ref, command.new, force=True)
        except HubError as error:
            report.results = {other.ref: "atomic push failed" for other in commands}
            report.refuse(command.ref, error)
            return True
    return False


def _change(session: HubSession, repository: RepositoryRecord, command: RefCommand, report: PushReport) -> None:
    try:
        _check_old(session, repository, command)
        change_ref(session, repository, command.ref, command.new, force=True)
    except HubError as error:
        report.refuse(command.ref, error)
        return
    report.results[command.ref] = None
    branch = command.ref.removeprefix(BRANCH)
    if command.old is None and command.ref.startswith(BRANCH) and branch != repository.default_branch:
        address = f"{SITE}/{session.state.full_name(repository)}/pull/new/{branch}"
        lines = (f"Create a pull request for '{branch}' on GitHub by visiting:", f"     {address}")
        report.lines += ["", *lines, ""]


def _check_old(session: HubSession, repository: RepositoryRecord, command: RefCommand) -> None:
    """Refuse a command that counts from another state of the ref; a ref that is hidden is refused later.

    Raises:
        RefRefusedError: the ref was moved meanwhile.
    """
    if command.new is not None and session.git(repository).ref(command.ref) != command.old:
        raise RefRefusedError(422, "Reference cannot be updated", "failed to update ref")
