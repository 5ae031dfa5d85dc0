"""How descriptors are named: after the class, without its suffix, with the names of the classes around it before.

``VideoTranscodeJobHandler`` becomes ``VideoTranscode``, ``Mail.SendHandler`` becomes ``MailSend``.
"""

from __future__ import annotations

import keyword
from typing import Final

_SUFFIXES: Final = ("JobHandler", "Handler")


def descriptor_name(qualified: str) -> str:
    """The name of the descriptor of the handler class *qualified*; may be no name at all (:func:`is_name`)."""
    *outer, own = qualified.split(".")
    for suffix in _SUFFIXES:
        if own.endswith(suffix):
            own = own[: -len(suffix)]
            break
    return "".join([*outer, own]) if own else ""


def is_name(text: str) -> bool:
    """Whether a class can be called *text*."""
    return text.isidentifier() and not keyword.iskeyword(text) and text != "__debug__"


def is_importable(module: str) -> bool:
    """Whether an import statement can name *module*."""
    return all(part.isidentifier() and not keyword.iskeyword(part) for part in module.split("."))
