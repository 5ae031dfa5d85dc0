"""The media example: its handler on the real photographs, and the whole demo with its killed worker."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

import attrs
import pytest
from PIL import Image, UnidentifiedImageError

from beskar_jobs import JobContext
from beskar_jobs.model.job import JobId
from examples.media.handlers import ImageThumbnailsJobHandler
from examples.media.jobs import ImageThumbnails
from examples.media.types import ImageFormat, Shape, ThumbnailArgs, ThumbnailResult

ROOT = Path(__file__).resolve().parents[2]
PHOTOS = sorted((ROOT / "examples/media/photos").glob("*.jpg"))


@attrs.define
class RecordingLink:
    """Keeps what the handler reports; nobody cancels it."""

    percents: list[float] = attrs.field(factory=list)
    cancel_reason: str | None = None

    def report_progress(self, percent: float, message: str) -> None:
        assert message
        self.percents.append(percent)


async def make(
    source: Path, output: Path, shape: Shape = Shape.ORIGINAL, *, attempt: int = 1, link: RecordingLink | None = None
) -> ThumbnailResult:
    arguments = ThumbnailArgs(str(source), str(output), shape, (96, 48), (ImageFormat.WEBP, ImageFormat.JPEG))
    context = JobContext(
        arguments=arguments, job_id=JobId("job-1"), attempt=attempt, link=link if link is not None else RecordingLink()
    )
    return await ImageThumbnailsJobHandler().execute(context)


def contents(folder: Path) -> Sequence[tuple[str, bytes]]:
    return [(path.name, path.read_bytes()) for path in sorted(folder.iterdir())]


@pytest.mark.parametrize("photo", PHOTOS, ids=lambda path: path.stem)
async def test_every_photograph_gives_pictures_of_the_sizes_asked_for(photo: Path, tmp_path: Path) -> None:
    result = await make(photo, tmp_path)
    assert [Path(made.path).name for made in result.thumbnails] == [
        f"{photo.stem}-original-{width}.{suffix}" for width in (96, 48) for suffix in ("webp", "jpg")
    ]
    for made in result.thumbnails:
        with Image.open(made.path) as picture:
            assert picture.size == (made.width, made.height)
        assert Path(made.path).stat().st_size == made.size_bytes
    assert len(list(tmp_path.iterdir())) == 4


@pytest.mark.parametrize(("shape", "ratio"), [(Shape.SQUARE, 1.0), (Shape.WIDE, 16 / 9)])
async def test_shapes_have_their_proportions(shape: Shape, ratio: float, tmp_path: Path) -> None:
    for photo in PHOTOS:
        for made in (await make(photo, tmp_path, shape)).thumbnails:
            assert made.width / made.height == pytest.approx(ratio, abs=0.05)


async def test_progress_grows_to_a_hundred(tmp_path: Path) -> None:
    link = RecordingLink()
    await make(PHOTOS[0], tmp_path, link=link)
    assert link.percents == [25.0, 50.0, 75.0, 100.0]


async def test_a_second_run_makes_the_same_files_and_clears_what_the_first_left_half_written(tmp_path: Path) -> None:
    first = await make(PHOTOS[0], tmp_path)
    before = contents(tmp_path)
    (tmp_path / f".{PHOTOS[0].stem}-original-96.webp.job-1.1.part").write_bytes(b"half a picture")
    assert await make(PHOTOS[0], tmp_path, attempt=2) == first
    assert contents(tmp_path) == before


async def test_another_job_s_unfinished_file_is_left_alone(tmp_path: Path) -> None:
    other = tmp_path / ".rocket-wide-96.webp.job-2.1.part"
    other.write_bytes(b"in the making")
    await make(PHOTOS[0], tmp_path)
    assert other.read_bytes() == b"in the making"


async def test_what_is_no_picture_fails_the_attempt(tmp_path: Path) -> None:
    with pytest.raises(UnidentifiedImageError):
        await make(ROOT / "README.md", tmp_path)


def test_descriptor_and_handler_agree() -> None:
    request = ImageThumbnails(source="a.jpg", output_dir="out")
    made_by_handler = ImageThumbnailsJobHandler.request(ThumbnailArgs("a.jpg", "out"))
    assert request == made_by_handler
    assert (request.args_type, request.result_type) == (made_by_handler.args_type, made_by_handler.result_type)


def test_descriptors_stubs_and_contract_are_those_that_the_generator_writes() -> None:
    command = [str(Path(sys.executable).with_name("beskar-codegen")), "check", "--no-cache"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=100, check=False)
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")


DEMO_THAT_TELLS_ITS_MODULES = """
import atexit, pathlib, runpy, sys
target = pathlib.Path(sys.argv.pop())
atexit.register(lambda: target.write_text("\\n".join(sys.modules)))
runpy.run_module("examples.media.demo", run_name="__main__", alter_sys=True)
"""


@pytest.mark.timeout(260)
def test_the_demo_kills_a_worker_and_every_job_still_has_one_result_and_its_client_knows_no_handler(
    tmp_path: Path,
) -> None:
    loaded = tmp_path / "modules"
    ran = subprocess.run(
        [sys.executable, "-c", DEMO_THAT_TELLS_ITS_MODULES, str(loaded)],
        cwd=ROOT,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=240,
        check=False,
    )
    assert ran.returncode == 0, ran.stdout + ran.stderr
    assert "SIGKILL" in ran.stdout
    assert "each picture was made, and counted once" in ran.stdout.replace("\n", " ")
    modules = set(loaded.read_text().split())
    assert "examples.media.jobs" in modules
    assert "examples.media.handlers" not in modules
    assert not [name for name in modules if name.partition(".")[0] in {"PIL", "beskar_codegen", "libcst"}]
