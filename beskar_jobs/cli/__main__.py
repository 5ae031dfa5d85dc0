"""``python -m beskar_jobs.cli`` is ``beskar``; so a group of workers starts its processes."""

from beskar_jobs.cli import main

main()
