"""What has changed in a Python file from one version to the next, tool by tool."""

from __future__ import annotations

import ast
import hashlib


class PythonText:
    """The text of a module, taken apart into its definitions and the rest.

    Args:
        text: valid Python.

    Example:
        >>> before = PythonText("X = 1\\ndef a():\\n    return X\\ndef b():\\n    return a()\\ndef c(): ...")
        >>> after = PythonText("X = 1\\ndef a():\\n    return 2\\ndef b():\\n    return a()  # the sum\\ndef c(): ...")
        >>> [name for name in "abc" if before.mark(name) != after.mark(name)]
        ['a', 'b']
    """

    def __init__(self, text: str | bytes) -> None:
        self._parts: dict[str, list[ast.stmt]] = {}
        self._rest: list[ast.stmt] = []
        for statement in ast.parse(text).body:
            if isinstance(statement, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
                self._parts.setdefault(statement.name, []).append(statement)
            else:
                self._rest.append(statement)

    def mark(self, name: str) -> str:
        """Something that is equal for two texts where what ``name`` does is: its definition, those that it and the
        module's other statements refer to, and these statements. Comments and lines do not count.
        """
        wanted: set[str] = set()
        todo: list[ast.AST] = [*self._rest, *self._parts.get(name, ())]
        if name in self._parts:
            wanted.add(name)
        while todo:
            for node in ast.walk(todo.pop()):
                used = _name_in(node)
                if used in self._parts and used not in wanted:
                    wanted.add(used)
                    todo += self._parts[used]
        parts = [ast.dump(each) for each in self._rest]
        parts += [ast.dump(each) for part in sorted(wanted) for each in self._parts.get(part, ())]
        return hashlib.sha256("\n".join(parts).encode()).hexdigest()


def _name_in(node: ast.AST) -> str:
    """The name that a node is, or, as in an annotation written as text, may stand for."""
    if isinstance(node, ast.Name):
        return node.id
    return node.value if isinstance(node, ast.Constant) and isinstance(node.value, str) else ""
