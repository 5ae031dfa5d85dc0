"""No-op jobs with a result, end to end: jobs per second, CPU per job and process, messages and bytes per job.

Beskar: Mosquitto, one scheduler with SQLite (WAL, synchronous=NORMAL, committed before anything is acknowledged), one
worker process; a client enqueues with ``enqueue_many`` and receives every result. In the same run Dramatiq: Redis, one
worker process (its default of 8 threads), results read back by the client. Each part runs in a process of its own, all
on this machine; the rates mean little on their own, their ratio is what counts.

    python benchmarks/job_throughput.py [--jobs 10000] [--rounds 3] [--json]
"""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import json
import os
import shutil
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import paho.mqtt.client as paho
from paho.mqtt.enums import CallbackAPIVersion
from rich.console import Console
from rich.table import Table

from beskar_jobs import JobClient
from beskar_jobs.testing.services import MosquittoServer

sys.path.insert(0, str(Path(__file__).parent))
from _noop import NoopArgs, NoopJobHandler

HERE = Path(__file__).parent
TICKS = os.sysconf("SC_CLK_TCK")


def cpu_seconds(pid: int) -> float:
    """User and system time of a process and its ended children, from /proc."""
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return sum(int(field) for field in fields[11:15]) / TICKS


class BrokerCounters:
    """Mosquitto's own count of messages and bytes (``$SYS``, published every second)."""

    NAMES = ("messages/received", "messages/sent", "bytes/received", "bytes/sent")

    def __init__(self, port: int) -> None:
        self._values: dict[str, int] = dict.fromkeys(self.NAMES, 0)
        self._client = paho.Client(CallbackAPIVersion.VERSION2)
        self._client.on_message = self._on_message
        self._client.connect("127.0.0.1", port)
        self._client.subscribe("$SYS/broker/#")
        self._client.loop_start()

    def _on_message(self, _client: paho.Client, _data: object, message: paho.MQTTMessage) -> None:
        name = message.topic.removeprefix("$SYS/broker/")
        if name in self._values:
            self._values[name] = int(message.payload)

    def read(self) -> dict[str, int]:
        time.sleep(2.5)  # two of Mosquitto's intervals: what happened before is counted by then
        return dict(self._values)

    def close(self) -> None:
        self._client.loop_stop()


class Meter:
    """CPU of several processes over the measured stretch."""

    def __init__(self, pids: dict[str, int]) -> None:
        self._pids = pids
        self._before = {name: cpu_seconds(pid) for name, pid in pids.items()}
        self._started = time.perf_counter()

    def stop(self, jobs: int) -> dict[str, Any]:
        seconds = time.perf_counter() - self._started
        cpu = {name: round((cpu_seconds(pid) - self._before[name]) / jobs * 1e6) for name, pid in self._pids.items()}
        return {"jobs_per_second": round(jobs / seconds), "cpu_us_per_job": cpu, "cpu_us_total": sum(cpu.values())}


@contextlib.contextmanager
def process(*command: str, ready: str | None = None, **environment: str) -> Iterator[subprocess.Popen[str]]:
    child = subprocess.Popen(
        command, stdout=subprocess.PIPE if ready else subprocess.DEVNULL, text=True, env={**os.environ, **environment}
    )
    try:
        if ready and child.stdout is not None:
            for line in child.stdout:
                if ready in line:
                    break
        yield child
    finally:
        child.terminate()
        try:
            child.wait(10)
        except subprocess.TimeoutExpired:
            child.kill()
            child.wait()


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port


async def beskar_rounds(url: str, pids: dict[str, int], jobs: int, rounds: int) -> list[dict[str, Any]]:
    figures = []
    async with JobClient(url, request_timeout=60) as client:
        await run_beskar(client, jobs // 10)  # warm up
        counters = BrokerCounters(int(url.rpartition(":")[2]))
        before = await asyncio.to_thread(counters.read)
        for _ in range(rounds):
            meter = Meter(pids | {"client": os.getpid()})
            await run_beskar(client, jobs)
            figures.append(meter.stop(jobs))
        after = await asyncio.to_thread(counters.read)
        counters.close()
    traffic = {name: round((after[name] - before[name]) / jobs / rounds, 2) for name in counters.NAMES}
    return [figure | {"broker_per_job": traffic} for figure in figures]


async def run_beskar(client: JobClient, jobs: int) -> None:
    handles = await client.enqueue_many(NoopJobHandler.request(NoopArgs(number)) for number in range(jobs))
    results = await asyncio.gather(*(handle.result(timeout=120) for handle in handles))
    assert [result.number for result in results] == list(range(jobs))


def beskar(jobs: int, rounds: int, concurrency: int) -> list[dict[str, Any]]:
    with tempfile.TemporaryDirectory() as folder:
        broker = MosquittoServer(settings=("sys_interval 1", "max_inflight_messages 1000"))
        script = str(HERE / "_noop.py")
        try:
            with (
                process(
                    sys.executable, script, "scheduler", broker.url, f"sqlite:///{folder}/jobs.db", ready="ready"
                ) as scheduler,
                process(sys.executable, script, "worker", broker.url, str(concurrency), ready="ready") as worker,
            ):
                pids = {"broker": broker.pid, "scheduler": scheduler.pid, "worker": worker.pid}
                return asyncio.run(beskar_rounds(broker.url, pids, jobs, rounds))
        finally:
            broker.stop()


def dramatiq(jobs: int, rounds: int) -> list[dict[str, Any]]:
    redis = shutil.which("redis-server") or sys.exit("redis-server is missing; apt-get install redis-server")
    port = free_port()
    url = f"redis://127.0.0.1:{port}/0"
    os.environ["BENCH_REDIS_URL"] = url
    with (
        process(redis, "--port", str(port), "--bind", "127.0.0.1", "--save", "", ready="Ready to accept") as server,
        process(
            sys.executable,
            "-m",
            "dramatiq",
            "_dramatiq_noop",
            "--processes",
            "1",
            "--path",
            str(HERE),
            BENCH_REDIS_URL=url,
        ) as worker,
    ):
        from _dramatiq_noop import noop  # noqa: PLC0415  # it connects to the server that was just started

        def run(count: int) -> None:
            messages = [noop.send(number) for number in range(count)]
            for number, message in enumerate(messages):
                assert message.get_result(block=True, timeout=120_000) == {"number": number}

        run(jobs // 10)
        child = worker_child(worker.pid)
        figures = []
        for _ in range(rounds):
            meter = Meter({"redis": server.pid, "worker": child, "client": os.getpid()})
            run(jobs)
            figures.append(meter.stop(jobs))
        return figures


def worker_child(parent: int) -> int:
    """Dramatiq's one worker process; its parent only watches."""
    children = Path(f"/proc/{parent}/task/{parent}/children").read_text().split()
    return max((int(child) for child in children), key=cpu_seconds)


def best(figures: list[dict[str, Any]]) -> dict[str, Any]:
    return max(figures, key=lambda figure: figure["jobs_per_second"])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--jobs", type=int, default=10_000)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--concurrency", type=int, default=64, help="slots of the Beskar worker")
    parser.add_argument("--only", choices=["beskar", "dramatiq"])
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    results: dict[str, Any] = {}
    if options.only != "dramatiq":
        results["beskar"] = best(beskar(options.jobs, options.rounds, options.concurrency))
    if options.only != "beskar":
        results["dramatiq"] = best(dramatiq(options.jobs, options.rounds))
    if len(results) == 2:
        results["ratio"] = round(results["beskar"]["jobs_per_second"] / results["dramatiq"]["jobs_per_second"], 2)
    if options.json:
        print(json.dumps(results))
        return
    table = Table("engine", "jobs/s", "CPU µs per job", "by process", title=f"{options.jobs} no-op jobs with a result")
    for name in ("beskar", "dramatiq"):
        if name in results:
            figure = results[name]
            parts = ", ".join(f"{part} {cpu}" for part, cpu in figure["cpu_us_per_job"].items())
            table.add_row(name, f"{figure['jobs_per_second']:,}", str(figure["cpu_us_total"]), parts)
    console = Console()
    console.print(table)
    if "beskar" in results:
        traffic = ", ".join(f"{name} {count}" for name, count in results["beskar"]["broker_per_job"].items())
        console.print(f"broker, per job: {traffic}")
    if "ratio" in results:
        console.print(f"beskar / dramatiq = {results['ratio']}")


if __name__ == "__main__":
    main()
