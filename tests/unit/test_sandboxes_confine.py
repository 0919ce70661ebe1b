"""The filter of system calls, by an interpreter of its instructions: for platforms that tests do not run on too."""

import struct

import pytest

from scylla_gha.sandboxes.confine import filter_program

ALLOWED, EPERM, ENOSYS = 0x7FFF0000, 0x00050001, 0x00050026
AF_UNIX, AF_INET, AF_VSOCK = 1, 2, 40
LOAD, IF_EQUAL, IF_AT_LEAST, RETURN = 0x20, 0x15, 0x35, 0x06
# Number of <linux/audit.h>, and the system calls `socket`, `openat` and `getpid`
X86_64, I386 = (0xC000003E, 41, 257, 39), (0x40000003, 359, 295, 20)
ARM64, ARM = (0xC00000B7, 198, 56, 172), (0x40000028, 281, 322, 20)
RISCV64 = (0xC00000F3, 198, 56, 172)


def verdict(platform: int, call: int, argument: int = 0) -> int:
    """Return what the kernel would do with a system call, as <linux/filter.h> defines it."""
    data = struct.pack("=IIQQ", call, platform, 0, argument)
    instructions = list(struct.iter_unpack("=HBBI", filter_program()))
    at, value = 0, 0
    while True:
        code, then, otherwise, operand = instructions[at]
        if code == RETURN:
            return int(operand)
        if code == LOAD:
            value, step = struct.unpack_from("=I", data, operand)[0], 0
        else:
            assert code in {IF_EQUAL, IF_AT_LEAST}
            holds = value == operand if code == IF_EQUAL else value >= operand
            step = then if holds else otherwise
        at += 1 + step


@pytest.mark.parametrize("platform", [X86_64, I386, ARM64, ARM])
def test_sockets_of_the_virtual_machine_and_io_uring_are_denied_and_nothing_else(
    platform: tuple[int, int, int, int],
) -> None:
    number, socket, *others = platform
    assert verdict(number, socket, AF_VSOCK) == EPERM
    assert verdict(number, socket, AF_VSOCK | 1 << 32) == EPERM, "the kernel reads 32 bits of it"
    assert {verdict(number, socket, family) for family in (AF_UNIX, AF_INET, 16)} == {ALLOWED}
    assert {verdict(number, call, AF_VSOCK) for call in others} == {ALLOWED}
    assert verdict(number, 425) == ENOSYS, "io_uring_setup"


def test_other_ways_to_make_a_socket_on_x86_are_denied() -> None:
    assert verdict(I386[0], 102, 1) == ENOSYS, "socketcall, whose arguments are in memory"
    assert verdict(X86_64[0], 0x40000000 | 41, AF_VSOCK) == ENOSYS, "the call of the x32 interface"


def test_a_platform_without_a_sandbox_is_not_filtered() -> None:
    assert verdict(RISCV64[0], RISCV64[1], AF_VSOCK) == ALLOWED
