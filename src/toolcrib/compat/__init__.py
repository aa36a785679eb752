"""The import paths of the documents, on top of toolcrib (contract N053; DESIGN §11.6).

from toolcrib import compat
compat.install("nanoclaw")

from backend.tools import registry, tool
"""

from __future__ import annotations

from toolcrib.compat.install import install as install
from toolcrib.compat.install import uninstall as uninstall

__all__ = ["install", "uninstall"]
