"""Rules of the safety net: the commands that each rule blocks, and the folders that the agent may change.

The module is copied into the agent's sandbox with `hook`, so it uses only the standard library of Python 3.9.
"""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Mapping

from scylla_gha.safety_net.shell_reader import UNKNOWN, ShellCommand, ShellEnvironment

_TEMPORARY = ("/tmp", "/var/tmp", "/dev/shm")  # noqa: S108 compared, never written
_DEVICES = re.compile(r"/dev/(null|zero|full|std(in|out|err)|tty|u?random|(fd|tcp|udp|pts)/.*)|/proc/self/fd/\d+")
_SHARED = re.compile(r"main|master|trunk|dev|develop|development|stable|staging|prod|production|gh-pages|release.*")
_SECRETS = re.compile(
    r".*/\.(ssh/(?!.*\.pub$|config$|known_hosts|authorized_keys).+|aws/credentials|netrc|git-credentials|pgpass|npmrc|pypirc"
    r"|gnupg/.+|docker/config\.json|kube/config|azure/.+|config/(gh/hosts\.yml|gcloud/.+)|env|claude/\.credentials\.json)"
    r"|/etc/(shadow|gshadow|sudoers)-?"
)
_DELETERS = {"rm", "rmdir", "unlink", "shred", "rimraf", "truncate"}
_READERS = re.compile(
    r"cat|less|more|head|tail|grep|egrep|fgrep|rg|sed|awk|base64|xxd|od|hexdump|strings|cp|mv|scp|rsync|tar|zip"
    r"|gzip|nl|tac|sort|cut|jq|yq|diff|cmp|dd|source|\.|curl|openssl|bat|ln|wc|install"
)
_DISK = re.compile(
    r"fdisk|sfdisk|cfdisk|gdisk|sgdisk|parted|wipefs|mkswap|swapon|swapoff|mount|umount|losetup|lvremove|vgremove"
    r"|pvremove|zpool|cryptsetup|blkdiscard|hdparm|badblocks|mkfs|mke2fs"
)
_SYSTEM = re.compile(
    r"shutdown|reboot|halt|poweroff|telinit|killall5|useradd|userdel|usermod|groupdel|passwd|chpasswd|visudo"
    r"|insmod|rmmod|modprobe|iptables|ip6tables|nft|ufw|kexec"
)
_HARMLESS_OPTIONS = {"-l", "--list", "--show", "--help", "--version", "-V"}
_SERVICES = {"stop", "disable", "mask", "poweroff", "reboot", "halt", "kexec", "isolate"}
_PRINT_SECRETS = {
    ("gh", "auth", "token"),
    ("git", "credential", "fill"),
    ("aws", "configure", "export-credentials"),
    ("gcloud", "auth", "print-access-token"),
}


class SafetyRule:
    """A rule: its name, the effect that it blocks, advice to the agent, and examples of blocked commands."""

    def __init__(self, name: str, what: str, instead: str, examples: tuple[str, ...]) -> None:
        self.name, self.what, self.instead, self.examples = name, what, instead, examples


DELETE = SafetyRule(
    "delete-outside",
    "deletes or moves away files outside of the workspace",
    "delete only what lies in the workspace or a temporary folder",
    ("rm -rf /etc", "sudo rm -rf ~", "find / -name '*.log' -delete", "cd .. && rm -rf *"),
)
WRITE = SafetyRule(
    "write-outside",
    "writes outside of the workspace",
    "write into the workspace or a temporary folder",
    ("echo x > /etc/hosts", "echo x | sudo tee -a /etc/hosts"),
)
PUSH = SafetyRule(
    "shared-push",
    "forces or deletes a branch that others share",
    "push without force, or force-push a branch of your own",
    ("git push --force origin main", "git push origin +HEAD:master", "git push origin :main"),
)
HISTORY = SafetyRule(
    "shared-history",
    "rewrites or drops history that others share",
    "add a commit that undoes it",
    ("git filter-branch --tree-filter true HEAD", "git branch -D main"),
)
DISK = SafetyRule(
    "disk",
    "changes disks, partitions or mounts",
    "work with files in the workspace",
    ("mkfs.ext4 /dev/sda1", "dd if=/dev/zero of=/dev/sda", "mount /dev/sdb /mnt"),
)
SYSTEM = SafetyRule(
    "system",
    "changes the machine itself: its power, services, users, kernel or the rights of its files",
    "change only what belongs to the task",
    ("sudo reboot", "systemctl stop docker", "chmod -R 777 /", "kill -9 -1", ":(){ :|:& };:"),
)
CREDENTIALS = SafetyRule(
    "credentials",
    "reads credentials",
    "ask for what you need; the task can be done without them",
    ("cat ~/.ssh/id_rsa", "base64 < ~/.aws/credentials", "gh auth token"),
)
RULES = (DELETE, WRITE, PUSH, HISTORY, DISK, SYSTEM, CREDENTIALS)


class WritablePaths:
    """Folders that the agent may change: workspace, HOME and temporary folders, except the safety net's own folder.

    `environ` is the environment of an agent on another machine, whose files are not read: links are not followed, and
    the current branch is unknown. None: the agent is on this machine, with this process's environment.
    """

    def __init__(self, workspace: str, environ: Mapping[str, str] | None = None) -> None:
        self.is_local = environ is None
        self.is_guessing = False  # True once a verdict needed a file that cannot be read
        self.environment = ShellEnvironment(os.environ if environ is None else environ)
        self.home, temporary = (self.environment.values.get(name, "") for name in ("HOME", "TMPDIR"))
        self.workspace = self.resolve(workspace)
        self.own = [self.workspace, *(self.resolve(path) for path in (self.home, temporary) if path.strip("/"))]
        self.net = os.path.realpath(sys.argv[0] or "/nowhere") if self.is_local else "/nowhere"

    def resolve(self, path: str) -> str:
        """Return a path without `..`, and without links if they can be followed."""
        return os.path.realpath(path) if self.is_local else os.path.normpath(path)

    def branch(self, cwd: str) -> str:
        """Return the current branch; empty if it is unknown, or there is no repository."""
        self.is_guessing |= not self.is_local
        return _current_branch(cwd) if self.is_local else ""

    def is_outside(self, path: str, cwd: str) -> bool:
        """Return True if the agent may not change a path, which may end in a pattern; False if the path is unknown."""
        full = os.path.join(cwd, path)
        if not path or full.startswith(UNKNOWN):
            return False
        head, tail = os.path.split(full.replace(UNKNOWN, "x"))
        if tail in ("", ".", ".."):
            return not self._is_own(self.resolve(full))
        if tail.strip("*?.[]!^"):
            return not self._is_own(os.path.join(self.resolve(head), tail))
        folder = self.resolve(head)  # the pattern matches everything in it
        return folder != self.workspace and not self._is_own(folder)

    def _is_own(self, full: str) -> bool:
        if f"{full}/".startswith(f"{self.net}/") or any(f"{folder}/".startswith(f"{full}/") for folder in self.own):
            return False
        # In a temporary folder, files beside the workspace belong to other processes.
        shared = {_below_temporary(folder) for folder in self.own} - {""}
        temporary = () if _below_temporary(full) in shared else _TEMPORARY
        return any(full.startswith(f"{folder}/") for folder in (*self.own, *temporary))

    def is_secret(self, path: str, cwd: str) -> bool:
        """Return True if a path is that of a file with credentials."""
        if path.startswith("~/"):
            path = self.home + path[1:]
        full = os.path.normpath(os.path.join(cwd, path))
        return bool(_SECRETS.fullmatch(full)) and not full.startswith(f"{self.workspace}/")


def _below_temporary(path: str) -> str:
    """Return the path up to the first part below a temporary folder; empty if it is not in a temporary folder."""
    folder = next((folder for folder in _TEMPORARY if path.startswith(f"{folder}/")), None)
    return "/".join(path.split("/")[: folder.count("/") + 2]) if folder else ""


def broken_rule(command: ShellCommand, writable: WritablePaths) -> SafetyRule | None:
    """Return the first rule that a command breaks, or None. The command's first word is the program that runs."""
    words = [os.path.basename(command.words[0]), *command.words[1:]] if command.words else [""]
    if words[0].startswith("mkfs.") or (_DISK.fullmatch(words[0]) and words[1:] and not _HARMLESS_OPTIONS & set(words)):
        return DISK
    if _changes_system(words) or any(writable.is_outside(path, command.cwd) for path in _chmod_paths(words)):
        return SYSTEM
    if any(writable.is_outside(path, command.cwd) for path in _deleted_paths(words)):
        return DELETE
    read = (*_read_paths(words), *command.reads)
    if tuple(words[:3]) in _PRINT_SECRETS or any(writable.is_secret(path, command.cwd) for path in read):
        return CREDENTIALS
    written = [path for path in (*_written_paths(words), *command.writes) if not _DEVICES.fullmatch(path)]
    if any(writable.is_outside(path, command.cwd) for path in written):
        return DISK if any(path.startswith("/dev/") for path in written) else WRITE
    return _broken_git_rule(words, command.cwd, writable)


def operands(words: list[str]) -> list[str]:
    """Return a command's arguments that are not options."""
    if "--" in words:
        index = words.index("--")
        return [*(word for word in words[1:index] if not word.startswith("-")), *words[index + 1 :]]
    return [word for word in words[1:] if not word.startswith("-")]


def find_patterns(words: list[str]) -> list[str]:
    """Return the paths that a `find` may print, as patterns."""
    ends = (index for index, word in enumerate(words) if index and (word[:1] in ("-", "(", "!")))
    return [f"{folder.rstrip('/')}/*" for folder in words[1 : next(ends, len(words))] or ["."]]


def _deleted_paths(words: list[str]) -> list[str]:
    if words[0] in _DELETERS:
        return operands(words)
    if words[0] == "find" and "-delete" in words:
        return find_patterns(words)
    return operands(words)[:-1] if words[0] == "mv" else []


def _chmod_paths(words: list[str]) -> list[str]:
    """Return paths in the folders whose rights are changed, since the rights of the workspace itself may change."""
    return [f"{path}/x" for path in operands(words)[1:]] if words[0] in ("chmod", "chown", "chgrp") else []


def _written_paths(words: list[str]) -> list[str]:
    if words[0] == "tee":
        return operands(words)
    return [word[3:] for word in words if word.startswith("of=")] if words[0] == "dd" else []


def _read_paths(words: list[str]) -> list[str]:
    if not _READERS.fullmatch(words[0]):
        return []
    last = -1 if words[0] in ("cp", "mv", "ln", "install") else None
    return [part for word in words[1:last] for part in {word, word.lstrip("@"), word.rpartition("=")[2].lstrip("@")}]


def _changes_system(words: list[str]) -> bool:
    name, rest = words[0], words[1:]
    if name in ("systemctl", "service"):
        return bool(_SERVICES & set(rest))
    if name == "kill":
        return "1" in operands(words) or "-1" in rest[1:]
    if name in ("init", "crontab", "sysctl"):
        return bool({"0", "6", "-r", "-w"} & set(rest))
    return bool(_SYSTEM.fullmatch(name)) and not _HARMLESS_OPTIONS & set(rest)


def _broken_git_rule(words: list[str], cwd: str, writable: WritablePaths) -> SafetyRule | None:
    name, words = words[0], words[1:]
    if name != "git":
        return HISTORY if name in ("git-filter-repo", "bfg") else None
    while words and words[0].startswith("-"):
        length = 2 if words[0] in ("-C", "-c", "--git-dir", "--work-tree", "--namespace") else 1
        cwd = os.path.join(cwd, words[1]) if words[0] == "-C" and words[1:] else cwd
        words = words[length:]
    verb, rest = words[0] if words else "", words[1:]
    if verb == "push":
        return PUSH if _overwrites_shared(words, cwd, writable) else None
    forced = bool(re.search(r"(^| )(-[a-zA-Z]*[dDf]|--delete|--force)", " ".join(rest)))
    drops = (verb == "branch" and forced) or (verb == "update-ref" and "-d" in rest)
    if drops and any(_SHARED.fullmatch(name.replace("refs/heads/", "")) for name in rest):
        return HISTORY
    expires = verb == "reflog" and rest[:1] == ["expire"] and "--all" in rest
    return HISTORY if verb in ("filter-branch", "filter-repo") or expires else None


def _overwrites_shared(words: list[str], cwd: str, writable: WritablePaths) -> bool:
    """Return True if a push forces or deletes a shared branch; a push without a branch is of the current branch."""
    flags = [word for word in words[1:] if word.startswith("-")]
    short = "".join(flag[1:] for flag in flags if not flag.startswith("--"))
    force = "f" in short or any(flag.startswith("--force") and flag != "--force-if-includes" for flag in flags)
    delete = "d" in short or "--delete" in flags
    if "--mirror" in flags or (force and {"--all", "--branches"} & set(flags)):
        return True
    refspecs = operands(words)[1:] or [""]
    return any(
        _is_shared(refspec, cwd, writable) for refspec in refspecs if force or delete or refspec[:1] in ("+", ":")
    )


def _is_shared(refspec: str, cwd: str, writable: WritablePaths) -> bool:
    branch = refspec.lstrip("+").rpartition(":")[2].replace("refs/heads/", "")
    if branch in ("", "HEAD", "@") or UNKNOWN in branch:
        branch = writable.branch(cwd)
    return bool(_SHARED.fullmatch(branch))


def _current_branch(cwd: str) -> str:
    """Return the current branch; empty if there is no repository."""
    folder = cwd
    while not os.path.exists(os.path.join(folder, ".git")) and folder not in ("", "/"):
        folder = os.path.dirname(folder)
    git = os.path.join(folder, ".git")
    if os.path.isfile(git):  # of a worktree
        with open(git, encoding="utf-8") as file:
            git = os.path.join(folder, file.read().partition(": ")[2].strip())
    if not os.path.isfile(os.path.join(git, "HEAD")):
        return ""
    with open(os.path.join(git, "HEAD"), encoding="utf-8") as file:
        return file.read().strip().replace("ref: refs/heads/", "")
