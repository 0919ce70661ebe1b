"""Half an answer is a failure of the provider in every API style, and the client sees that it was cut."""

from pathlib import Path

from scylla_gha.gateway.client import GatewayProcess
from scylla_gha.gateway.log import summarise_traffic
from scylla_gha.gateway.settings import GatewaySettings, ProviderAccess
from tests.integration.test_gateway_guard import KEY, MODELS, ask, calling, every_style
from tests.support.gateway import Host
from tests.support.model_apis import Fault, StyleCase, serving

ERRORS = {
    "anthropic-messages": 'event: error\ndata: {"type": "error", "error": {"type": "overloaded_error"}}\n\n',
    "openai-responses": 'event: error\ndata: {"type": "error", "code": "overloaded_error"}\n\n',
    "openai-chat": 'data: {"error": {"code": "overloaded_error"}}\n\n',
    "gemini": 'data: {"error": {"status": "overloaded_error"}}\n\n',
}


@every_style
def test_half_an_answer_is_the_providers_failure(case: StyleCase, tmp_path: Path) -> None:
    faults = {
        "cut in the framing": Fault(cut_after=1),
        "cut clean": Fault(cut_after=1, is_clean=True),
        "empty": Fault(cut_after=0, is_clean=True),
        "error event": Fault(cut_after=1, is_clean=True, last=ERRORS[case.style]),
    }
    ends = {}
    with serving(*faults.values(), answer=calling("run", command="ls")) as apis:
        access = ProviderAccess(provider=case.provider, upstream=apis.url, bearer=KEY)
        with GatewayProcess.start(GatewaySettings(access=(access,), retries=0, models=MODELS)) as gateway:
            host = Host(gateway, tmp_path)
            for name in faults:
                _, is_ended = ask(case, host.open(name))
                evidence = summarise_traffic(host.journal(name)).evidence
                ends[name] = (evidence.fault, evidence.is_unanswered, evidence.answers, is_ended)
    cut = ("a cut answer", True, 0, False)
    assert ends == dict.fromkeys(faults, cut) | {"error event": ("overloaded_error", True, 0, True)}
