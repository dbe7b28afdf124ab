"""Options that come together: a command names one dataclass, whose fields are its options.

They are keywords (``kw_only=True``), and so is the parameter that they stand for.
"""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable
from dataclasses import fields, is_dataclass
from typing import Any


def grouped(command: Callable[..., None]) -> Callable[..., None]:
    """The command with each parameter that is a dataclass replaced by its fields, as typer needs.

    >>> from dataclasses import dataclass
    >>> @dataclass(kw_only=True)
    ... class Size:
    ...     width: int = 3
    ...     height: int = 4
    >>> @grouped
    ... def area(name: str, *, size: Size) -> None:
    ...     print(name, size.width * size.height)
    >>> list(inspect.signature(area).parameters)
    ['name', 'width', 'height']
    >>> area("box", height=6)
    box 18
    """
    signature = inspect.signature(command, eval_str=True)
    groups: dict[str, Any] = {}
    shown: list[inspect.Parameter] = []
    for parameter in signature.parameters.values():
        group = parameter.annotation
        if isinstance(group, type) and is_dataclass(group):
            groups[parameter.name] = group
            shown += inspect.signature(group, eval_str=True).parameters.values()
        else:
            shown.append(parameter)
    flat = signature.replace(parameters=shown)

    @functools.wraps(command)
    def called(*words: Any, **options: Any) -> None:
        bound = flat.bind(*words, **options)
        bound.apply_defaults()
        given = bound.arguments
        for name, group in groups.items():
            given[name] = group(**{field.name: given.pop(field.name) for field in fields(group)})
        command(**given)

    called.__signature__ = flat  # type: ignore[attr-defined]
    called.__annotations__ = {one.name: one.annotation for one in shown}
    return called
