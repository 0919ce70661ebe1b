#!/usr/bin/env python3
"""Show which values changed between two versions of a JSON, YAML or TOML file, ignoring layout and comments.

usage: data_diff.py FILE              working tree against git HEAD
       data_diff.py OLD NEW           two files
Exit code: 0 no value changed, 1 values changed, 2 a file cannot be read or parsed.
"""
import json
import pathlib
import subprocess
import sys


def no_duplicates(pairs):
    keys = [key for key, _ in pairs]
    double = sorted({key for key in keys if keys.count(key) > 1})
    if double:
        raise ValueError(f"duplicate keys: {', '.join(double)}")
    return dict(pairs)


def parse(text, name):
    suffix = pathlib.PurePath(name).suffix.lower()
    if suffix == ".json":
        return json.loads(text, object_pairs_hook=no_duplicates)
    if suffix == ".toml":
        import tomllib

        return tomllib.loads(text)
    if suffix in (".yml", ".yaml"):
        try:
            from ruamel.yaml import YAML  # YAML 1.2; refuses duplicate keys

            docs = list(YAML(typ="safe", pure=True).load_all(text))
        except ImportError:
            import yaml

            docs = list(yaml.safe_load_all(text))
        return docs[0] if len(docs) == 1 else docs
    raise ValueError(f"unknown file type: {name}")


def walk(old, new, path="$"):
    """Yield one line for each difference. A different type (1 and "1", 1 and 1.0) counts as a difference."""
    if isinstance(old, dict) and isinstance(new, dict):
        for key in list(old) + [key for key in new if key not in old]:
            here = f"{path}.{key}"
            if key not in new:
                yield f"- {here}: {old[key]!r}"
            elif key not in old:
                yield f"+ {here}: {new[key]!r}"
            else:
                yield from walk(old[key], new[key], here)
    elif isinstance(old, list) and isinstance(new, list):
        for i in range(max(len(old), len(new))):
            here = f"{path}[{i}]"
            if i >= len(new):
                yield f"- {here}: {old[i]!r}"
            elif i >= len(old):
                yield f"+ {here}: {new[i]!r}"
            else:
                yield from walk(old[i], new[i], here)
    elif type(old) is not type(new) or old != new:
        yield f"~ {path}: {old!r} -> {new!r}"


def main(argv):
    if len(argv) not in (1, 2) or argv[0] in ("-h", "--help"):
        print(__doc__, file=sys.stderr)
        return 2
    try:
        if len(argv) == 2:
            old_text = pathlib.Path(argv[0]).read_text(encoding="utf-8")
        else:
            path = pathlib.Path(argv[0]).resolve()
            spec = f"HEAD:./{path.name}"
            run = subprocess.run(["git", "show", spec], cwd=path.parent, capture_output=True, check=False)
            if run.returncode:
                raise ValueError(run.stderr.decode().strip())
            old_text = run.stdout.decode("utf-8")
        new_text = pathlib.Path(argv[-1]).read_text(encoding="utf-8")
        old, new = parse(old_text, argv[0]), parse(new_text, argv[-1])
    except Exception as exc:  # parsers raise their own classes
        print(f"error: {exc}", file=sys.stderr)
        return 2
    lines = list(walk(old, new))
    print("\n".join(lines) if lines else "no value changed")
    return 1 if lines else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
