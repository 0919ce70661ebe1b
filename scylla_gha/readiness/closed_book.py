"""Closed-book control: the questions asked once without tools, to see what the model knows of the code by heart.

Each question is one request with the item's own prompt. Answers are stored under a key of prompt, model and grader
input, so none is paid twice. Edits are not asked: without the files there is nothing to change.
"""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from scylla_gha.gateway.client import GatewayProcess
from scylla_gha.gateway.log import summarise_traffic
from scylla_gha.gateway.settings import Session
from scylla_gha.judge.judge_client import JudgeFault, Send, open_judge_client
from scylla_gha.judge.prompt import JudgePrompt
from scylla_gha.lenient_json import parse_json
from scylla_gha.model import Record, digest
from scylla_gha.model.judgment import Judge
from scylla_gha.model.readiness import ItemSet, ReadinessItem
from scylla_gha.readiness.guessers import Grade
from scylla_gha.store import read_record, write_record

_CELL: Final = "readiness-closed-book"
_MAX_TOKENS: Final = 1_000
_AT_ONCE: Final = 4
_SYSTEM: Final = (
    "You have no tools and no files. Answer from what you know of this code base, or guess. Reply with the content of "
    "ANSWER.json alone, as one JSON object."
)


class ClosedBookAnswer(Record):
    """A stored answer of the control: the text of the reply, or why there is none."""

    key: str
    item: str
    text: str
    refused: bool = False


@dataclass(frozen=True, slots=True)
class ClosedBook:
    """Answers of the control by item, and what they cost.

    Attributes:
        answers: texts; an item that could not be asked is missing.
        faults: why items could not be asked.
        usd: cost of all requests of the folder; None: unknown.
    """

    answers: Mapping[str, str]
    faults: tuple[str, ...]
    usd: float | None


def ask_closed_book(
    items: ItemSet, gateway: GatewayProcess, model: str, folder: Path, *, budget_usd: float | None = None
) -> ClosedBook:
    """Ask each question once; stored answers are not asked again.

    Args:
        items: the suite.
        gateway: a running gateway, whose budgets hold too.
        model: id of the model under test.
        folder: where answers and the request log are stored.
        budget_usd: most that the control may cost; what is stored counts. None: the gateway's budgets alone.

    Raises:
        ToolError: the gateway does not start.
        ConfigError: a stored answer cannot be read.
    """
    questions = [item for item in items.items if not item.has_shell]
    folder.mkdir(parents=True, exist_ok=True)
    answers = {item.id: stored for item in questions if (stored := _stored(folder, item, model))}
    pending = [item for item in questions if item.id not in answers]
    faults: list[str] = []
    journal = folder / "traffic.jsonl"
    if pending:
        session = Session(cell=_CELL, role="judge", journal=journal, budget_usd=budget_usd, models=(model,))
        with _client(gateway, session) as send, ThreadPoolExecutor(_AT_ONCE) as pool:
            for answer in pool.map(lambda item: _ask(send, model, item, folder), pending):
                if isinstance(answer, str):
                    faults.append(answer)
                else:
                    answers[answer.item] = answer
    texts = {name: answer.text for name, answer in answers.items()}
    return ClosedBook(texts, tuple(faults), summarise_traffic(journal).usage.usd)


def stored_answers(items: ItemSet, model: str, folder: Path) -> dict[str, str]:
    """Return the answers that are stored, by item.

    Raises:
        ConfigError: one cannot be read.
    """
    stored = ((item.id, _stored(folder, item, model)) for item in items.items if not item.has_shell)
    return {name: answer.text for name, answer in stored if answer is not None}


@contextmanager
def _client(gateway: GatewayProcess, session: Session) -> Iterator[Send]:
    handle = gateway.open(session)
    try:
        with open_judge_client(handle.url, handle.token, gateway.style_of) as send:
            yield send
    finally:
        gateway.close(handle)


def _ask(send: Send, model: str, item: ReadinessItem, folder: Path) -> ClosedBookAnswer | str:
    """Ask for one item and store the answer at once; return it, or why there is none."""
    try:
        reply = send(Judge(model, max_tokens=_MAX_TOKENS), JudgePrompt(_SYSTEM, item.prompt, cut=False))
    except JudgeFault as fault:
        return f"{item.id}: {fault}"
    if reply.cut:
        return f"{item.id}: {reply.fault or 'the answer was cut'}"
    answer = ClosedBookAnswer(key=_key(item, model), item=item.id, text=reply.text, refused=reply.refused)
    write_record(_file(folder, answer.key), answer)
    return answer


def _stored(folder: Path, item: ReadinessItem, model: str) -> ClosedBookAnswer | None:
    return read_record(_file(folder, _key(item, model)), ClosedBookAnswer)


def _key(item: ReadinessItem, model: str) -> str:
    return digest([_SYSTEM, item.prompt, model, _MAX_TOKENS])


def _file(folder: Path, key: str) -> Path:
    return folder / f"{key[:16]}.json"


def closed_book_levels(
    items: Iterable[ReadinessItem], answers: Mapping[str, str], grade: Grade
) -> dict[str, tuple[float, int]]:
    """Return mean share and number of graded parts by form; parts that a trace decides are left out."""
    shares: dict[str, list[float]] = defaultdict(list)
    for item in items:
        if item.id in answers:
            answer = parse_answer(answers[item.id])
            for part in item.parts:
                if not part.from_trace:
                    shares[part.form].append(grade(part, answer))
    return {form: (_mean(own), len(own)) for form, own in shares.items()}


def _mean(shares: Sequence[float]) -> float:
    return sum(shares) / len(shares)


def parse_answer(text: str) -> object:
    """Return the JSON object in a reply; an empty object if there is none."""
    try:
        return parse_json(text[text.index("{") : text.rindex("}") + 1])
    except ValueError:
        return {}
