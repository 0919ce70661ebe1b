"""Who may give an order, for which commit it holds, and its execution."""

from collections.abc import Collection
from dataclasses import dataclass

from scylla_gha.errors import RefusedError
from scylla_gha.github.answers import Pull
from scylla_gha.github.channel import Channel
from scylla_gha.github.dispatch import dispatch
from scylla_gha.github.events import CommentEvent
from scylla_gha.github.pulls import last_push, may_write, merge_base, pull
from scylla_gha.github.slash import COMPARE, Order, parse


@dataclass(frozen=True, slots=True)
class Settled:
    """An order that is to be carried out: the inputs of the dispatch."""

    inputs: dict[str, str]


def is_stranger_bot(told: CommentEvent, bots: Collection[str]) -> bool:
    """Whether a bot wrote it that is not on the list; it gets no answer, or two bots might talk for ever."""
    user = told.comment.user
    return (user.type == "Bot" or user.login.endswith("[bot]")) and user.login not in bots


def decide(channel: Channel, told: CommentEvent) -> Settled:
    """The order in a comment, for one commit.

    Raises:
        RefusedError: its author may not give one, it is none, or nobody knows which commit it is about.
    """
    if not may_write(channel, told.comment.user.login):
        raise RefusedError("an evaluation costs money, so only those may start one who may write to this repository")
    order = parse(told.comment.body or "")
    of = pull(channel, told.issue.number)
    if of.state != "open":
        raise RefusedError("the pull request is closed")
    _agree(channel, told, order, of)
    given = {"experiment": order.experiment, "only": " ".join(order.only), "repetitions": order.repetitions,
             "pull": str(of.number), "head": of.head.sha,
             "base": merge_base(channel, of) if order.verb == COMPARE else ""}  # fmt: skip
    return Settled({name: value for name, value in given.items() if value})


def _agree(channel: Channel, told: CommentEvent, order: Order, of: Pull) -> None:
    """Whoever gave the order must have been able to see this head: a push after it could be anything.

    Raises:
        RefusedError: nothing shows that.
    """
    now = of.head.sha
    again = f"look at it, and comment `/scylla {order.verb} {order.experiment} {now[:10]}`"
    if order.sha:
        if not now.startswith(order.sha):
            raise RefusedError(f"the head is `{now[:10]}`, not `{order.sha}`; {again}")
        return
    pushed = last_push(channel, of)
    if pushed is None or pushed.after != now:
        raise RefusedError(f"GitHub does not tell when the head `{now[:10]}` was pushed; {again}")
    if pushed.timestamp >= told.comment.created_at:
        raise RefusedError(f"the head `{now[:10]}` was pushed after your comment; {again}")


def start(channel: Channel, told: CommentEvent, settled: Settled, workflow: str) -> str:
    """Dispatch it from the default branch; the run's address.

    Raises:
        RefusedError: the head moved meanwhile.
    """
    now = pull(channel, told.issue.number).head.sha
    if now != settled.inputs["head"]:
        raise RefusedError(f"the head moved to `{now[:10]}` just now; look at it, and give the order again with that "
                           "commit at its end")  # fmt: skip
    return dispatch(channel, workflow, told.repository.default_branch, settled.inputs).html_url
