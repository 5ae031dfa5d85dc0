"""Small modules, each held against the rules twice: imported for real, and read.

A case is a name, the code of the rule that the decorator breaks with (``None``: none), and the module. What stands
before each module is :data:`HEADER`; it is one line, so that lines count from the second.
"""

from __future__ import annotations

from typing import Final

HEADER: Final = (
    "import attrs, dataclasses, datetime, decimal, enum, typing, uuid, abc, functools, pathlib, collections.abc; "
    "import collections, beskar_jobs as bj; from typing import AbstractSet, Annotated, Any, Awaitable, Callable, "
    "ClassVar, Dict, Final, Generic, IO, Iterable, List, Literal, NamedTuple, NewType, NoReturn, NotRequired, "
    "Optional, Pattern, Required, Sequence, TypedDict, TypeVar, TYPE_CHECKING, Union; "
    "from beskar_jobs import JobContext, JobHandler, JobHandlerWithResult, Retry, job_handler, recurring\n"
)

_ARGS: Final = """
@attrs.frozen
class Args:
    name: str

@attrs.frozen
class Result:
    size: int
"""


def _args_of(field: str) -> str:
    """A handler whose arguments have one field of the given type."""
    return f"""
@attrs.frozen
class Inner:
    size: int

class Colour(enum.Enum):
    RED = "red"

class Other(enum.Enum):
    A = "a"

@attrs.frozen
class Args:
    value: {field}

@job_handler("x")
class AJobHandler(JobHandler[Args]):
    def execute(self, context: JobContext[Args]) -> None: ...
"""


def _decorated(decorator: str) -> str:
    return f"""{_ARGS}
@{decorator}
class AJobHandler(JobHandler[Args]):
    async def execute(self, context: JobContext[Args]) -> None: ...
"""


def _recurring(*decorators: str, field: str = "name: str = 'x'") -> str:
    """A handler with each of *decorators* in its own line."""
    lines = "\n".join(f"@{decorator}" for decorator in decorators)
    return f"""
@attrs.frozen
class Args:
    {field}

{lines}
class AJobHandler(JobHandler[Args]):
    async def execute(self, context: JobContext[Args]) -> None: ...
"""


_H: Final = 'job_handler("x")'


def _class(statement: str) -> str:
    return f"""{_ARGS}
T = TypeVar("T")
R = TypeVar("R")

class Base(JobHandlerWithResult[T, list[R]], Generic[R, T]):
    pass

class Mixin:
    pass

class Plain(JobHandler[T]):
    def execute(self, context: JobContext[T]) -> None: ...

@job_handler("x")
{statement}
"""


def _execute(method: str, base: str = "JobHandlerWithResult[Args, Result]") -> str:
    return f"""{_ARGS}
@job_handler("x")
class AJobHandler({base}):
    {method}
"""


CASES: Final[list[tuple[str, str | None, str]]] = [
    ("fine", None, _decorated('job_handler("mail.send")')),
    (
        "all options",
        None,
        _decorated('job_handler("m", queue="q", priority=-3, retry=Retry(3), timeout=1.5, version=2)'),
    ),
    ("by keyword", None, _decorated('job_handler(job_type="m")')),
    ("by attribute", None, _decorated('bj.job_handler("m")')),
    # 001
    (
        "in a function",
        "JOBGEN001",
        _ARGS
        + """
def make():
    @job_handler("x")
    class AJobHandler(JobHandler[Args]):
        def execute(self, context): ...
make()
""",
    ),
    (
        "in a class",
        None,
        _ARGS
        + """
class Outer:
    @job_handler("x")
    class AJobHandler(JobHandler[Args]):
        def execute(self, context): ...
""",
    ),
    (
        "types in a class",
        None,
        """
class Outer:
    @attrs.frozen
    class Args:
        name: str
    @job_handler("x")
    class AJobHandler(JobHandler[Args]):
        def execute(self, context): ...
""",
    ),
    # 002, 003
    ("empty job type", "JOBGEN002", _decorated('job_handler("")')),
    ("blank job type", "JOBGEN002", _decorated('job_handler(" \\t")')),
    ("empty queue", "JOBGEN003", _decorated('job_handler("x", queue="")')),
    ("blank queue", "JOBGEN003", _decorated('job_handler("x", queue="  ")')),
    ("blank queue behind a name", "JOBGEN003", 'Q = " "\n' + _decorated('job_handler("x", queue=Q)')),
    # 004
    ("no handler", "JOBGEN004", _class("class A:\n    def execute(self, context): ...")),
    ("bare base", "JOBGEN004", _class("class A(JobHandler):\n    def execute(self, context): ...")),
    (
        "bare base with result",
        "JOBGEN004",
        _class("class A(JobHandlerWithResult):\n    def execute(self, context): ..."),
    ),
    ("open type", "JOBGEN004", _class("class A(JobHandler[T]):\n    def execute(self, context): ...")),
    (
        "open result",
        "JOBGEN004",
        _class("class A(JobHandlerWithResult[Args, R]):\n    def execute(self, context): ..."),
    ),
    ("open within", "JOBGEN004", _class("class A(JobHandler[list[T]]):\n    def execute(self, context): ...")),
    ("open base of ours", "JOBGEN004", _class("class A(Base):\n    def execute(self, context): ...")),
    ("half open base", "JOBGEN004", _class("class A(Base[R, Args]):\n    def execute(self, context): ...")),
    ("through a base", None, _class("class A(Base[int, Args]):\n    def execute(self, context) -> list[int]: ...")),
    ("execute inherited", None, _class("class A(Plain[Args]): ...")),
    (
        "quoted",
        None,
        _class('class A(JobHandlerWithResult["Args", "dict[str, Result]"]):\n    def execute(self, c): ...'),
    ),
    ("quoted and unknown", "JOBGEN004", _class('class A(JobHandler["Nothing"]):\n    def execute(self, c): ...')),
    ("mixin first", None, _class("class A(Mixin, JobHandler[Args]):\n    def execute(self, c): ...")),
    ("result None", None, _class("class A(JobHandlerWithResult[Args, None]):\n    def execute(self, c) -> None: ...")),
    (
        "alias of the base",
        None,
        _ARGS
        + """
MyBase = JobHandler[Args]
@job_handler("x")
class A(MyBase):
    def execute(self, context): ...
""",
    ),
    # 005
    (
        "job type twice",
        "JOBGEN005",
        _decorated('job_handler("x")') + _decorated('job_handler("x")').replace("AJob", "BJob"),
    ),
    ("same class again", None, _decorated('job_handler("x")') + _decorated('job_handler("x")')),
    # 006, 007
    *[
        (f"job type {text!r}", "JOBGEN006", _decorated(f"job_handler({text})"))
        for text in ('"a/b"', '"a+"', '"#"', '"a\\0"', '"$a"', '" a"', '"x" * 201', "5", "None")
        if "*" not in text
    ],
    *[
        (f"queue {text}", "JOBGEN007", _decorated(f'job_handler("x", queue={text})'))
        for text in ('"a/b"', "None", "5", "b'q'")
        if not text.startswith("b")
    ],
    # 008
    *[
        (f"field {field}", None, _args_of(field))
        for field in (
            "int",
            "'int'",
            "float | None",
            "Optional[str]",
            "list[Inner]",
            "dict[str, Inner]",
            "dict[int, str]",
            "dict[uuid.UUID, str]",
            "dict[Colour, int]",
            "tuple[int, ...]",
            "tuple[int, str]",
            "tuple[()]",
            "frozenset[int]",
            "datetime.datetime",
            "datetime.timedelta",
            "decimal.Decimal",
            "bytes",
            "Colour",
            "Colour | int",
            "Literal['a', 'b']",
            "Literal[Colour.RED]",
            "Literal['a', 1, None]",
            "List[Dict[str, int]]",
            "collections.abc.Mapping[str, int]",
            "collections.abc.MutableSequence[int]",
            "Annotated[int, 'x']",
            "Inner | str",
            "Inner | int | None",
            "Union[int, str, None]",
            "typing.Union[Inner, list[int]]",
            "Final[int]",
            "int | Literal['a']",
        )
    ],
    *[
        (f"field {field}", "JOBGEN008", _args_of(field))
        for field in (
            "Any",
            "object",
            "list[Any]",
            "list",
            "dict",
            "tuple",
            "List",
            "Sequence[int]",
            "Iterable[int]",
            "AbstractSet[int]",
            "Callable[[], int]",
            "IO[bytes]",
            "complex",
            "type[int]",
            "pathlib.Path",
            "dict[float, int]",
            "dict[bool, int]",
            "dict[tuple[int, int], int]",
            "dict[Inner, int]",
            "str | datetime.datetime",
            "uuid.UUID | decimal.Decimal",
            "Colour | Other",
            "Literal['a'] | str",
            "list[int] | tuple[int, ...]",
            "int | Literal[1]",
            "Inner | dict[str, int]",
            "Literal[b'a']",
            "Literal['red', Colour.RED]",
            "'Missing'",
            "list['Missing']",
            "collections.OrderedDict[str, int]",
            "Pattern[str]",
            "bytearray",
            "range",
            "Exception",
        )
    ],
    (
        "arguments that are no class",
        None,
        _class("class A(JobHandler[dict[str, int]]):\n    def execute(self, c): ..."),
    ),
    ("arguments int", None, _class("class A(JobHandler[int]):\n    def execute(self, c): ...")),
    ("arguments None", None, _class("class A(JobHandler[None]):\n    def execute(self, c): ...")),
    ("arguments Any", "JOBGEN008", _class("class A(JobHandler[Any]):\n    def execute(self, c): ...")),
    (
        "plain class",
        "JOBGEN008",
        """
class Args:
    def __init__(self, x: int) -> None: ...
@job_handler("x")
class A(JobHandler[Args]):
    def execute(self, context): ...
""",
    ),
    (
        "field not in the constructor",
        "JOBGEN008",
        """
@attrs.define
class Args:
    size: int
    twice: int = attrs.field(init=False, default=0)
@job_handler("x")
class A(JobHandler[Args]):
    def execute(self, context): ...
""",
    ),
    (
        "field not compared",
        None,
        """
@attrs.define
class Args:
    size: int
    twice: int = attrs.field(init=False, default=0, eq=False)
@job_handler("x")
class A(JobHandler[Args]):
    def execute(self, context): ...
""",
    ),
    (
        "InitVar",
        "JOBGEN008",
        """
@dataclasses.dataclass
class Args:
    size: int
    scale: dataclasses.InitVar[int]
@job_handler("x")
class A(JobHandler[Args]):
    def execute(self, context): ...
""",
    ),
    (
        "constructor of one's own",
        "JOBGEN008",
        """
@attrs.define(init=False)
class Args:
    size: int
    def __init__(self, text: str) -> None: ...
@job_handler("x")
class A(JobHandler[Args]):
    def execute(self, context): ...
""",
    ),
    (
        "constructor that fits",
        None,
        """
@attrs.define(init=False)
class Args:
    size: int
    def __init__(self, size: int, more: int = 0) -> None: ...
@job_handler("x")
class A(JobHandler[Args]):
    def execute(self, context): ...
""",
    ),
    (
        "field called _type",
        "JOBGEN008",
        """
@attrs.frozen
class Args:
    _type: str
@job_handler("x")
class A(JobHandler[Args]):
    def execute(self, context): ...
""",
    ),
    (
        "private field",
        None,
        """
@attrs.frozen
class Args:
    _size: int
@job_handler("x")
class A(JobHandler[Args]):
    def execute(self, context): ...
""",
    ),
    (
        "only for checkers",
        "JOBGEN008",
        """
if TYPE_CHECKING:
    from fractions import Fraction
@attrs.frozen
class Args:
    share: "Fraction"
@job_handler("x")
class A(JobHandler[Args]):
    def execute(self, context): ...
""",
    ),
    (
        "recursive",
        None,
        """
@attrs.frozen
class Node:
    children: "list[Node]"
    next: Optional["Node"] = None
@job_handler("x")
class A(JobHandler[Node]):
    def execute(self, context): ...
""",
    ),
    (
        "inherited bad field",
        "JOBGEN008",
        """
@attrs.frozen
class Base:
    anything: Any
@attrs.frozen
class Args(Base):
    size: int
@job_handler("x")
class A(JobHandler[Args]):
    def execute(self, context): ...
""",
    ),
    (
        "generic arguments",
        None,
        """
T = TypeVar("T")
@attrs.frozen
class Page(Generic[T]):
    items: list[T]
@job_handler("x")
class A(JobHandler[Page[int]]):
    def execute(self, context: JobContext[Page[int]]) -> None: ...
""",
    ),
    (
        "generic arguments left open",
        "JOBGEN008",
        """
T = TypeVar("T")
@attrs.frozen
class Page(Generic[T]):
    items: list[T]
@job_handler("x")
class A(JobHandler[Page]):
    def execute(self, context): ...
""",
    ),
    (
        "generic base of arguments",
        None,
        """
T = TypeVar("T")
@attrs.frozen
class Page(Generic[T]):
    items: list[T]
@attrs.frozen
class Users(Page[str]):
    total: int
@job_handler("x")
class A(JobHandler[Users]):
    def execute(self, context): ...
""",
    ),
    (
        "dataclass",
        None,
        """
@dataclasses.dataclass(frozen=True, kw_only=True)
class Args:
    size: int = 3
    names: list[str] = dataclasses.field(default_factory=list)
    kind: ClassVar[int] = 3
@job_handler("x")
class A(JobHandler[Args]):
    def execute(self, context): ...
""",
    ),
    (
        "dataclass with KW_ONLY",
        None,
        """
@dataclasses.dataclass
class Args:
    size: int
    _: dataclasses.KW_ONLY
    name: str = ""
@job_handler("x")
class A(JobHandler[Args]):
    def execute(self, context): ...
""",
    ),
    (
        "named tuple",
        None,
        """
class Args(NamedTuple):
    size: int
    name: str = ""
@job_handler("x")
class A(JobHandler[Args]):
    def execute(self, context): ...
""",
    ),
    (
        "typed dict",
        None,
        """
class Args(TypedDict, total=False):
    size: Required[int]
    name: str
@job_handler("x")
class A(JobHandler[Args]):
    def execute(self, context): ...
""",
    ),
    (
        "typed dict with anything",
        "JOBGEN008",
        """
class Args(TypedDict):
    size: NotRequired[Any]
@job_handler("x")
class A(JobHandler[Args]):
    def execute(self, context): ...
""",
    ),
    (
        "new type",
        None,
        """
UserId = NewType("UserId", int)
@attrs.frozen
class Args:
    user: UserId
@job_handler("x")
class A(JobHandler[Args]):
    def execute(self, context): ...
""",
    ),
    (
        "new type of anything",
        "JOBGEN008",
        """
Thing = NewType("Thing", object)
@attrs.frozen
class Args:
    thing: Thing
@job_handler("x")
class A(JobHandler[Args]):
    def execute(self, context): ...
""",
    ),
    (
        "alias",
        None,
        """
Names = list[str] | None
@attrs.frozen
class Args:
    names: Names
@job_handler("x")
class A(JobHandler[Args]):
    def execute(self, context): ...
""",
    ),
    (
        "generic alias",
        None,
        """
T = TypeVar("T")
Many = list[T] | dict[str, T]
@attrs.frozen
class Args:
    names: Many[int]
@job_handler("x")
class A(JobHandler[Args]):
    def execute(self, context): ...
""",
    ),
    (
        "classes of one name",
        "JOBGEN008",
        """
class One:
    @attrs.frozen
    class Video:
        a: int
class Two:
    @attrs.frozen
    class Video:
        b: int
@attrs.frozen
class Args:
    video: One.Video | Two.Video
@job_handler("x")
class A(JobHandler[Args]):
    def execute(self, context): ...
""",
    ),
    # 009
    ("result Any", "JOBGEN009", _class("class A(JobHandlerWithResult[Args, Any]):\n    def execute(self, c): ...")),
    (
        "result of a path",
        "JOBGEN009",
        _class("class A(JobHandlerWithResult[Args, pathlib.Path]):\n    def execute(self, c): ..."),
    ),
    # 010
    *[
        (f"execute: {method}", None, _execute(method))
        for method in (
            "def execute(self, context): return 1",
            "async def execute(self, context: JobContext[Args]) -> Result: ...",
            "async def execute(self, context: 'JobContext[Args]') -> 'Result': ...",
            "def execute(self, context: JobContext[Args], retries: int = 3, *more: Any, **options: Any) -> Result: ...",
            "def execute(self, context: JobContext[Any]) -> Any: ...",
            "def execute(self, context: JobContext) -> Result: ...",
            "def execute(self, context: JobContext[Args], /) -> Result: ...",
            "def execute(self, context: 'Nothing') -> 'Unknown': ...",
            "def execute(self, context: JobContext[Args]) -> Awaitable[Result]: ...",
            "def execute(self, context: JobContext[Args]) -> collections.abc.Coroutine[Any, Any, Result]: ...",
            "def execute(self, *everything): ...",
            "def execute(self, context) -> NoReturn: ...",
            "execute = lambda self, context: 1",
        )
    ],
    *[
        (f"execute: {method}", "JOBGEN010", _execute(method))
        for method in (
            "pass",
            "def execute(self, args: Args) -> Result: ...",
            "def execute(self, context: JobContext[Result]) -> Result: ...",
            "def execute(self) -> Result: ...",
            "def execute(self, context, more: int) -> Result: ...",
            "def execute(self, context, *, more: int) -> Result: ...",
            "def execute(self, context: JobContext[Args]) -> Args: ...",
            "def execute(self, context: JobContext[Args]) -> None: ...",
            "async def execute(self, context: JobContext[Args]) -> Awaitable[Result]: ...",
            "def execute(self, context): yield 1",
            "async def execute(self, context): yield 1",
            "execute = 5",
            "@staticmethod\n    def execute(context): ...",
            "@classmethod\n    def execute(cls, context): ...",
            "@property\n    def execute(self): ...",
            "@abc.abstractmethod\n    def execute(self, context): ...",
        )
    ],
    (
        "two spellings",
        None,
        _execute(
            "def execute(self, context: JobContext[list[Args]]) -> dict[str, int] | None: ...",
            "JobHandlerWithResult[Annotated[List[Args], 'many'], Optional[Dict[str, int]]]",
        ),
    ),
    (
        "yields within",
        None,
        _execute("def execute(self, context):\n        def inner():\n            yield 1\n        return inner"),
    ),
    # 011
    *[
        (f"option {option}", "JOBGEN011", _decorated(f'job_handler("x", {option})'))
        for option in (
            "priority='high'",
            "priority=True",
            "priority=10_000_000",
            "priority=1.5",
            "retry=3",
            "timeout=0",
            "timeout=-1.5",
            "timeout=True",
            "timeout='10s'",
            "restart_on_crash=1",
            "max_crashes=-1",
            "registry=3",
            "version=0",
            "version='2'",
            "restart_on_crash=None",
            "priority=None",
        )
    ],
    *[
        (f"option {option}", None, _decorated(f'job_handler("x", {option})'))
        for option in (
            "priority=+5",
            "retry=None",
            "timeout=None",
            "timeout=60 * 5",
            "timeout=datetime.timedelta(minutes=1)",
            "retry=Retry.exponential(3)",
            "restart_on_crash=False",
            "registry=None",
        )
    ],
    # 012
    ("bare", "JOBGEN012", _decorated("job_handler")),
    ("twice", "JOBGEN012", _decorated('job_handler("a")\n@job_handler("b")')),
    ("on a function", "JOBGEN012", "@job_handler('x')\ndef send(context): ...\n"),
    ("recurring above", None, _recurring('recurring("0 3 * * *", time_zone="Europe/Berlin")', _H)),
    ("recurring below", None, _recurring(_H, 'recurring("0 3 * * *")')),
    ("recurring by another name", "JOBGEN025", _recurring('bj.recurring("0 3 * *")', _H)),
    (
        "recurring with all options",
        None,
        _recurring(
            'recurring("0 3 * * *", time_zone="Asia/Tokyo", name="n", arguments=Args("y"), overlap="queue_next", '
            'misfire="fire_all", misfire_limit=7, start=datetime.datetime(2026, 1, 1, tzinfo=datetime.UTC), '
            "end=None, jitter=5)",
            _H,
        ),
    ),
    ("recurring bare", "JOBGEN024", _recurring("recurring", _H)),
    ("recurring on a function", "JOBGEN024", '@recurring("0 3 * * *")\ndef job(): ...\n'),
    ("recurring at no time of day", "JOBGEN025", _recurring('recurring("0 25 * * *")', _H)),
    ("recurring never", "JOBGEN025", _recurring('recurring("0 0 31 6 *")', _H)),
    ("recurring on a number", "JOBGEN025", _recurring("recurring(5)", _H)),
    ("recurring too often", "JOBGEN025", _recurring('recurring("@every 20ms")', _H)),
    ("recurring by an interval", None, _recurring('recurring("@every 15m")', _H)),
    ("recurring by hash", None, _recurring('recurring("H H * * *")', _H)),
    ("recurring in no zone", "JOBGEN025", _recurring('recurring("0 3 * * *", time_zone="Mars/Olympus")', _H)),
    ("recurring in a zone that is no text", "JOBGEN025", _recurring('recurring("0 3 * * *", time_zone=1)', _H)),
    ("recurring, times as constants", "JOBGEN025", 'AT = "61 * * * *"\n' + _recurring("recurring(AT)", _H)),
    ("recurring without arguments", "JOBGEN026", _recurring('recurring("0 3 * * *")', _H, field="name: str")),
    ("recurring without arguments, below", "JOBGEN026", _recurring(_H, 'recurring("0 3 * * *")', field="name: str")),
    (
        "recurring with arguments",
        None,
        _recurring('recurring("0 3 * * *", arguments=Args("a"))', _H, field="name: str"),
    ),
    (
        "recurring with a factory",
        None,
        _recurring('recurring("0 3 * * *")', _H, field="name: list[str] = attrs.field(factory=list)"),
    ),
    (
        "recurring text",
        "JOBGEN026",
        """
@recurring("0 3 * * *")
@job_handler("x")
class AJobHandler(JobHandler[str]):
    async def execute(self, context: JobContext[str]) -> None: ...
""",
    ),
    (
        "recurring nothing",
        None,
        """
@recurring("0 3 * * *")
@job_handler("x")
class AJobHandler(JobHandler[None]):
    async def execute(self, context: JobContext[None]) -> None: ...
""",
    ),
    ("recurring twice", "JOBGEN027", _recurring('recurring("0 3 * * *")', 'recurring("0 4 * * *")', _H)),
    ("recurring twice by names", None, _recurring('recurring("0 3 * * *")', _H, 'recurring("0 4 * * *", name="y")')),
    (
        "recurring twice, one named like the job type",
        "JOBGEN027",
        _recurring('recurring("0 3 * * *")', 'recurring("0 4 * * *", name="x")', _H),
    ),
    ("recurring by a bad name", "JOBGEN027", _recurring('recurring("0 3 * * *", name="a/b")', _H)),
    ("recurring by no name", "JOBGEN027", _recurring('recurring("0 3 * * *", name="")', _H)),
    ("recurring, overlap", "JOBGEN028", _recurring('recurring("0 3 * * *", overlap="never")', _H)),
    ("recurring, misfire", "JOBGEN028", _recurring('recurring("0 3 * * *", misfire=1)', _H)),
    ("recurring, misfire_limit", "JOBGEN028", _recurring('recurring("0 3 * * *", misfire_limit=0)', _H)),
    ("recurring, jitter", "JOBGEN028", _recurring('recurring("0 3 * * *", jitter=-1)', _H)),
    ("recurring, start", "JOBGEN028", _recurring('recurring("0 3 * * *", start="2026-01-01")', _H)),
]
