"""What earlier runs have read, and which of it still holds.

A module that was read is as it was while its own file is, and the files of all modules that were consulted for it, and
none has turned up that was looked for in vain. So of a project with one changed file that file is read again, and those
that have types from it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import attrs

from beskar_codegen.cache import Cache
from beskar_codegen.generation import surroundings_are_as_they_were
from beskar_codegen.model import SourceModule
from beskar_codegen.modules_plain import SHAPE, meaning, module_from_plain, to_plain
from beskar_codegen.outcome import Kept
from beskar_codegen.read.discovery import source_files
from beskar_codegen.settings import Settings


def module_cache(root: Path | None, key: str) -> Cache:
    """Where modules are kept; *root* and *key* as for any cache."""
    return Cache(root, f"{key}\0{SHAPE}", "modules")


@attrs.frozen
class Known:
    """Modules that would come out the same, by path: as parts of the model, and as the plain data that they came as."""

    modules: Mapping[str, SourceModule] = attrs.field(factory=dict)
    plain: Mapping[str, Any] = attrs.field(factory=dict)

    def plain_of(self, module: SourceModule) -> Any:
        """*module* as plain data; made anew only if it is none of these."""
        return self.plain[module.path] if self.modules.get(module.path) is module else to_plain(module)


def load_known(settings: Settings, digests: Mapping[str, str], cache: Cache) -> Known:
    """What of the last run still holds.

    Args:
        digests: of all source files now, by path.
    """
    kept = cache.load()
    before = kept.get("digests")
    if not isinstance(before, dict) or not surroundings_are_as_they_were(settings.root, kept, digests):
        return Known()
    try:
        plain = list(kept["modules"])
        modules = [module_from_plain(each) for each in plain]
    except (ValueError, TypeError, LookupError):
        return Known()
    if any(star.hides for module in modules for star in module.star_imports):
        return Known()  # who looked through a star import is not known
    changed = {path for path in {*before, *digests} if before.get(path) != digests.get(path)}
    names = {each.module for each in source_files(settings.root, settings.source) if each.path in changed}
    names |= {module.module for module in modules if module.path in changed}
    held = {
        module.path: (module, each)
        for module, each in zip(modules, plain, strict=True)
        if module.path not in changed and names.isdisjoint(module.consulted)
    }
    return Known({path: module for path, (module, _) in held.items()}, {path: each for path, (_, each) in held.items()})


def keep_modules(
    modules: Sequence[SourceModule], known: Known, surroundings: Kept, digests: Mapping[str, str], cache: Cache
) -> Kept:
    """Keep *modules* for later runs; the answer is what tells whether a module still means the same.

    Args:
        known: what was taken over from the last run.
        surroundings: what was consulted, and what was looked for in vain.
    """
    plain = [known.plain_of(module) for module in modules]
    cache.store({**surroundings, "digests": dict(digests), "modules": plain})
    pairs = zip(modules, plain, strict=True)
    return {module.path: [module.module, meaning(each), list(module.consulted)] for module, each in pairs}


def same_meaning(module: SourceModule, meanings: Kept) -> bool:
    """Whether *module* means what it did when *meanings* were kept."""
    entry = meanings.get(module.path)
    return isinstance(entry, list) and len(entry) == 3 and entry[1] == meaning(to_plain(module))
