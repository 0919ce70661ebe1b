#!/usr/bin/env python3
"""Measure how the time of a Python regex grows with the input length.

usage: regex_growth.py PATTERN --pump TEXT [--prefix TEXT] [--suffix TEXT] [--mode MODE] [--flags imsxa]

The input is PREFIX + TEXT * n + SUFFIX, with n doubled until one call takes longer than the limit.
Exit code: 0 about linear, 1 quadratic or worse, 2 usage error.
"""
import argparse
import math
import multiprocessing
import re
import sys
import time


def _worker(pattern, flags, mode, text, queue):
    call = getattr(re.compile(pattern, flags), mode)
    best = math.inf
    for _ in range(5):
        start = time.perf_counter()
        call(text)
        best = min(best, time.perf_counter() - start)
        if best > 0.1:
            break
    queue.put(best)


def timed(pattern, flags, mode, text, limit):
    """Seconds for one call, or None if it took longer than the limit. In a process, since re cannot be interrupted."""
    queue = multiprocessing.Queue()
    proc = multiprocessing.Process(target=_worker, args=(pattern, flags, mode, text, queue))
    proc.start()
    proc.join(limit + 1)
    if proc.is_alive():
        proc.kill()
        proc.join()
        return None
    return queue.get() if proc.exitcode == 0 else None


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("pattern")
    parser.add_argument("--pump", required=True, help="text that is repeated")
    parser.add_argument("--prefix", default="")
    parser.add_argument("--suffix", default="\x00", help="text that makes the match fail (default: NUL)")
    parser.add_argument("--mode", choices=["search", "match", "fullmatch"], default="search")
    parser.add_argument("--flags", default="")
    parser.add_argument("--limit", type=float, default=2.0, help="seconds for one call")
    parser.add_argument("--max-length", type=int, default=1_000_000)
    args = parser.parse_args()
    try:
        flags = sum(getattr(re, letter.upper()) for letter in set(args.flags))
        re.compile(args.pattern, flags)
    except (re.error, AttributeError) as exc:
        print(f"bad pattern or flags: {exc}", file=sys.stderr)
        return 2
    points = []
    n = 8
    while len(args.pump) * n <= args.max_length:
        text = args.prefix + args.pump * n + args.suffix
        seconds = timed(args.pattern, flags, args.mode, text, args.limit)
        if seconds is None or seconds > args.limit:
            print(f"{len(text):>9} characters: more than {args.limit} s")
            size = len(text)
            kind = "exponential or a high power" if size < 2000 else "quadratic or worse"
            print(f"verdict: {kind}; do not use on outside input")
            return 1
        points.append((len(text), seconds))
        print(f"{len(text):>9} characters: {seconds * 1000:.3f} ms")
        n *= 2
    big = [p for p in points if p[1] > 0.0002]
    if len(big) >= 2:
        (x0, y0), (x1, y1) = big[0], big[-1]
        power = math.log(y1 / y0) / math.log(x1 / x0)
        print(f"growth: length to the power of {power:.1f}")
        if power > 1.7:
            print("verdict: worse than linear; limit the input length or rewrite the pattern")
            return 1
    print("verdict: about linear for this pump")
    return 0


if __name__ == "__main__":
    sys.exit(main())
