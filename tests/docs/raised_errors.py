"""Finds the errors that the code of the service can raise: their code, message and members of `extensions`."""

import ast
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import keyfence
from keyfence.errors import Code, KeyfenceError

PACKAGE = Path(keyfence.__file__).parent
COMMAND_MODULES = ("app/", "bulk/", "cli/", "domain.py", "local/")
"""Modules whose errors only commands show."""


@dataclass(frozen=True, slots=True)
class RaisedError:
    """An expression in the code that makes an error."""

    module: str
    """The path of the module in the package `keyfence`."""
    code: Code
    message: str
    """The text up to the first value that is inserted. Empty if the message does not begin with a constant text."""
    members: frozenset[str]


def raised_errors() -> list[RaisedError]:
    """Returns the errors of all modules that serve requests."""
    paths = {path.relative_to(PACKAGE).as_posix(): path for path in sorted(PACKAGE.rglob("*.py"))}
    served = [name for name in paths if not name.startswith(COMMAND_MODULES)]
    return [error for name in served for error in _errors_of(name, ast.parse(paths[name].read_text()))]


def _errors_of(module: str, tree: ast.Module) -> Iterator[RaisedError]:
    codes = _code_by_class() | _code_by_subclass(tree)
    codes |= _code_by_partial(tree, codes)
    constants = _text_by_constant(tree)
    for class_name, call in _calls(tree):
        code = codes.get(class_name)
        if code is not None:
            members = frozenset(keyword.arg for keyword in call.keywords if keyword.arg)
            yield RaisedError(module, code, _message(call, constants), members)


def _code_by_class() -> dict[str, Code]:
    return {
        error.__name__: error.code for error in KeyfenceError.__subclasses__() if error.__module__ == "keyfence.errors"
    }


def _code_by_subclass(tree: ast.Module) -> dict[str, Code]:
    classes = [node for node in ast.walk(tree) if isinstance(node, ast.ClassDef)]
    bases = {node.name: base.id for node in classes for base in node.bases if isinstance(base, ast.Name)}
    return {name: _code_by_class()[base] for name, base in bases.items() if base in _code_by_class()}


def _code_by_partial(tree: ast.Module, codes: dict[str, Code]) -> dict[str, Code]:
    """Returns the codes of constants such as `EMAIL_TAKEN = partial(Conflict, ...)`."""
    assignments = [node for node in tree.body if isinstance(node, ast.Assign) and isinstance(node.value, ast.Call)]
    names = {
        target.id: _error_class(node.value)
        for node in assignments
        for target in node.targets
        if isinstance(target, ast.Name)
    }
    return {name: codes[error] for name, error in names.items() if error in codes}


def _calls(tree: ast.Module) -> Iterator[tuple[str, ast.Call]]:
    """Yields the calls that make an error, with the name of the error class or of the constant that is called."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Call):
            yield _error_class(node), node
        elif isinstance(node, ast.ClassDef):
            yield from (
                (node.name, call) for call in ast.walk(node) if _is_super_init(call) and isinstance(call, ast.Call)
            )


def _is_super_init(node: ast.AST) -> bool:
    return isinstance(node, ast.Call) and ast.unparse(node.func) == "super().__init__"


def _error_class(call: ast.expr) -> str:
    """Returns the name of the called class. For `partial(Conflict, ...)` that is the first argument."""
    assert isinstance(call, ast.Call)
    if isinstance(call.func, ast.Name) and call.func.id == "partial" and call.args:
        return ast.unparse(call.args[0])
    return ast.unparse(call.func)


def _text_by_constant(tree: ast.Module) -> dict[str, str]:
    """Returns the texts that are assigned to a name, such as `message`, before an error is made from the name."""
    assignments = [node for node in ast.walk(tree) if isinstance(node, ast.Assign)]
    return {ast.unparse(target): _leading_text(node.value) for node in assignments for target in node.targets}


def _message(call: ast.Call, constants: dict[str, str]) -> str:
    arguments = call.args[1:] if ast.unparse(call.func) == "partial" else call.args
    if not arguments:
        return ""
    return _leading_text(arguments[0]) or constants.get(ast.unparse(arguments[0]), "")


def _leading_text(node: ast.expr) -> str:
    if isinstance(node, ast.JoinedStr) and node.values:
        return _leading_text(node.values[0])
    return node.value if isinstance(node, ast.Constant) and isinstance(node.value, str) else ""
