"""The one outcome of a tool call, and its three exact views."""

from __future__ import annotations

from collections.abc import Mapping
from enum import Enum
from typing import Any

from toolcrib.errors import CallError, DeadlineExceeded, ToolcribError


class ToolResultStatus(str, Enum):  # noqa: UP042, RUF100 - str() of it stays as it is
    """How a call ended (contract W003)."""

    SUCCESS = "success"
    ERROR = "error"
    TIMEOUT = "timeout"
    DENIED = "denied"
    CANCELLED = "cancelled"


_STATUS_OF_CODE = {
    "timeout": ToolResultStatus.TIMEOUT,
    "denied": ToolResultStatus.DENIED,
    "needs_approval": ToolResultStatus.DENIED,
    "cancelled": ToolResultStatus.CANCELLED,
}


class ToolResult:
    """The outcome of one call, whatever happened (contract N007, W003, T008, T009).

    It is constructed the way either document does: ``ToolResult(True, data)`` and ``ToolResult(success=False,
    error="…")``, or ``ToolResult(status=ToolResultStatus.SUCCESS, output="…")``.

    Args:
        success: whether the tool did what was asked; derived from ``status`` where that is given.
        data: what the tool returned, JSON-compatible.
        error: why it failed, for a reader.
        status: the finer outcome; derived from ``success`` where absent.
        output: text for the model, where it differs from ``data``.
        duration_ms: how long the call took, in milliseconds.
        error_code: a stable word for programs, such as ``"invalid_params"``; None on success.
        hint: what to do about the error.

    Example:
        >>> ToolResult.ok({"sum": 3}).to_dict()
        {'success': True, 'data': {'sum': 3}, 'error': None}
        >>> ToolResult.fail("no such city", code="unknown_city").to_run_tool()["error_code"]
        'unknown_city'
    """

    __slots__ = ("data", "duration_ms", "error", "error_code", "hint", "output", "status")

    def __init__(
        self,
        success: bool | None = None,
        data: Any = None,
        error: str | None = None,
        *,
        status: ToolResultStatus | str | None = None,
        output: Any = None,
        duration_ms: float | None = None,
        error_code: str | None = None,
        hint: str | None = None,
    ) -> None:
        if status is None:
            if success is None:
                raise TypeError("ToolResult needs success= or status=")
            status = ToolResultStatus.SUCCESS if success else ToolResultStatus.ERROR
        else:
            status = ToolResultStatus(status)
            if success is not None and success is not (status is ToolResultStatus.SUCCESS):
                raise ValueError(f"ToolResult(success={success}, status={status.value!r}) contradicts itself")
        self.status = status
        self.data = data
        self.output = output
        self.error = error or None
        self.duration_ms = duration_ms
        self.error_code = error_code if error_code or self.success else _default_code(status)
        self.hint = hint

    @property
    def success(self) -> bool:
        """Whether ``status`` is success."""
        return self.status is ToolResultStatus.SUCCESS

    @classmethod
    def ok(cls, data: Any = None) -> ToolResult:
        """A success with ``data``."""
        return cls(True, data)

    @classmethod
    def fail(cls, error: str, *, code: str = "tool_error", hint: str | None = None, data: Any = None) -> ToolResult:
        """A failure with its text, stable code and hint."""
        return cls(
            status=_STATUS_OF_CODE.get(code, ToolResultStatus.ERROR), data=data, error=error, error_code=code, hint=hint
        )

    @classmethod
    def from_error(cls, error: BaseException) -> ToolResult:
        """The failure that an exception stands for.

        toolcrib's own errors keep their code and hint; any other exception becomes ``"Class: text"``, code
        ``tool_error``.
        """
        if isinstance(error, ToolcribError):
            return cls.fail(str(error), code=error.code, hint=error.hint)
        if isinstance(error, TimeoutError):
            return cls.fail(str(error) or "The tool timed out", code=DeadlineExceeded.code)
        text = str(error)
        return cls.fail(f"{type(error).__name__}: {text}" if text else type(error).__name__, code=CallError.code)

    @classmethod
    def of(cls, value: Any) -> ToolResult:
        """What a handler returned, as a result (contract N006).

        A `ToolResult` is itself. A mapping with a bool ``success`` is a view of a result, never nested: ``success`` and
        ``error`` are lifted, ``data`` stays the data, and where there is none the remaining keys become it. Anything
        else is the data of a success.

        Example:
            >>> ToolResult.of({"success": True, "rows": [1]}).data
            {'rows': [1]}
            >>> ToolResult.of([1, 2]).to_dict()
            {'success': True, 'data': [1, 2], 'error': None}
        """
        kind = type(value)
        if kind is not dict:
            if kind in _SCALARS:
                return cls._plain(value)
            if isinstance(value, ToolResult):
                return value
        elif "success" not in value:
            return cls._plain(value)
        if not isinstance(value, Mapping) or not isinstance(value.get("success"), bool):
            return cls(True, value)
        rest = {key: item for key, item in value.items() if key not in ("success", "error")}
        data = rest["data"] if rest.keys() == {"data"} else (rest or None)
        error = value.get("error")
        return cls(value["success"], data, error if error is None else str(error))

    @classmethod
    def _plain(cls, data: Any) -> ToolResult:
        """``cls(True, data)``, as fast as it can be made."""
        result = cls.__new__(cls)
        result.status = _SUCCESS
        result.data = data
        result.output = result.error = result.duration_ms = result.error_code = result.hint = None
        return result

    def to_dict(self) -> dict[str, Any]:
        """The view of S1: ``success``, ``data``, ``error``."""
        return {
            "success": self.success,
            "data": self.data if self.data is not None else self.output,
            "error": self.error,
        }

    def to_run_tool(self) -> dict[str, Any]:
        """The view of S2's ``POST /run_tool``.

        Exactly ``status``, ``result`` and ``error`` on success; a failure has ``error_code`` and ``hint`` beside them.
        """
        if self.success:
            return {"status": "success", "result": self.data if self.data is not None else self.output, "error": None}
        return {
            "status": "error",
            "result": None,
            "error": self.error or f"The call ended as {self.status.value}",
            "error_code": self.error_code,
            "hint": self.hint,
        }

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, ToolResult):
            return NotImplemented
        return all(getattr(self, name) == getattr(other, name) for name in self.__slots__)

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        shown = ", ".join(
            f"{name}={value!r}" for name in ("data", "output", "error") if (value := getattr(self, name)) is not None
        )
        return f"ToolResult(status={self.status.value!r}{', ' if shown else ''}{shown})"


_SUCCESS = ToolResultStatus.SUCCESS
_SCALARS = frozenset((list, str, int, float, bool, type(None)))


def _default_code(status: ToolResultStatus) -> str:
    return CallError.code if status is ToolResultStatus.ERROR else status.value
