"""The tool's modules stand beside ``main.py`` and import each other by their plain names."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))
