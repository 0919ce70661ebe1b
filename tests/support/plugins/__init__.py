"""An agent and two providers as a contributor writes them, and a copy of the package to which they are added."""

import shutil
from pathlib import Path

import scylla_gha

_HERE = Path(__file__).parent
_TOOLKIT = Path(scylla_gha.__file__).parents[1]
_MAPS = {
    "providers": ('"anthropic": Anthropic(),', '"anthropic": Anthropic(), "acme": Acme(), "mirror": Mirror(),'),
    "agents": ('"nop": NopAgent()}', '"nop": NopAgent(), "acme-cli": AcmeCli()}'),
}
_IMPORTS = {
    "providers": "from scylla_gha.providers.acme import Acme\nfrom scylla_gha.providers.mirror import Mirror\n",
    "agents": "from scylla_gha.agents.acme import AcmeCli\n",
}
_FILES = {
    "acme_provider.py": "providers/acme",
    "mirror_provider.py": "providers/mirror",
    "acme_agent.py": "agents/acme",
}


def installed_plugins(folder: Path) -> Path:
    """Copy the package into a folder, and add the plug-ins as CONTRIBUTING says: folders, and a line in each map."""
    package = folder / "scylla_gha"
    shutil.copytree(_TOOLKIT / "scylla_gha", package, ignore=shutil.ignore_patterns("__pycache__"))
    for name in ("config", "scenarios", "fixtures"):
        shutil.copytree(_TOOLKIT / name, folder / name, symlinks=True)
    for file, target in _FILES.items():
        (package / target).mkdir()
        shutil.copyfile(_HERE / file, package / target / "__init__.py")
    for kind, (before, after) in _MAPS.items():
        module = package / kind / "__init__.py"
        text = module.read_text()
        assert text.count(before) == 1, f"{kind}: the map has another form"
        head, line, rest = text.replace(before, after).partition(f"from scylla_gha.{kind}.base import ")
        module.write_text(f"{head}{_IMPORTS[kind]}{line}{rest}")
    return folder
