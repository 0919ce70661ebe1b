"""Code base in Go, and a program `go` that answers with the recorded output of Go 1.27.3 for it.

`recorded_go_tests.json` has the output, exit code and coverage profile of each test, run alone. A test program with
several tests prints the parts one after another, and ends where one of them ended it.
"""

import sys
from pathlib import Path
from typing import Final

from tests.support.repository import write_tree

RECORDING: Final = Path(__file__).with_name("recorded_go_tests.json")
SOURCE: Final = """\
package shop

import "errors"

// Price adds a tax.
func Price(net, percent int) (int, error) {
	if percent < 0 {
		return 0, errors.New("negative")
	}
	return net + net*percent/100, nil
}
"""
_NAMES: Final = "Price Table OwnFault Skips Refuses Panics Exits After"
_TESTS: Final = "".join(f"\nfunc Test{name}(t *testing.T) {{\n}}\n" for name in _NAMES.split())
TREE: Final = {
    "go.mod": "module example.com/shop\n\ngo 1.21\n",
    "price.go": SOURCE,
    "price_test.go": f'package shop\n\nimport "testing"\n{_TESTS}\nfunc ExamplePrice() {{\n}}\n',
    "gone/gone.go": 'package gone\n\nimport _ "example.com/none"\n\nfunc Gone() int {\n\treturn 1\n}\n',
    "gone/gone_test.go": 'package gone\n\nimport "testing"\n\nfunc TestGone(t *testing.T) {\n}\n',
}
_GO: Final = """\
#!{python}
import json, os, re, sys
recorded = json.load(open("{recording}"))
arguments = dict(argument.partition("=")[::2] for argument in sys.argv[1:])
if "list" in arguments:
    for folder, package in ((".", "shop"), ("gone", "shop/gone")):
        name = "price_test.go" if folder == "." else "gone_test.go"
        facts = {{"Dir": os.path.abspath(folder), "ImportPath": f"example.com/{{package}}", "TestGoFiles": [name]}}
        print(json.dumps(facts))
elif "-c" in arguments and sys.argv[-1].endswith("gone"):
    sys.exit('# example.com/shop/gone\\ngone/gone.go:3:8: cannot find module providing package example.com/none')
elif "-c" in arguments:
    target = sys.argv[sys.argv.index("-o") + 1]
    os.symlink(os.path.abspath(__file__), target)
elif "-test.run" in arguments:
    wanted = re.fullmatch(r"\\^\\((.*)\\)\\$", arguments["-test.run"])[1].split("|")
    order = [name for name in recorded if name in wanted]
    for name in order[::-1] if "-test.shuffle" in arguments else order:
        test, code = recorded[name], 0
        print(re.sub(r"\\x16(PASS|FAIL)\\ncoverage:.*\\n", "", test["output"]), end="", flush=True)
        if test["profile"] and "-test.coverprofile" in arguments:
            open(arguments["-test.coverprofile"], "w").write(test["profile"])
        if test["code"] > 1:
            os._exit(test["code"])
"""


def recorded_go(folder: Path) -> tuple[Path, str]:
    """Write the code base and the program; return the code base's folder and the PATH to use."""
    write_tree(folder / "shop", TREE)
    program = folder / "bin" / "go"
    program.parent.mkdir()
    program.write_text(_GO.format(python=sys.executable, recording=RECORDING), encoding="utf-8")
    program.chmod(0o755)
    return folder / "shop", f"{program.parent}:/usr/local/bin:/usr/bin:/bin"
