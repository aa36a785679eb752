"""From what a provider sent to the calls that may run."""

from __future__ import annotations

from toolcrib.execution.arguments.deltas import assemble
from toolcrib.execution.arguments.reader import CallReader, parse_tool_calls
from toolcrib.execution.arguments.records import ParsedCall, ParsedCalls, RefusedCall

__all__ = ["CallReader", "ParsedCall", "ParsedCalls", "RefusedCall", "assemble", "parse_tool_calls"]
