"""Importing the modules that hold a user's handlers, with errors told in a line that says where and what to do."""

from __future__ import annotations

import importlib
import importlib.util
import inspect
import logging
import os
import sys
import traceback
from pathlib import Path
from types import ModuleType
from typing import Any, Final

from beskar_jobs.handlers.base import HandlerBase
from beskar_jobs.handlers.registry import default_registry
from beskar_jobs.model.errors import InvalidValue, JobDefinitionError

logger: Final = logging.getLogger("beskar_jobs.cli")

_LIBRARY = str(Path(__file__).resolve().parents[1]) + os.sep


def import_handlers(modules: list[str], *, verbose: bool) -> None:
    """Import *modules*, found from the current folder as ``python -m`` finds them.

    Args:
        verbose: show the traceback of a failed import on standard error.

    Raises:
        InvalidValue: a module is not there, fails, or brings no handler.
    """
    folder = str(Path.cwd())
    if sys.path[:1] != [folder]:
        sys.path.insert(0, folder)
    for name in modules:
        _check_is_module(name, folder)
        before = set(default_registry.job_types)
        already = name in sys.modules
        try:
            module = importlib.import_module(name)
        except Exception as error:
            if verbose:
                traceback.print_exc()
            raise InvalidValue(_why(name, error, folder, verbose=verbose)) from None
        brought = {definition.handler.__module__ for definition in default_registry}
        inside = any(home == name or home.startswith(f"{name}.") for home in brought)
        if not (inside or already or set(default_registry.job_types) - before):
            place = module.__file__ or "a package without __init__.py"
            raise InvalidValue(f"module {name!r} ({place}) registers no handler; {_what_else(module)}")
        for handler in _undecorated(module):
            logger.warning("%s.%s is a handler without @job_handler, so no job comes to it", name, handler)


def _check_is_module(name: str, folder: str) -> None:
    """That *name* may be a module's; people also write a file's, or a class's.

    Raises:
        InvalidValue: it cannot be; says what to write.
    """
    module, colon, inside = name.partition(":")
    if colon and not name.endswith(".py") and os.sep not in name:
        raise InvalidValue(
            f"{name!r} names {inside!r} in a module; a worker runs all handlers of a module: 'beskar worker {module}'"
        )
    if os.sep in name or name.startswith("."):
        file = Path(os.path.normpath(Path(folder, module)))
        start = Path(folder) if file.is_relative_to(folder) else file.parent
        dotted = ".".join(file.relative_to(start).with_suffix("").parts)
        there = "" if start == Path(folder) else f", started in {start}"
        raise InvalidValue(f"{name!r} is a file name; name the module, as in 'beskar worker {dotted}'{there}")


def _handler_classes(module: ModuleType) -> list[type[HandlerBase[Any, Any]]]:
    """The handlers that stand in *module* itself and can run."""
    return [
        value
        for value in vars(module).values()
        if isinstance(value, type)
        and issubclass(value, HandlerBase)
        and value.__module__ == module.__name__
        and not inspect.isabstract(value)
    ]


def _undecorated(module: ModuleType) -> list[str]:
    """Names of the handlers in *module* that lack the decorator; a base class of others needs none."""
    handlers = _handler_classes(module)
    return [
        handler.__qualname__
        for handler in handlers
        if "__job_definition__" not in vars(handler) and not handler.__subclasses__()
    ]


def _what_else(module: ModuleType) -> str:
    """What to do about a module that brings no handler to the default registry."""
    undecorated = _undecorated(module)
    if undecorated:
        return f'{", ".join(undecorated)} lacks the decorator: put @job_handler("…") above the class'
    private = [handler.__qualname__ for handler in _handler_classes(module)]
    if private:
        return (
            f"{', '.join(private)} is in a registry of its own, which 'beskar worker' does not know; leave out "
            "registry=…, or start JobWorker(…, handlers=that_registry) in a program"
        )
    return "decorate a class with @job_handler in it or in what it imports, or name the module that has the handlers"


def _why(name: str, error: Exception, folder: str, *, verbose: bool) -> str:
    if isinstance(error, ModuleNotFoundError) and error.name is not None and _is_part(error.name, name):
        if name.endswith(".py") or os.sep in name:
            dotted = name.removesuffix(".py").strip("./").replace(os.sep, ".")
            return f"{name!r} is a file name; name the module, as in 'beskar worker {dotted}'"
        return f"there is no module {error.name!r} in {folder} nor on the path; start from the folder that holds it"
    place = _place(error)
    if isinstance(error, JobDefinitionError):
        return f"{place}{error}"
    more = "" if verbose else "; --verbose shows the traceback"
    return f"module {name!r} cannot be imported: {place}{type(error).__name__}: {_first_line(error)}{more}"


def _is_part(missing: str, name: str) -> bool:
    return name == missing or name.startswith(f"{missing}.")


def _place(error: Exception) -> str:
    """``file:line: `` of the innermost line of the user's own code, if there is one."""
    if isinstance(error, SyntaxError) and error.filename:
        return f"{error.filename}:{error.lineno}: "
    own = [
        frame
        for frame in traceback.extract_tb(error.__traceback__)
        if not frame.filename.startswith((_LIBRARY, "<frozen")) and frame.filename != importlib.__file__
    ]
    return f"{own[-1].filename}:{own[-1].lineno}: " if own else ""


def _first_line(error: Exception) -> str:
    text = error.msg if isinstance(error, SyntaxError) else str(error)
    return text.strip().partition("\n")[0]
