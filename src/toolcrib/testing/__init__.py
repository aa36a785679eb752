"""What the author of a tool needs to test it, in a few lines.

    from toolcrib.testing import call, temporary_crib

    def test_words_are_counted():
        with temporary_crib(word_count):
            assert call("word_count", text="to be or not to be").data == 6

Nothing of the user's is read or written, and nothing is left running. It works with any test framework.
"""

from __future__ import annotations

from toolcrib.testing.calls import CallOutcome as CallOutcome
from toolcrib.testing.calls import call as call
from toolcrib.testing.calls import call_with as call_with
from toolcrib.testing.fake_runner import FakeRunner as FakeRunner
from toolcrib.testing.local_tool import LocalTool as LocalTool
from toolcrib.testing.schemas import assert_schema as assert_schema
from toolcrib.testing.schemas import schema_of as schema_of
from toolcrib.testing.temporary import temporary_crib as temporary_crib

__all__ = [
    "CallOutcome",
    "FakeRunner",
    "LocalTool",
    "assert_schema",
    "call",
    "call_with",
    "schema_of",
    "temporary_crib",
]
