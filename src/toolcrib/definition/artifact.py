"""A file that travels by reference."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

REFERENCE_PREFIX = "artifact://"


@dataclass(frozen=True, slots=True)
class Artifact:
    """A file that a tool made or a person uploaded, named by reference instead of base64 (contract M05).

    Attributes:
        id: opaque; ``artifact://{id}`` stands for the content wherever a schema says ``contentEncoding: base64``.
        name: for display and download; never used as a path.
        mime_type: as sniffed or declared.
        size: in bytes.
        sha256: of the content, hexadecimal.
    """

    id: str
    name: str
    mime_type: str
    size: int
    sha256: str

    @property
    def reference(self) -> str:
        """What a caller writes in place of the content."""
        return f"{REFERENCE_PREFIX}{self.id}"

    def to_dict(self) -> dict[str, Any]:
        """The reference as it appears in results; ``url`` is relative to the service."""
        return {
            "id": self.id,
            "reference": self.reference,
            "name": self.name,
            "mime_type": self.mime_type,
            "size": self.size,
            "sha256": self.sha256,
            "url": f"/artifacts/{self.id}",
        }
