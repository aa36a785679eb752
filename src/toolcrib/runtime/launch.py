"""Becomes the program given on its command line, after asking the kernel to end it with its parent.

Run as ``python -I -S launch.py PARENT_PID PROGRAM ARGUMENT…`` between fork and the tool's own program: asking in the
child without running Python code between fork and exec is impossible, and running Python there is unsafe in a process
with threads. Only the standard library, and nothing of toolcrib, is imported.
"""

from __future__ import annotations

import os
import signal
import sys

PR_SET_PDEATHSIG = 1


def main(parent: int, argv: list[str]) -> None:
    """Ask for SIGKILL at the parent's death (Linux), make sure it still lives, and execute ``argv``."""
    if sys.platform == "linux":
        import ctypes

        ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, int(signal.SIGKILL), 0, 0, 0)
    if os.getppid() != parent:
        sys.exit("The service that started this tool has ended")
    try:
        os.execv(argv[0], argv)  # noqa: S606
    except OSError as error:
        sys.exit(f"{argv[0]}: {error.strerror}")


if __name__ == "__main__":
    main(int(sys.argv[1]), sys.argv[2:])
