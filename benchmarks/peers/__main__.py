"""Measures one framework in a process of its own: python -m benchmarks.peers MODULE DISTRIBUTION WORK COUNT few|many

Prints one line of JSON. What it imports itself before the framework is as little as can be, since that would count for
nothing afterwards.
"""

from __future__ import annotations

import importlib
import sys
import time


def main() -> None:
    """Import the framework, then do the rest."""
    module, distribution, work, count, size = sys.argv[1:]
    started = time.process_time()
    try:
        peer = importlib.import_module(f"benchmarks.peers.{module}").Peer
    except ModuleNotFoundError as error:
        print(f'{{"missing": "{error.name}"}}')
        return
    import_seconds = time.process_time() - started

    from benchmarks.peers.measuring import measure

    measure(peer, distribution, work, int(count), size == "many", import_seconds)


if __name__ == "__main__":
    main()
