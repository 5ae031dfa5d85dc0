-- Jobs: one row each. The columns before "status" are what was asked for and never change; the rest is how a job stands.
-- What is compared, sorted or counted has a column; the rest is JSON, read as a whole, with defaults left out. Few columns
-- are what makes a change cheap: each of them is handed over, copied and packed for every job.
-- Times are whole microseconds since 1970 in UTC.

CREATE TABLE beskar_jobs (
    row         INTEGER PRIMARY KEY,
    id          TEXT    NOT NULL UNIQUE,
    job_type    TEXT    NOT NULL,
    queue       TEXT    NOT NULL,
    arguments   BLOB    NOT NULL,
    options     TEXT,                   -- JSON: run_at, retry, timeout, metadata, traceparent
    created_at  INTEGER NOT NULL,
    priority    INTEGER NOT NULL,
    sequence    INTEGER NOT NULL,
    status      TEXT    NOT NULL,
    waiting_for TEXT,
    due_at      INTEGER NOT NULL,
    updated_at  INTEGER NOT NULL,
    version     INTEGER NOT NULL,
    state       TEXT,                   -- JSON: fence, attempt, failures, crashes, worker, started_at, failure, ...
    policy      TEXT,                   -- JSON
    result      BLOB
);

-- The latest jobs first, and the highest sequence. Its columns never change, so a change does not touch it.
CREATE INDEX beskar_jobs_sequence ON beskar_jobs (sequence);

-- The others are partial: a job stands in the index of its status only, and a change moves it from one to the next.
CREATE INDEX beskar_jobs_ready ON beskar_jobs (queue, job_type, priority DESC, due_at, sequence)
    WHERE status = 'enqueued';

CREATE INDEX beskar_jobs_due ON beskar_jobs (due_at, sequence)
    WHERE status = 'scheduled' AND waiting_for IN ('time', 'retry');

CREATE INDEX beskar_jobs_scheduled ON beskar_jobs (sequence, queue)
    WHERE status = 'scheduled';

CREATE INDEX beskar_jobs_active ON beskar_jobs (sequence)
    WHERE status IN ('dispatched', 'running');

CREATE INDEX beskar_jobs_ended ON beskar_jobs (status, sequence, queue)
    WHERE status IN ('succeeded', 'dead_lettered', 'cancelled');
