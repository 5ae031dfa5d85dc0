import attrs


@attrs.frozen
class Moved:
    path: str
