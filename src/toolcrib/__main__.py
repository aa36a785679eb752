"""``python -m toolcrib`` is the command ``toolcrib``."""

from __future__ import annotations

from toolcrib.interfaces.cli import main

if __name__ == "__main__":
    main()
