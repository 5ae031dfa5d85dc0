"""Importing the modules that hold a user's handlers, with errors told in a line that says where and what to do."""

from __future__ import annotations

import importlib
import importlib.util
import os
import sys
import traceback
from pathlib import Path

from beskar_jobs.handlers.registry import default_registry
from beskar_jobs.model.errors import InvalidValue, JobDefinitionError

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
            raise InvalidValue(
                f"module {name!r} ({place}) registers no handler; decorate a class with @job_handler in it or in what "
                "it imports, or name the module that has the handlers"
            )


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
