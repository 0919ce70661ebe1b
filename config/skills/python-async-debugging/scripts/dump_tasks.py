"""Print every asyncio task with its full await chain when the process receives SIGUSR1.

Call install() inside the running event loop, then: kill -USR1 <pid>
"""
import asyncio
import signal
import sys


def _first(obj, *names):
    """Value of the first attribute that exists and is not None."""
    return next((v for v in (getattr(obj, n, None) for n in names) if v is not None), None)


def _chain(awaitable):
    """Yield (name, file, line) from the task's coroutine down to what it waits for."""
    while awaitable is not None:
        frame = _first(awaitable, "cr_frame", "gi_frame", "ag_frame")
        if frame is None:
            yield repr(awaitable), None, None
            return
        code = frame.f_code
        yield getattr(code, "co_qualname", code.co_name), code.co_filename, frame.f_lineno
        awaitable = _first(awaitable, "cr_await", "gi_yieldfrom", "ag_await")


def dump(loop, out=None):
    out = out or sys.stderr
    tasks = sorted(asyncio.all_tasks(loop), key=lambda t: t.get_name())
    print(f"--- {len(tasks)} tasks", file=out)
    for task in tasks:
        print(f"{task.get_name()} cancelling={getattr(task, 'cancelling', lambda: '?')()}", file=out)
        for name, file, line in _chain(task.get_coro()):
            print(f"    {name}" + (f"  {file}:{line}" if file else ""), file=out)
    out.flush()


def install(sig=signal.SIGUSR1):
    """Print all tasks when the signal arrives. Nothing is printed while the loop itself is blocked."""
    loop = asyncio.get_running_loop()
    loop.add_signal_handler(sig, dump, loop)
