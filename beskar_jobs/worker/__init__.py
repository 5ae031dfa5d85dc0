"""The worker process: claims jobs and runs their handlers.

Two threads share the work, so that user code cannot starve the protocol:

* the *engine* thread (:mod:`.engine`) has an event loop of its own for everything that talks to the broker: presence,
  claims, events, acknowledgements. A handler that blocks for minutes costs the worker neither heartbeat nor keep-alive.
* handlers run where users expect them (:mod:`.execution`): ``async def`` on the event loop on which the worker was
  started, where a user's pools and sessions live; ``def`` in threads.

What passes between them is handed over in batches, one wake-up for all that is pending.
"""

from beskar_jobs.worker.worker import JobWorker

__all__ = ["JobWorker"]
