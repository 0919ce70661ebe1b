"""Runs the Python examples of a page, one after the other, and tells what each one did.

The job comes as JSON on standard input, the report goes to the file descriptor named in it.
"""

import contextlib
import io
import json
import os
import sys
import traceback

job = json.load(sys.stdin)
sys.path.insert(0, job["src"])

import tallytime  # noqa: E402

PAGE = "<guide>"
codes = {getattr(tallytime, name).__code__: name for name in job["functions"]}
calls = []
open_calls = []


def watch(frame, event, argument):
    if event == "return" and calls and open_calls and open_calls[-1][0] is frame:
        _, call = open_calls.pop()
        call.append([repr(argument), str(argument)] if isinstance(argument, (int, str)) else None)
    if event != "call":
        return
    name = codes.get(frame.f_code)
    if name and frame.f_back is not None and frame.f_back.f_code.co_filename == PAGE:
        values = frame.f_locals
        count = frame.f_code.co_argcount + frame.f_code.co_kwonlyargcount
        plain = {
            key: values[key] if isinstance(values[key], (str, int, bool, type(None))) else str(values[key])
            for key in frame.f_code.co_varnames[:count]
        }
        calls.append([name, plain])
        open_calls.append((frame, calls[-1]))


scope = {"__name__": "__main__"}
report = []
for source in job["examples"]:
    calls.clear()
    open_calls.clear()
    output, problem = io.StringIO(), None
    with contextlib.redirect_stdout(output):
        try:
            code = compile(source, PAGE, "single")
            sys.setprofile(watch)
            exec(code, scope)
        except BaseException as error:
            sys.setprofile(None)
            problem = traceback.format_exception_only(error)[-1]
        finally:
            sys.setprofile(None)
    report.append({"output": output.getvalue(), "problem": problem, "calls": list(calls)})
with os.fdopen(job["report"], "w", encoding="utf-8") as stream:
    json.dump(report, stream)
