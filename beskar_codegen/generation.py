"""From sources to what shall be in the generated files: the four steps in a row, and what of them can be left out.

A run begins with the digests of all source files. If they, and those of the modules outside the sources that were
consulted, are what they were, the last run's outcome holds and nothing is parsed; not even the parser is loaded. Else
the project is read again, and the stubs of modules that are as they were are taken over.

Nothing is written here, and diagnostics are values: a project with mistakes comes out as a
:class:`Generation` with diagnostics and without files.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path

import attrs

from beskar_codegen.cache import Cache, digest
from beskar_codegen.outcome import Generation, Kept, from_plain, to_plain
from beskar_codegen.read.discovery import SourceFile, source_files
from beskar_codegen.settings import Settings
from beskar_codegen.version import VERSION


def generate(settings: Settings, *, use_cache: bool = True) -> Generation:
    """Work out what the sources of the project come to."""
    root = settings.root if use_cache else None
    key = _key(settings)
    cache = Cache(root, key)
    kept = cache.load()
    files = [each for each in source_files(settings.root, settings.source) if each.path != settings.descriptors]
    digests = _digests(files)
    if kept and kept.get("digests") == digests and surroundings_are_as_they_were(settings.root, kept, digests):
        outcome = from_plain(kept)
        if outcome is not None:
            return outcome
    from beskar_codegen import known_modules, steps  # noqa: PLC0415  # the parser takes longer than a run without it

    outcome, keep = steps.run(settings, kept, digests, known_modules.module_cache(root, key))
    cache.store({**keep, **to_plain(outcome), "digests": digests})
    return outcome


def _key(settings: Settings) -> str:
    return f"{VERSION}\0{attrs.evolve(settings, root=Path())!r}"


@attrs.frozen
class Surroundings:
    """What the last run has looked at outside of the sources.

    Attributes:
        paths: of files that it read, and of those that it looked for in vain; sorted.
        is_as_it_was: whether all of that is still as it was then.
    """

    paths: tuple[str, ...] = ()
    is_as_it_was: bool = False


def surroundings_of_last_run(settings: Settings) -> Surroundings:
    """What the last run with the cache has looked at besides the sources; nothing if it could keep nothing."""
    kept = Cache(settings.root, _key(settings)).load()
    consulted, absent, digests = kept.get("consulted"), kept.get("absent"), kept.get("digests")
    if not (isinstance(consulted, dict) and isinstance(absent, list) and isinstance(digests, dict)):
        return Surroundings()
    paths = {*consulted, *absent}.difference(digests)
    return Surroundings(tuple(sorted(paths)), surroundings_are_as_they_were(settings.root, kept, digests))


def _digests(files: Iterable[SourceFile]) -> dict[str, str]:
    found = {}
    for each in files:
        try:
            with open(each.name, "rb") as file:
                found[each.path] = digest(file.read())
        except OSError as error:
            found[each.path] = f"error {error.errno}"
    return found


def surroundings_are_as_they_were(root: Path, kept: Kept, digests: Mapping[str, str]) -> bool:
    """Whether what was read outside of the sources is as it was, and what was not found is still not there."""
    consulted, absent = kept.get("consulted"), kept.get("absent")
    if not isinstance(consulted, dict) or not isinstance(absent, list):
        return False
    for path, known in consulted.items():
        try:
            if path not in digests and digest((root / path).read_bytes()) != known:
                return False
        except OSError:
            return False
    return not any((root / path).exists() for path in absent)
