"""Programs in a network of their own, so that an example may use the documented ports whatever runs on this machine."""

from __future__ import annotations

import ctypes
import os
import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

_PRELUDE = """
import ctypes, fcntl, os, socket, struct, sys
CLONE_NEWUSER, CLONE_NEWNET, SIOCSIFFLAGS, IFF_UP = 0x10000000, 0x40000000, 0x8914, 1
libc = ctypes.CDLL(None, use_errno=True)
flags = CLONE_NEWNET if os.geteuid() == 0 else CLONE_NEWNET | CLONE_NEWUSER
if libc.unshare(flags) != 0:
    sys.exit(f"unshare: {os.strerror(ctypes.get_errno())}")
with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
    fcntl.ioctl(probe, SIOCSIFFLAGS, struct.pack("16sH14s", b"lo", IFF_UP, b""))
os.execvp(sys.argv[1], sys.argv[1:])
"""


def can_isolate() -> bool:
    """Whether this machine lets the tests make a network namespace."""
    if sys.platform != "linux" or not hasattr(ctypes.CDLL(None), "unshare"):
        return False
    return subprocess.run([sys.executable, "-c", _PRELUDE, "true"], capture_output=True, check=False).returncode == 0


def run_isolated(
    command: Sequence[str], *, cwd: Path, env: Mapping[str, str] | None = None, timeout: float
) -> subprocess.CompletedProcess[str]:
    """Run ``command`` with a loopback interface that only it sees."""
    return subprocess.run(
        [sys.executable, "-c", _PRELUDE, *command],
        cwd=cwd,
        env=dict(env if env is not None else os.environ),
        capture_output=True,
        text=True,
        timeout=timeout,
        check=False,
    )
