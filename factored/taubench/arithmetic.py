"""The ``calculate`` tool's arithmetic: Python's values and error texts, in bounded steps.

The expression is parsed, never evaluated as code; only the four operations, powers, floor division,
signs and parentheses are worked out, and whole numbers stay below a bound.
"""

import ast
import operator
from collections.abc import Callable
from typing import Any

ALLOWED = "0123456789+-*/(). "
MAX_LENGTH = 10_000  # characters
MAX_BITS = 65_536  # of a whole number; a float overflows at 1,024

BINARY: dict[type[ast.operator], Callable[[Any, Any], Any]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.Div: operator.truediv,
    ast.FloorDiv: operator.floordiv,
    ast.Pow: operator.pow,
}
UNARY: dict[type[ast.unaryop], Callable[[Any], Any]] = {
    ast.UAdd: operator.pos,
    ast.USub: operator.neg,
}


def evaluate(expression: str) -> str:
    """Return the value as a float rounded to 2 places, as text: ``2**3`` gives ``8.0``.

    Raises what Python raises for the expression (SyntaxError, ZeroDivisionError, TypeError,
    OverflowError), with Python's text: the agent reads it. Raises ValueError beyond MAX_LENGTH.
    """
    if len(expression) > MAX_LENGTH:
        raise ValueError(f"expression is longer than {MAX_LENGTH} characters")
    # Python's eval ignores leading blanks, its parser does not.
    tree = ast.parse(expression.lstrip(" "), filename="<string>", mode="eval")
    return str(round(float(_value(tree.body)), 2))


def _value(root: ast.expr) -> Any:
    """Work the tree out with a stack of its own, since a deep tree would meet Python's limit."""
    todo: list[tuple[ast.AST, bool]] = [(root, False)]
    values: list[Any] = []
    while todo:
        node, ready = todo.pop()
        children = _operands(node)
        if children and not ready:
            todo.append((node, True))
            todo.extend((child, False) for child in reversed(children))
        else:
            operands = [values.pop() for _ in children][::-1]
            values.append(_apply(node, operands))
    (value,) = values
    return value


def _operands(node: ast.AST) -> list[ast.expr]:
    if isinstance(node, ast.BinOp):
        return [node.left, node.right]
    if isinstance(node, ast.UnaryOp):
        return [node.operand]
    if isinstance(node, ast.Call):
        arguments = [arg.value if isinstance(arg, ast.Starred) else arg for arg in node.args]
        return [node.func, *arguments, *(keyword.value for keyword in node.keywords)]
    return []


def _apply(node: ast.AST, operands: list[Any]) -> Any:
    match node:
        case ast.Constant():
            return node.value
        case ast.UnaryOp():
            return UNARY[type(node.op)](*operands)
        case ast.BinOp():
            _check_size(node.op, *operands)
            return BINARY[type(node.op)](*operands)
        case ast.Call():
            raise TypeError(_call_text(node, *operands))
        case ast.Tuple(elts=[]):
            return ()
    raise SyntaxError("invalid syntax (<string>, line 1)")


def _call_text(node: ast.Call, called: Any, argument: Any = ()) -> str:
    """Return Python's words for a number that is called, as in ``2(3)``.

    ALLOWED has no comma, so that there is at most one argument.
    """
    if node.keywords:
        return f"{called} argument after ** must be a mapping, not {type(argument).__name__}"
    if isinstance(next(iter(node.args), None), ast.Starred) and not isinstance(argument, tuple):
        return f"{called} argument after * must be an iterable, not {type(argument).__name__}"
    return f"'{type(called).__name__}' object is not callable"


def _check_size(operation: ast.operator, left: Any, right: Any) -> None:
    """Raise OverflowError for a whole number beyond MAX_BITS.

    Python would raise the same on the way to a float, after it has worked the number out, which
    for ``9**9**9`` it cannot in any useful time.
    """
    if not (isinstance(left, int) and isinstance(right, int)):
        return
    bits = 0
    if isinstance(operation, ast.Pow) and abs(left) > 1:
        bits = left.bit_length() * max(right, 0)
    elif isinstance(operation, ast.Mult):
        bits = left.bit_length() + right.bit_length()
    if bits > MAX_BITS:
        raise OverflowError("int too large to convert to float")
