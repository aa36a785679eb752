"""What Python knows of a callable: its name, its parameters, and where its annotations get their meaning."""

from __future__ import annotations

import builtins
import functools
import inspect
import re
import sys
import types
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

from toolcrib.errors import DefinitionError

EMPTY = inspect.Parameter.empty
POSITIONAL_ONLY = inspect.Parameter.POSITIONAL_ONLY
POSITIONAL = inspect.Parameter.POSITIONAL_OR_KEYWORD
VARIADIC = inspect.Parameter.VAR_POSITIONAL
KEYWORD = inspect.Parameter.KEYWORD_ONLY
KEYWORDS = inspect.Parameter.VAR_KEYWORD


class UnresolvedNameError(DefinitionError):
    """An annotation names something that does not exist where it stands."""


class Parameter(NamedTuple):
    """One parameter, as ``inspect.Parameter`` has it."""

    name: str
    kind: Any
    annotation: Any
    default: Any


def name_of(function: Any) -> str:
    """The name of a callable; a callable object has that of its class, in snake case.

    Raises:
        DefinitionError: it has none that a tool could have.
    """
    while isinstance(function, functools.partial):
        function = function.func
    name = getattr(function, "__name__", None)
    if not isinstance(name, str):
        name = snake_case(type(function).__name__)
    if name == "<lambda>":
        raise DefinitionError("A lambda has no name", hint="Give it one: tool(name='…')(lambda …).")
    return name


def snake_case(class_name: str) -> str:
    """The words of a class's name, such as ``http_proxy`` of ``HTTPProxy``."""
    words = re.sub(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])", "_", class_name)
    return words.strip("_").lower()


def check_callable(function: Any) -> None:
    """Raise a `DefinitionError` for what cannot be a tool: a class, a method without its object, no callable at all."""
    if type(function) is types.FunctionType:
        if "." in function.__qualname__:
            _check_no_method(function)
        return
    if isinstance(function, type):
        raise DefinitionError(
            f"{function.__name__} is a class, not a function",
            hint="Make a tool of one of its methods, or of an object with __call__.",
        )
    if not callable(function):
        hint = "Put @tool below @classmethod." if isinstance(function, classmethod) else "A tool is made of a function."
        raise DefinitionError(f"{function!r} cannot be called", hint=hint)


def _check_no_method(function: types.FunctionType) -> None:
    outer = function.__qualname__.rpartition(".")[0]
    code = function.__code__
    first = code.co_varnames[0] if code.co_argcount else None
    if first in ("self", "cls") and not outer.endswith("<locals>") and first not in function.__annotations__:
        raise DefinitionError(
            f"{function.__qualname__} is a method, and a model cannot send its {first!r}",
            hint=f"Make the tool of the bound method: tool(an_object.{function.__name__}).",
        )


def inner_function(function: Any) -> Any:
    """The function that was written: below partials, decorators that say what they wrap, bound methods and objects."""
    if type(function) is types.FunctionType and not function.__dict__:
        return function
    while True:
        if isinstance(function, functools.partial):
            function = function.func
        elif isinstance(function, types.MethodType):
            function = function.__func__
        elif isinstance(function, (types.FunctionType, staticmethod)) and hasattr(function, "__wrapped__"):
            function = function.__wrapped__
        elif not isinstance(function, types.FunctionType) and (call := call_method(function)) is not None:
            function = call
        else:
            return function


def call_method(function: Any) -> types.FunctionType | None:
    """The ``__call__`` that was written for a callable object."""
    for base in type(function).__mro__:
        method = vars(base).get("__call__")
        if isinstance(method, staticmethod):
            method = method.__func__
        if method is not None:
            return method if isinstance(method, types.FunctionType) else None
    return None


def docstring_of(function: Any) -> str | None:
    """The docstring of what was written, else of the method that it overrides, or of the class of a callable object."""
    text = inner_function(function).__doc__
    if not text and isinstance(function, types.MethodType):
        text = inspect.getdoc(function)
    elif not text and not isinstance(function, (types.FunctionType, functools.partial)):
        text = type(function).__doc__
    return text if isinstance(text, str) else None


def parameters_of(function: Any) -> list[Parameter]:
    """The parameters that a caller may give; what a partial has bound is gone.

    Raises:
        DefinitionError: Python does not know them.
    """
    plain, bound = function, 0
    if type(function) is types.MethodType:
        plain, bound = function.__func__, 1
    if type(plain) is types.FunctionType and not plain.__dict__:
        return _of_code(plain)[bound:]
    try:
        signature = inspect.signature(function if call_method(function) is None else function.__call__)
    except (ValueError, TypeError) as error:
        raise DefinitionError(
            f"Python does not know the parameters of {function!r}",
            hint="Wrap it in a function with annotated parameters.",
        ) from error
    fixed = function.keywords if isinstance(function, functools.partial) else {}
    return [
        Parameter(one.name, one.kind, one.annotation, one.default)
        for one in signature.parameters.values()
        if one.name not in fixed or one.kind is KEYWORDS
    ]


def takes_one_mapping(function: Any, schema: Mapping[str, Any]) -> bool:
    """Whether a function with a schema of its own is called with the arguments as one dict, as S1 writes it."""
    try:
        parameters = parameters_of(function)
    except DefinitionError:
        return True
    properties = schema.get("properties") or {}
    needed = [one for one in parameters if one.kind in (POSITIONAL_ONLY, POSITIONAL)]
    if not needed or needed[0].name in properties or any(one.default is EMPTY for one in needed[1:]):
        return False
    return not any(one.name in properties for one in parameters)


def _of_code(function: types.FunctionType) -> list[Parameter]:
    """What ``inspect.signature`` finds, without its cost, for a plain function."""
    code, annotations = function.__code__, function.__annotations__
    count, names = code.co_argcount, code.co_varnames
    defaults = function.__defaults__ or ()
    first_default = count - len(defaults)
    keyword_defaults = function.__kwdefaults__ or {}
    found: list[Parameter] = []
    for index in range(count):
        kind = POSITIONAL_ONLY if index < code.co_posonlyargcount else POSITIONAL
        default = defaults[index - first_default] if index >= first_default else EMPTY
        found.append(Parameter(names[index], kind, annotations.get(names[index], EMPTY), default))
    position = count + code.co_kwonlyargcount
    if code.co_flags & inspect.CO_VARARGS:
        found.append(Parameter(names[position], VARIADIC, annotations.get(names[position], EMPTY), EMPTY))
        position += 1
    found += [
        Parameter(name, KEYWORD, annotations.get(name, EMPTY), keyword_defaults.get(name, EMPTY))
        for name in names[count : count + code.co_kwonlyargcount]
    ]
    if code.co_flags & inspect.CO_VARKEYWORDS:
        found.append(Parameter(names[position], KEYWORDS, annotations.get(names[position], EMPTY), EMPTY))
    return found


def local_names(function: Any) -> Mapping[str, Any] | None:
    """The names that annotations written as text may mean in the function around ``function``.

    None where they need none of them, so that they can be read later; an empty mapping where the function around it is
    not running any more.
    """
    if "<locals>" not in getattr(function, "__qualname__", ""):
        return None
    texts = [one for one in function.__annotations__.values() if isinstance(one, str)]
    if not texts:
        return None
    enclosing = _enclosing_names(function)
    names = [name for text in texts for name in _names_in(text)]
    namespace = function.__globals__
    if any(name in enclosing or (name not in namespace and not hasattr(builtins, name)) for name in names):
        return enclosing
    return None


def _names_in(annotation: str) -> tuple[str, ...]:
    try:
        return _compiled(annotation).co_names
    except SyntaxError:
        return ()


@functools.lru_cache(maxsize=512)
def _compiled(annotation: str) -> types.CodeType:
    return compile(annotation, "<annotation>", "eval")


def _enclosing_names(function: Any) -> Mapping[str, Any]:
    """The local names of the function in which ``function`` is being defined, if it is still running."""
    outer = function.__qualname__.rpartition(".<locals>")[0]
    frame: types.FrameType | None = sys._getframe(1)
    while frame is not None:
        if frame.f_globals is function.__globals__ and frame.f_code.co_qualname == outer:
            return dict(frame.f_locals)
        frame = frame.f_back
    return {}


def resolver(function: Any, local_names: Mapping[str, Any]) -> Callable[[str], Any]:
    """A function that gives an annotation written as text its meaning.

    Raises (when called):
        UnresolvedNameError: a name in it does not exist where the function was defined.
    """
    namespace = getattr(function, "__globals__", {})
    code = getattr(function, "__code__", None)
    cells = getattr(function, "__closure__", None) or ()

    def resolve(text: str) -> Any:
        if not local_names and not cells and text.isidentifier():
            found = namespace.get(text, EMPTY)
            if found is EMPTY:
                found = getattr(builtins, text, EMPTY)
            if found is not EMPTY:
                return found
        names = dict(local_names)
        for name, cell in zip(code.co_freevars if code else (), cells, strict=False):
            try:
                names.setdefault(name, cell.cell_contents)
            except ValueError:
                continue
        try:
            return eval(_compiled(text), namespace, names)  # noqa: S307 - the program's own annotation
        except NameError as error:
            raise UnresolvedNameError(
                f"the annotation {text!r}, and the name {error.name!r} means nothing there",
                hint="Define or import it at the top of the module, not under TYPE_CHECKING and not inside a function.",
            ) from error
        except Exception as error:
            raise UnresolvedNameError(f"the annotation {text!r}, which cannot be evaluated: {error}") from error

    return resolve
