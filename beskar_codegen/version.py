"""The version of the generator, that of the distribution. A constant, because asking for the metadata takes longer than
the rest of a run in which nothing has changed; a test holds it to pyproject.toml."""

from typing import Final

VERSION: Final = "0.1.0"
