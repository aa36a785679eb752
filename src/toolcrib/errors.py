"""Every error toolcrib raises, and who can mend it.

    ToolcribError
    ├── DefinitionError            a tool is defined wrongly                      operator
    │   ├── InvalidNameError       its name is not one a tool may have
    │   └── DuplicateToolError     its name is taken
    ├── SourceError                a file that defines tools is wrong             operator
    ├── SettingsError              a setting is wrong                             operator
    ├── CallError                  one call cannot be carried out
    │   ├── UnknownToolError       no tool of that name                           caller
    │   ├── InvalidParamsError     the parameters do not fit the schema           caller
    │   ├── TruncatedCallError     the call was cut off before its end            model
    │   ├── TooLargeError          a request or an answer is over its limit       caller
    │   ├── UnknownArtifactError   no artifact of that id                         caller
    │   ├── DeadlineExceeded       no answer in time                              caller
    │   ├── NotRunningError        the tool is switched off or cannot be reached  operator
    │   │   └── StartFailedError   it did not become healthy                      operator
    │   ├── DependencyMissingError something it needs is not installed or set     operator
    │   ├── OutputMismatchError    the answer does not fit the output schema      operator
    │   └── UpstreamError          the tool's process gave no usable answer       operator
    └── ServiceError               the service itself cannot start or is refused  operator
        ├── PortTakenError         another program listens on the port
        └── HomeInUseError         another service works in the same TOOLCRIB_HOME

Each carries ``code`` (stable, for programs), ``hint`` (what to do next) and ``mender``. A tool's own failure is no
exception: it is a `ToolResult` with ``success`` false.
"""

from __future__ import annotations

from typing import ClassVar, Literal

Mender = Literal["caller", "model", "operator"]


class ToolcribError(Exception):
    """Base of all errors raised by toolcrib.

    Args:
        message: what is wrong, in one sentence that names the thing.
        hint: what the ``mender`` can do about it.
        code: overrides the class's stable code.

    Example:
        >>> error = UnknownToolError("Tool not found: x", hint="Did you mean 'y'?")
        >>> error.code, error.mender, str(error)
        ('unknown_tool', 'caller', 'Tool not found: x')
    """

    code: str = "error"
    mender: ClassVar[Mender] = "operator"

    def __init__(self, message: str, *, hint: str | None = None, code: str | None = None) -> None:
        super().__init__(message)
        self.hint = hint
        if code is not None:
            self.code = code


class DefinitionError(ToolcribError):
    """A tool is defined wrongly."""

    code = "invalid_definition"


class InvalidNameError(DefinitionError):
    """A tool's name is not one that a tool may have."""

    code = "invalid_name"


class DuplicateToolError(DefinitionError):
    """A tool's name is taken by another tool."""

    code = "duplicate_tool"


class SourceError(ToolcribError):
    """A file that defines tools cannot be used.

    Args:
        message: what is wrong.
        path: the file.
        line: its line, counted from 1, where it is known.
    """

    code = "invalid_source"

    def __init__(self, message: str, *, path: str, line: int | None = None, hint: str | None = None) -> None:
        self.path = path
        self.line = line
        where = path if line is None else f"{path}:{line}"
        super().__init__(f"{where}: {message}", hint=hint)


class SettingsError(ToolcribError):
    """A setting has a value that cannot be used."""

    code = "invalid_settings"


class CallError(ToolcribError):
    """One call cannot be carried out; the service and the other tools are unharmed."""

    code = "tool_error"


class UnknownToolError(CallError):
    """There is no tool of that name."""

    code = "unknown_tool"
    mender = "caller"


class InvalidParamsError(CallError):
    """The parameters do not fit the tool's schema; nothing was started."""

    code = "invalid_params"
    mender = "caller"


class TruncatedCallError(CallError):
    """A model's answer was cut off inside the call; nothing was started."""

    code = "truncated"
    mender = "model"


class TooLargeError(CallError):
    """A request or an answer is over its limit."""

    code = "too_large"
    mender = "caller"


class UnknownArtifactError(CallError):
    """There is no artifact of that id."""

    code = "unknown_artifact"
    mender = "caller"


class DeadlineExceeded(CallError):
    """The call did not end before its deadline."""

    code = "timeout"
    mender = "caller"


class NotRunningError(CallError):
    """The tool is not running and was not or could not be started."""

    code = "not_running"


class StartFailedError(NotRunningError):
    """The tool's process did not become healthy."""

    code = "start_failed"


class DependencyMissingError(CallError):
    """A program, package, credential or runtime that the tool needs is missing."""

    code = "dependency_missing"


class OutputMismatchError(CallError):
    """The tool's answer does not fit its own output schema."""

    code = "output_mismatch"


class UpstreamError(CallError):
    """The tool's process was reached but gave no usable answer."""

    code = "upstream_error"


class ServiceError(ToolcribError):
    """The service itself cannot start."""

    code = "service_error"


class PortTakenError(ServiceError):
    """Another program listens on the port."""

    code = "port_taken"


class HomeInUseError(ServiceError):
    """Another service works in the same TOOLCRIB_HOME."""

    code = "home_in_use"
