import attrs


@attrs.frozen
class Moved:
    x: int
