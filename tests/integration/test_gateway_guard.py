"""The gateway judges tool calls in answers of every API style, and the client never gets a call that breaks a rule."""

import http.client
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from scylla_gha.gateway.client import GatewayProcess, SessionHandle
from scylla_gha.gateway.log import summarise_traffic
from scylla_gha.gateway.settings import GatewaySettings, GuardSettings, ProviderAccess
from scylla_gha.model.safety_net import BlockedCall, GuardedTool, SafetyNetSummary
from scylla_gha.model.traffic import ModelInfo, Tokens
from scylla_gha.providers import PROVIDERS
from scylla_gha.providers.base import Body, ToolRequest
from scylla_gha.providers.scripted_style import ScriptedAnswer
from tests.support.gateway import Host
from tests.support.model_apis import CASES, Fault, ModelApis, StyleCase, serving

MESSAGES = StyleCase(
    "anthropic-messages",
    "anthropic",
    "/v1/messages",
    {"model": "MODEL", "stream": True, "max_tokens": 50, "messages": [{"role": "user", "content": "TEXT"}]},
    lambda key: {"x-api-key": key},
    Tokens(),
)
TOOLS = {
    "run": GuardedTool(runs="command", folder="dir"),
    "list": GuardedTool(runs="argv"),
    "read": GuardedTool(reads="path"),
    "write": GuardedTool(writes="path"),
    "patch": GuardedTool(patches="input"),
    "exec": GuardedTool(),
}
GUARD = GuardSettings(tools=TOOLS, workspace="/workspace", home="/home/agent")
DESTROY = "cd / && rm -rf srv/data"
PATCH = "*** Begin Patch\n*** Update File: {}\n@@\n-a\n+b\n*** End Patch\n"
KEY = "real-canary-0123456789"
MODELS = tuple(
    ModelInfo(id=f"dear-{case.style}", provider=case.provider, context_tokens=100_000) for case in (MESSAGES, *CASES)
)
every_style = pytest.mark.parametrize("case", [MESSAGES, *CASES], ids=lambda case: case.style)
both_forms = pytest.mark.parametrize("streamed", [True, False], ids=["streamed", "whole"])


@pytest.fixture(scope="module")
def served() -> Iterator[tuple[ModelApis, GatewayProcess]]:
    """A server of every API style, and a gateway that all tests share."""
    with serving() as apis:
        providers = {case.provider for case in (MESSAGES, *CASES)}
        access = tuple(ProviderAccess(provider=name, upstream=apis.url, bearer=KEY) for name in sorted(providers))
        with GatewayProcess.start(GatewaySettings(access=access, retries=0, models=MODELS)) as gateway:
            yield apis, gateway


@pytest.fixture
def host(served: tuple[ModelApis, GatewayProcess], tmp_path: Path) -> Iterator[Host]:
    host = Host(served[1], tmp_path)
    yield host
    for session in host.sessions:
        served[1].close(session)


@pytest.fixture
def apis(served: tuple[ModelApis, GatewayProcess]) -> ModelApis:
    return served[0]


def calling(tool: str, **arguments: Any) -> ScriptedAnswer:
    return ScriptedAnswer("I work.", ToolRequest("call-1", tool, arguments))


def ask(case: StyleCase, session: SessionHandle, *, streamed: bool = True) -> tuple[bytes, bool]:
    """The bytes that a client gets, and whether they ended."""
    path, body = case.request(model=f"dear-{case.style}")
    if not streamed:
        path, body = (
            case.path.replace("MODEL", f"dear-{case.style}"),
            {**body, **({"stream": False} if "stream" in body else {})},
        )
    connection = http.client.HTTPConnection(session.url.removeprefix("http://"), timeout=60)
    connection.request("POST", path, json.dumps(body), {"content-type": "application/json", **case.key(session.token)})
    answer = connection.getresponse()
    try:
        return answer.read(), True
    except http.client.IncompleteRead as error:
        return error.partial, False
    finally:
        connection.close()


def calls_in(case: StyleCase, content: bytes, *, streamed: bool = True) -> list[Body]:
    """The arguments of the calls in an answer."""
    style = PROVIDERS[case.provider].styles[case.style]
    reader = style.usage_reader(streamed=streamed, reads=lambda _: True)
    reader.feed(content)
    reader.end()
    assert reader.complete
    return [call.arguments for call in reader.calls]


@every_style
@both_forms
def test_a_refused_command_is_replaced_by_one_that_prints_the_refusal(
    case: StyleCase, host: Host, apis: ModelApis, streamed: bool
) -> None:
    apis.answer = calling("run", command=DESTROY, timeout=5)
    content, ended = ask(case, host.open(guard=GUARD), streamed=streamed)
    summary = summarise_traffic(host.journal()).safety_net
    (arguments,) = calls_in(case, content, streamed=streamed)
    assert ended
    assert arguments["command"].startswith("printf '%s\\n' '[safety net] delete-outside: blocked, since this deletes")
    assert arguments["command"].endswith("; false")
    assert arguments["timeout"] == 5
    blocked = BlockedCall(rule="delete-outside", tool="run", command=DESTROY)
    assert summary == SafetyNetSummary(by="gateway", calls=1, blocked=(blocked,))


@every_style
@both_forms
def test_other_answers_arrive_byte_by_byte_as_they_were(
    case: StyleCase, host: Host, apis: ModelApis, streamed: bool
) -> None:
    apis.answer = calling("run", command="rm -rf build && ls")
    guarded, _ = ask(case, host.open("guarded", guard=GUARD), streamed=streamed)
    plain, _ = ask(case, host.open("plain"), streamed=streamed)
    summary = summarise_traffic(host.journal("guarded")).safety_net
    without = summarise_traffic(host.journal("plain")).safety_net
    assert guarded == plain
    assert summary == SafetyNetSummary(by="gateway", calls=1)
    assert without is None


@pytest.mark.parametrize(
    ("tool", "arguments", "rule"),
    [
        ("list", {"argv": ["bash", "-lc", "cat ~/.ssh/id_rsa"]}, "credentials"),
        ("list", {"argv": ["rm", "-rf", "/etc"]}, "delete-outside"),
        ("read", {"path": "/home/agent/.aws/credentials"}, "credentials"),
        ("write", {"path": "/etc/hosts"}, "write-outside"),
        ("write", {"path": "../../etc/hosts"}, "write-outside"),
        ("patch", {"input": PATCH.format("/etc/hosts")}, "write-outside"),
        ("run", {"command": "rm -rf data", "dir": "/srv"}, "delete-outside"),
        ("run", {"command": "echo $HOME; git push --force origin main"}, "shared-push"),
    ],
)
def test_rules_apply_to_each_form_of_a_call(tool: str, arguments: Body, rule: str, host: Host, apis: ModelApis) -> None:
    apis.answer = calling(tool, **arguments)
    content, _ = ask(MESSAGES, host.open(guard=GUARD))
    summary = summarise_traffic(host.journal()).safety_net
    assert summary is not None
    assert [call.rule for call in summary.blocked] == [rule]
    assert f"[safety net] {rule}: blocked" in str(calls_in(MESSAGES, content))
    changed = calls_in(MESSAGES, content)[0][TOOLS[tool].argument or ""]
    assert str(changed).startswith(
        ("/dev/null/", "['sh', '-c',", "printf", "*** Begin Patch\n*** Update File: /dev/null/")
    )


@pytest.mark.parametrize(
    ("tool", "arguments"),
    [
        ("write", {"path": "src/a.py"}),
        ("write", {"path": "/workspace/a.py"}),
        ("read", {"path": "/etc/hosts"}),
        ("patch", {"input": PATCH.format("src/a.py")}),
        ("run", {"command": "rm -rf ~/.cache/pip", "dir": "src"}),
        ("other", {"path": "/etc/hosts"}),
    ],
)
def test_harmless_calls_are_left_alone(tool: str, arguments: Body, host: Host, apis: ModelApis) -> None:
    apis.answer = calling(tool, **arguments)
    content, _ = ask(MESSAGES, host.open(guard=GUARD))
    summary = summarise_traffic(host.journal()).safety_net
    assert calls_in(MESSAGES, content) == [arguments]
    assert summary == (None if tool == "other" else SafetyNetSummary(by="gateway", calls=1))


@pytest.mark.parametrize(
    ("answer", "summary"),
    [
        (calling("exec", code="run('rm -rf /')"), SafetyNetSummary(by="gateway", unseen=1)),
        (calling("run", command="echo 'open"), SafetyNetSummary(by="gateway", calls=1, unread=1)),
        (calling("run", command="echo x; " * 3000), SafetyNetSummary(by="gateway", calls=1, unread=1)),
        (calling("run", command="git push --force"), SafetyNetSummary(by="gateway", calls=1, unread=1)),
        (calling("run", command={"a": 1}), SafetyNetSummary(by="gateway", calls=1, unread=1)),
    ],
)
def test_what_cannot_be_read_is_passed_on_and_counted(
    answer: ScriptedAnswer, summary: SafetyNetSummary, host: Host, apis: ModelApis
) -> None:
    apis.answer = answer
    content, _ = ask(MESSAGES, host.open(guard=GUARD))
    assert summarise_traffic(host.journal()).safety_net == summary
    assert answer.call is not None
    assert calls_in(MESSAGES, content) == [answer.call.arguments]
    assert summary.blocked_calls == (None if summary.unseen else 0)


@every_style
@pytest.mark.parametrize("cut_after", range(1, 8))
def test_of_an_answer_that_is_cut_no_refused_call_arrives(
    case: StyleCase, cut_after: int, host: Host, apis: ModelApis
) -> None:
    apis.answer, apis.faults = calling("run", command=DESTROY), [Fault(cut_after=cut_after)]
    content, _ = ask(case, host.open(guard=GUARD))
    assert b"srv/data" not in content.replace(f"The call was: {DESTROY}".encode(), b"")


def test_a_replay_is_guarded_too(tmp_path: Path) -> None:
    case = MESSAGES
    with serving(answer=calling("run", command=DESTROY)) as apis:
        access = ProviderAccess(provider=case.provider, upstream=apis.url, bearer=KEY)
        settings = GatewaySettings(access=(access,), retries=0, record=tmp_path / "takes")
        with GatewayProcess.start(settings) as gateway:
            live, _ = ask(case, Host(gateway, tmp_path / "live").open(guard=GUARD))
    with GatewayProcess.start(GatewaySettings(replay=tmp_path / "takes")) as gateway:
        host = Host(gateway, tmp_path / "replay")
        replayed, _ = ask(case, host.open(guard=GUARD))
        summary = summarise_traffic(host.journal()).safety_net
    assert calls_in(case, replayed) == calls_in(case, live)
    assert summary is not None
    assert summary.blocked_calls == 1
