"""A class with the name of another one."""

import attrs


@attrs.frozen
class Moved:
    path: str


@attrs.frozen
class MoveArgs:
    moved: Moved
