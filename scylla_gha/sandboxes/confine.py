"""System-call filter for what no sandboxed program needs, and the program that applies it and then runs another.

It runs inside a sandbox with Python's library alone, and adds to the filters that exist; a process cannot remove one.
Denied are sockets to the machine that a virtual machine runs on (AF_VSOCK), which network namespaces do not isolate,
and io_uring, whose sockets no filter sees. The system calls of 32-bit programs of both platforms are filtered too.
"""

import ctypes
import os
import signal
import struct
import sys

_AF_VSOCK = 40
_EPERM, _ENOSYS = 1, 38
_IO_URING_SETUP = 425
_SOCKETCALL = 102  # of i386: its arguments are in memory, where no filter looks
_X32 = 0x40000000  # the bit of a system call of x86-64's other interface
# Number of <linux/audit.h>, system call `socket`, and denied system calls of x86-64, i386, arm64 and arm
_PLATFORMS = (
    (0xC000003E, 41, (_IO_URING_SETUP,)),
    (0x40000003, 359, (_IO_URING_SETUP, _SOCKETCALL)),
    (0xC00000B7, 198, (_IO_URING_SETUP,)),
    (0x40000028, 281, (_IO_URING_SETUP,)),
)
_LOAD, _IF_EQUAL, _IF_ABOVE, _RETURN = 0x20, 0x15, 0x35, 0x06
_NUMBER, _PLATFORM, _FIRST_ARGUMENT = 0, 4, 16  # offsets in `struct seccomp_data`
_ALLOW, _FAIL = 0x7FFF0000, 0x00050000
_SET_SECCOMP, _FILTER, _SET_NO_NEW_PRIVS = 22, 2, 38
_NOT_FOUND, _NOT_STARTED, _NOT_CONFINED = 127, 126, 125


def _instruction(code: int, value: int, then: int = 0, otherwise: int = 0) -> bytes:
    return struct.pack("HBBI", code, then, otherwise, value)


def _fail_if(code: int, value: int, error: int) -> bytes:
    return _instruction(code, value, 0, 1) + _instruction(_RETURN, _FAIL | error)


def _platform_filter(socket: int, denied: "tuple[int, ...]") -> bytes:
    """Return the filter of one platform's system calls."""
    return b"".join(
        (
            _instruction(_LOAD, _NUMBER),
            _fail_if(_IF_ABOVE, _X32, _ENOSYS),
            *(_fail_if(_IF_EQUAL, number, _ENOSYS) for number in denied),
            _instruction(_IF_EQUAL, socket, 1, 0),
            _instruction(_RETURN, _ALLOW),
            _instruction(_LOAD, _FIRST_ARGUMENT),
            _fail_if(_IF_EQUAL, _AF_VSOCK, _EPERM),
            _instruction(_RETURN, _ALLOW),
        )
    )


def filter_program() -> bytes:
    """Return the filter in the kernel's form; other platforms are not filtered."""
    program = b""
    for platform, socket, denied in _PLATFORMS:
        block = _platform_filter(socket, denied)
        program += _instruction(_LOAD, _PLATFORM) + _instruction(_IF_EQUAL, platform, 0, len(block) // 8) + block
    return program + _instruction(_RETURN, _ALLOW)


def confine() -> None:
    """Apply the filter to this process and to all processes that it will start."""
    instructions = filter_program()
    buffer = ctypes.create_string_buffer(instructions, len(instructions))
    program = ctypes.create_string_buffer(struct.pack("HxxxxxxQ", len(instructions) // 8, ctypes.addressof(buffer)))
    prctl = ctypes.CDLL(None, use_errno=True).prctl
    if prctl(_SET_NO_NEW_PRIVS, 1, 0, 0, 0) or prctl(_SET_SECCOMP, _FILTER, program, 0, 0):
        sys.stderr.write(f"cannot filter system calls: {os.strerror(ctypes.get_errno())}\n")
        os._exit(_NOT_CONFINED)


def become(argv: "list[str]") -> None:
    """Apply the filter, restore the default signals, and run a program in place of this one."""
    for number in (signal.SIGTERM, signal.SIGPIPE, signal.SIGXFSZ):
        signal.signal(number, signal.SIG_DFL)
    confine()
    try:
        os.execvp(argv[0], argv)  # noqa: S606 it becomes the program, without a shell
    except OSError as error:
        sys.stderr.write(f"{argv[0]}: {error.strerror}\n")
        os._exit(_NOT_FOUND if isinstance(error, FileNotFoundError) else _NOT_STARTED)


if __name__ == "__main__":
    become(sys.argv[1:])
