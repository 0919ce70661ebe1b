"""Time that the gateway adds: `python tests/benchmarks/gateway.py [STYLE...]`. Upstream and load are outside of it.

Without arguments all API styles are measured; `anthropic-messages` also with 200 streams and a stream of 100 MB.
Targets: time to first byte +3 ms at the median and +10 ms at p99 with 16 streams at once; 200 streams at once; flat
memory over a stream of 100 MB.
"""

import asyncio
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Awaitable, Callable, Sequence
from pathlib import Path

import aiohttp
from aiohttp import web

from scylla_gha.gateway.client import GatewayProcess, SessionHandle
from scylla_gha.gateway.settings import GatewaySettings, Session

FIRST_BYTE_SECONDS = 0.3  # what a fast model takes, so that streams overlap as they do with one
EVENTS, PAUSE = 40, 0.01
ROUNDS = 12
MEGABYTE = 1024 * 1024
STYLES = {  # path of a request for a stream, header of the key, and the last event of an answer
    "anthropic-messages": ("/v1/messages", "x-api-key", b'event: message_stop\ndata: {"type":"message_stop"}\n\n'),
    "openai-responses": (
        "/v1/responses",
        "authorization",
        b'data: {"type":"response.completed","response":{"status":"completed"}}\n\n',
    ),
    "openai-chat": (
        "/v1/chat/completions",
        "authorization",
        b'data: {"choices":[{"finish_reason":"stop"}]}\n\ndata: [DONE]\n\n',
    ),
    "gemini": (
        "/v1beta/models/m:streamGenerateContent",
        "x-goog-api-key",
        b'data: {"candidates":[{"finishReason":"STOP"}]}\n\n',
    ),
}
DELTAS = {
    "anthropic-messages": b'event: ping\ndata: {"type": "ping", "n": %d}\n\n',
    "openai-responses": b'event: response.output_text.delta\ndata: {"type":"response.output_text.delta","n":%d}\n\n',
    "openai-chat": b'data: {"choices":[{"index":0,"delta":{"content":"%d"},"finish_reason":null}]}\n\n',
    "gemini": b'data: {"candidates":[{"content":{"parts":[{"text":"%d"}]}}]}\n\n',
}
SIZES = {"small": 2_000, "as Claude Code's first request": 117_000}


async def upstream_answer(request: web.Request) -> web.StreamResponse:
    """A stream as a provider sends it; `big` in the query: as many megabytes as fast as they go."""
    await request.read()
    style = next(name for name, (path, _, _) in STYLES.items() if path == request.path)
    response = web.StreamResponse(headers={"content-type": "text/event-stream"})
    if "big" in request.query:
        await response.prepare(request)
        chunk = b'event: content_block_delta\ndata: {"type":"content_block_delta","x":"' + b"x" * 65_000 + b'"}\n\n'
        for _ in range(int(request.query["big"]) * MEGABYTE // len(chunk)):
            await response.write(chunk)
    else:
        await asyncio.sleep(FIRST_BYTE_SECONDS)
        await response.prepare(request)
        for number in range(EVENTS):
            await response.write(DELTAS[style] % number)
            await asyncio.sleep(PAUSE)
    await response.write(STYLES[style][2])
    return response


def serve_upstream() -> None:
    async def run() -> None:
        application = web.Application(client_max_size=64 * MEGABYTE)
        for path, _, _ in STYLES.values():
            application.router.add_post(path, upstream_answer)
        runner = web.AppRunner(application, access_log=None)
        await runner.setup()
        await web.TCPSite(runner, "127.0.0.1", 0).start()
        print(runner.addresses[0][1], flush=True)
        await asyncio.Event().wait()

    asyncio.run(run())


async def first_byte(session: aiohttp.ClientSession, url: str, token: str, body: bytes, style: str) -> float:
    path, header, _ = STYLES[style]
    query = "?alt=sse" if style == "gemini" else ""
    headers = {header: f"Bearer {token}" if header == "authorization" else token}
    began = time.perf_counter()
    async with session.post(f"{url}{path}{query}", data=body, headers=headers) as response:
        await response.content.readany()
        seconds = time.perf_counter() - began
        async for _ in response.content.iter_any():
            pass
    assert response.status == 200
    return seconds


async def wave(session: aiohttp.ClientSession, url: str, tokens: Sequence[str], body: bytes, style: str) -> list[float]:
    """A stream each, begun one after the other over the length of a stream, as agents are: not in step."""

    async def one(number: int, token: str) -> float:
        await asyncio.sleep(number * (FIRST_BYTE_SECONDS + EVENTS * PAUSE) / len(tokens))
        return await first_byte(session, url, token, body, style)

    return list(await asyncio.gather(*map(one, range(len(tokens)), tokens)))


async def together(
    session: aiohttp.ClientSession, url: str, tokens: Sequence[str], body: bytes, style: str
) -> list[float]:
    """The hardest case: all requests in the same instant."""
    return list(await asyncio.gather(*(first_byte(session, url, token, body, style) for token in tokens)))


def said(name: str, bare: list[float], through: list[float], cpu_seconds: float) -> None:
    def at(values: list[float], part: float) -> float:
        return sorted(values)[min(len(values) - 1, int(part * len(values)))] * 1000

    median = (statistics.median(through) - statistics.median(bare)) * 1000
    print(f"{name:72} added: median {median:6.2f} ms, p99 {at(through, 0.99) - at(bare, 0.99):6.2f} ms "
          f"(n={len(through)}, bare {at(bare, 0.5):.1f}/{at(bare, 0.99):.1f}, "
          f"gateway's CPU {cpu_seconds / len(through) * 1000:.2f} ms a stream)")  # fmt: skip


Wave = Callable[[aiohttp.ClientSession, str, Sequence[str], bytes, str], Awaitable[list[float]]]


def request_of(style: str, text: str) -> dict[str, object]:
    """A request for a stream."""
    if style == "gemini":
        return {"contents": [{"role": "user", "parts": [{"text": text}]}]}
    key = "input" if style == "openai-responses" else "messages"
    return {"model": "m", "stream": True, key: [{"role": "user", "content": text}]}


async def compare(
    name: str, kind: Wave, bare: str, gateway: GatewayProcess, sessions: list[SessionHandle], style: str
) -> None:
    """Bare and through the gateway by turns, so that what else the machine does hits both."""
    size = SIZES[name.partition(", ")[2]]
    body = request_of(style, "x y " * (size // 4))
    data = json.dumps(body, separators=(",", ":")).encode()  # compact, as Claude Code's
    tokens = [session.token for session in sessions]
    without: list[float] = []
    through: list[float] = []
    began = 0.0
    async with aiohttp.ClientSession(connector=aiohttp.TCPConnector(limit=0)) as session:
        for turn in range(ROUNDS + 1):
            without += await kind(session, bare, tokens, data, style)
            through += await kind(session, sessions[0].url, tokens, data, style)
            if turn == 0:  # connections are made, code is warm
                without, through, began = [], [], cpu(gateway)
    said(f"{style}: {name}", without, through, cpu(gateway) - began)


async def measure(bare: str, gateway: GatewayProcess, sessions: list[SessionHandle], styles: Sequence[str]) -> None:
    for style in styles:
        for size in SIZES:
            await compare(f"16 streams, {size}", wave, bare, gateway, sessions[:16], style)
            await compare(f"16 in the same instant, {size}", together, bare, gateway, sessions[:16], style)
            if style == "anthropic-messages":
                await compare(f"200 streams, {size}", wave, bare, gateway, sessions, style)
    if "anthropic-messages" in styles:
        await measure_memory(gateway, sessions[0])
    print(f"load of the machine: {os.getloadavg()[0]:.1f} on {os.cpu_count()} processors")


async def measure_memory(gateway: GatewayProcess, handle: SessionHandle) -> None:
    async with aiohttp.ClientSession() as session:
        await flat(session, handle.url, handle.token, gateway)


def cpu(gateway: GatewayProcess) -> float:
    """Seconds of processor time that the gateway has used."""
    fields = Path(f"/proc/{gateway.pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


async def flat(session: aiohttp.ClientSession, url: str, token: str, gateway: GatewayProcess) -> None:
    status = Path(f"/proc/{gateway.pid}/status")
    before, most, count, began = resident(status), 0.0, 0, time.perf_counter()
    body = json.dumps({"model": "m", "stream": True, "messages": []}).encode()
    async with session.post(f"{url}/v1/messages?big=100", data=body, headers={"x-api-key": token}) as response:
        async for chunk in response.content.iter_chunked(MEGABYTE):
            count += len(chunk)
            most = max(most, resident(status))
    seconds = time.perf_counter() - began
    print(f"a stream of {count / MEGABYTE:.0f} MB in {seconds:.1f} s: memory {before:.1f} MB, at most {most:.1f} MB")


def resident(status: Path) -> float:
    line = next(line for line in status.read_text().splitlines() if line.startswith("VmRSS"))
    return int(line.split()[1]) / 1024


def main(styles: Sequence[str]) -> None:
    with subprocess.Popen([sys.executable, __file__, "upstream"], stdout=subprocess.PIPE, text=True) as upstream:
        assert upstream.stdout is not None
        bare = f"http://127.0.0.1:{upstream.stdout.readline().strip()}"
        try:
            with (
                tempfile.TemporaryDirectory() as folder,
                GatewayProcess.start(GatewaySettings.local(bare)) as gateway,
            ):
                logs = [Path(folder) / f"{number}.jsonl" for number in range(200)]
                sessions = [gateway.open(Session(cell=log.stem, role="agent", journal=log)) for log in logs]
                asyncio.run(measure(bare, gateway, sessions, styles))
        finally:
            upstream.terminate()


if __name__ == "__main__":
    serve_upstream() if sys.argv[1:] == ["upstream"] else main(sys.argv[1:] or list(STYLES))
