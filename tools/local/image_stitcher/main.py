# /// script
# requires-python = ">=3.11"
# dependencies = ["pillow==13.0.0"]
# ///
"""Join several images into one: ``uv run main.py --port 8002``."""

from __future__ import annotations

import threading
from typing import Any

from tool_server import ToolFailure, read_bytes, serve

# Large pictures need hundreds of megabytes each while they are worked on.
_turns = threading.BoundedSemaphore(2)


def run(params: dict[str, Any]) -> dict[str, Any]:
    """Stitch ``params["images"]`` and return the picture as base64, with its size and notes on what was done.

    Raises:
        ToolFailure: Where a parameter is wrong, or a picture cannot be used; the message names it (``images[2]``).

    Example:
        >>> run({"images": [first_base64, second_base64], "spacing": 20})["width"]
        1044
    """
    # Pillow loads with the first call, so that the process is ready at once.
    from options import read_options
    from pictures import MAX_BYTES, PictureError
    from stitcher import stitch

    try:
        options = read_options(params)
        files = [read_bytes(value, name=f"images[{i}]", limit=MAX_BYTES) for i, value in enumerate(params["images"])]
        with _turns:
            return stitch(files, options)
    except PictureError as error:
        raise ToolFailure(str(error), code=error.code, hint=error.hint) from None


if __name__ == "__main__":
    serve(run)
