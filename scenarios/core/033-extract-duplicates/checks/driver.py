"""Calls the package with the jobs on standard input and reports what came out.

Usage: driver.py SOURCES DESCRIPTOR [traced]. Nothing is compared here. The report has the answers, and where the
package ran code that is not in its source files; traced, it also has the instructions that each function ran, by their
positions in the files, and how many of those that the sources have were run.
"""

import contextlib
import importlib
import inspect
import io
import json
import os
import sys
from decimal import Decimal

for name in ("argparse", "dataclasses", "functools", "pathlib"):  # before the folder of compiled files is left
    importlib.import_module(name)

descriptor = int(sys.argv[2])
jobs = json.load(sys.stdin)
made: list[str] = []
MAKING = {"compile", "exec", "code.__new__", "marshal.loads"}
GENERATORS = ("dataclasses.py", "collections/__init__.py", "<frozen importlib")  # of classes, and of modules


def watch(event: str, args: tuple) -> None:
    """Note it where code of the package has code made: from a text, or from parts."""
    if event not in MAKING:
        return
    frame = sys._getframe(1)
    if any(part in frame.f_code.co_filename for part in GENERATORS) and not is_foreign(event, args):
        return
    while frame:
        if frame.f_code.co_filename.startswith(sys.argv[1]) or frame.f_code.co_filename.startswith("<string"):
            made.append(f"{os.path.basename(frame.f_code.co_filename)}:{frame.f_lineno}")
            return
        frame = frame.f_back


def is_foreign(event: str, args: tuple) -> bool:
    """Whether a module is being run that is no file."""
    code = args[0] if event == "exec" else None
    return (
        code is not None
        and code.co_name == "<module>"
        and code.co_filename not in ("<string>", "<stdin>")
        and not (os.path.exists(code.co_filename) or code.co_filename.startswith("<frozen"))
    )


ran: dict[str, set[tuple[int, int]]] = {}  # by function: id of the code, and the instruction's place in it
running: set[tuple[int, int]] = set()
codes = {}  # by id, since copies of code are equal
LIBRARY = os.path.dirname(os.__file__)


def trace(frame, event, argument):
    """Note which instructions of the package are run."""
    file = frame.f_code.co_filename
    if file.startswith(sys.argv[1]) and file.endswith(".py"):
        frame.f_trace_opcodes, frame.f_trace_lines = True, False
        codes[id(frame.f_code)] = frame.f_code
        return note
    if not file.startswith(("<", LIBRARY)) and file != __file__:
        made.append(os.path.basename(file))
    return None


def note(frame, event, argument):
    if event == "opcode":
        running.add((id(frame.f_code), frame.f_lasti))
    return note


def positions(instructions) -> set[tuple]:
    tables = {number: list(codes[number].co_positions()) for number in {number for number, _ in instructions}}
    places = ((codes[number].co_filename, *tables[number][at // 2]) for number, at in instructions)
    return {place for place in places if place[1]}


def functions_of(code):
    """The code of the functions in a module's code."""
    for constant in code.co_consts:
        if inspect.iscode(constant):
            if constant.co_flags & inspect.CO_OPTIMIZED:  # no class
                yield constant
            yield from functions_of(constant)


def all_positions() -> set[tuple]:
    result = set()
    for folder, _, names in os.walk(sys.argv[1]):
        for path in (os.path.join(folder, name) for name in names if name.endswith(".py")):
            with open(path, encoding="utf-8") as stream:
                module = compile(stream.read(), path, "exec")
            result |= {(path, *at) for code in functions_of(module) for at in code.co_positions() if at[0]}
    return result


in_files = all_positions() if len(sys.argv) > 3 else set()
sys.addaudithook(watch)
sys.path.insert(0, sys.argv[1])
sys.pycache_prefix = "/nonexistent"  # compiled files beside the sources may hold other code

from pricefeed.model import Offer  # noqa: E402

MISSING = "<missing>"


def plain(value):
    if type(value) is Offer:
        return ["Offer", plain(value.sku), plain(value.name), plain(value.price), value.currency, plain(value.pack)]
    if type(value) is Decimal:
        return ["Decimal", str(value)]
    if isinstance(value, (list, tuple)):
        return [type(value).__name__, *map(plain, value)]
    if value is None or type(value) in (str, int, bool):
        return value
    return [type(value).__name__, str(value)]


def offers(rows):
    return (Offer(sku, name, Decimal(price), currency, pack) for sku, name, price, currency, pack in rows)


def call(job):
    module = importlib.import_module(job["module"])
    if job["kind"] == "command":
        out, err = io.StringIO(), io.StringIO()
        with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
            try:
                status = module.main(job["args"])
            except SystemExit as stop:
                status = stop.code
        return [status, out.getvalue(), err.getvalue()]
    if job["kind"] == "api":
        return described(getattr(module, job["name"], MISSING))
    if job["kind"] == "same":
        first, second = job["names"]
        other = importlib.import_module(second[0])
        return getattr(module, first, MISSING) is getattr(other, second[1], None)
    function = getattr(module, job["name"])
    if job["kind"] == "offers":
        return function(offers(job["args"][0]))
    if job["kind"] == "lines":
        return function(iter(job["args"][0]))
    return function(*job["args"])


def described(value):
    if not callable(value):
        return str(value) if inspect.ismodule(value) is False else "module"
    if inspect.isclass(value):
        return ["class", *(base.__name__ for base in value.__mro__)]
    parameters = inspect.signature(value).parameters.values()
    return [[p.name, p.kind.name, "required" if p.default is p.empty else repr(p.default)] for p in parameters]


def attempt(job):
    settings = job.get("set", {})
    module = importlib.import_module(job["module"])
    before = {name: getattr(module, name, None) for name in settings}
    for name, value in settings.items():
        setattr(module, name, value)
    if in_files:
        global running
        running = ran.setdefault(f"{job['module']}.{job.get('name')}", set())
        sys.settrace(trace)
    try:
        return plain(call(job))
    except Exception as error:
        return ["raised", type(error).__name__, str(error)]
    finally:
        sys.settrace(None)
        for name, value in before.items():
            setattr(module, name, value)


answers = [attempt(job) for job in jobs]
places = {name: positions(instructions) for name, instructions in ran.items()}
reached = len(set().union(*places.values()) & in_files) / len(in_files) if in_files else None
traced = {name: sorted(part) for name, part in places.items()}
report = json.dumps({"answers": answers, "made": sorted(set(made)), "ran": traced, "reached": reached})
with os.fdopen(descriptor, "w", encoding="utf-8") as stream:
    stream.write(report)
