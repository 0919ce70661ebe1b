"""Closes this process to the code under test, which has the same user.

Through /proc another process of the user could write to this one's standard output, where results are told, and to its
memory. Not to one that is not dumpable, unless it is root's; so what is started from here lacks root's right to that.
"""

import ctypes

_SET_DUMPABLE, _DROP_RIGHT = 4, 24  # of prctl
_SYS_PTRACE = 19  # the right to look into any process

_prctl = ctypes.CDLL(None).prctl
_prctl(_SET_DUMPABLE, 0, 0, 0, 0)
_prctl(_DROP_RIGHT, _SYS_PTRACE, 0, 0, 0)
