"""Which handler modules the import of a module brings along."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from beskar_codegen.model import SourceModule


class ImportGraph:
    """The imports between modules of the project, as they run when a module is imported."""

    def __init__(self, modules: Mapping[str, SourceModule]) -> None:
        self._modules = modules
        self._answers: dict[str, str | None] = {}

    def handlers_behind(self, module: str) -> str | None:
        """A module with handlers that the import of *module* runs (maybe itself); the nearest one, or ``None``."""
        if module not in self._answers:
            self._answers[module] = self._nearest(module)
        return self._answers[module]

    def _nearest(self, start: str) -> str | None:
        pending = [start]
        seen = {start}
        for name in pending:  # grows while it is walked: breadth first
            module = self._modules.get(name)
            if module is None:
                continue
            if module.handlers:
                return name
            for other in (*_packages(name), *module.imports):
                for each in (other, *_packages(other)):
                    if each not in seen:
                        seen.add(each)
                        pending.append(each)
        return None


def _packages(name: str) -> Iterator[str]:
    parts = name.split(".")
    return (".".join(parts[:count]) for count in range(1, len(parts)))
