-- Named queries of the SQLite storage. "-- name:" starts one, followed by its purpose; "-- fragment:" starts a text that
-- queries include as {name}. {rows} stands for as many parenthesised rows of parameters as are written at once.
--
-- Queries that read many rows give them back as one JSON text, in one step: between two steps the database gives up the
-- interpreter's lock, and would have to wait for it again at every row while the event loop is busy.

-- fragment: job
-- The columns of a job in the order that rows.py reads them; bytes as hexadecimal digits.
json_array(
    id, job_type, queue, hex(arguments), options, created_at, priority, sequence,
    status, waiting_for, due_at, updated_at, version, state, policy, iif(result IS NULL, NULL, hex(result))
)

-- name: insert_jobs
-- Write new jobs; one whose id is there already is left out.
INSERT INTO beskar_jobs (
    id, job_type, queue, arguments, options, created_at, priority, sequence,
    status, waiting_for, due_at, updated_at, version, state, policy, result
)
VALUES {rows}
ON CONFLICT (id) DO NOTHING

-- name: change_jobs
-- Write how jobs stand now, where the stored version is the expected one. No id may come twice.
WITH new (id, expected_version, status, waiting_for, due_at, updated_at, version, state, policy, result) AS (
    VALUES {rows}
)
UPDATE beskar_jobs
SET status = new.status,
    waiting_for = new.waiting_for,
    due_at = new.due_at,
    updated_at = new.updated_at,
    version = new.version,
    state = new.state,
    policy = new.policy,
    result = new.result
FROM new
WHERE beskar_jobs.id = new.id AND beskar_jobs.version = new.expected_version

-- name: versions
-- Which version each of these jobs has; unknown ids are left out.
SELECT json_group_array(json_array(id, version))
FROM beskar_jobs
WHERE id IN (SELECT value FROM json_each(:ids))

-- name: get
-- The jobs with these ids, in no order; unknown ids are left out.
SELECT json_group_array({job})
FROM beskar_jobs
WHERE id IN (SELECT value FROM json_each(:ids))

-- name: ready
-- The first jobs of a lane, in the order in which they are to run.
SELECT json_group_array({job})
FROM (
    SELECT * FROM beskar_jobs
    WHERE status = 'enqueued' AND queue = :queue AND job_type = :job_type
    ORDER BY priority DESC, due_at, sequence
    LIMIT :limit
)

-- name: lanes
-- How many jobs each lane has.
SELECT json_group_array(json_array(queue, job_type, jobs))
FROM (
    SELECT queue, job_type, count(*) AS jobs FROM beskar_jobs
    WHERE status = 'enqueued'
    GROUP BY queue, job_type
)

-- name: due
-- Jobs that wait for the clock, and whose time has come.
SELECT json_group_array({job})
FROM (
    SELECT * FROM beskar_jobs
    WHERE status = 'scheduled' AND waiting_for IN ('time', 'retry') AND due_at <= :now
    ORDER BY due_at, sequence
    LIMIT :limit
)

-- name: next_due
-- When the next job that waits for the clock is due, after a time.
SELECT min(due_at) FROM beskar_jobs
WHERE status = 'scheduled' AND waiting_for IN ('time', 'retry') AND due_at > :after

-- name: active
-- The jobs that a worker has, or is being offered.
SELECT json_group_array({job})
FROM (
    SELECT * FROM beskar_jobs
    WHERE status IN ('dispatched', 'running')
    ORDER BY sequence
)

-- fragment: page
-- The rest of every query that finds jobs: the filter, the place to go on from, and the order.
    AND (:queue IS NULL OR queue = :queue)
    AND (:job_type IS NULL OR job_type = :job_type)
    AND sequence < :before
    ORDER BY sequence DESC
    LIMIT :limit

-- name: find_any
-- Jobs in any status, latest first.
SELECT json_group_array({job})
FROM (
    SELECT * FROM beskar_jobs
    WHERE TRUE
    {page}
)

-- name: find_scheduled
-- Scheduled jobs, latest first.
SELECT json_group_array({job})
FROM (
    SELECT * FROM beskar_jobs INDEXED BY beskar_jobs_scheduled
    WHERE status = 'scheduled'
    {page}
)

-- name: find_enqueued
-- Enqueued jobs, latest first.
SELECT json_group_array({job})
FROM (
    SELECT * FROM beskar_jobs
    WHERE status = 'enqueued'
    {page}
)

-- name: find_active
-- Dispatched or running jobs, latest first.
SELECT json_group_array({job})
FROM (
    SELECT * FROM beskar_jobs
    WHERE status IN ('dispatched', 'running') AND status = :status
    {page}
)

-- name: find_ended
-- Jobs that ended in one way, latest first.
SELECT json_group_array({job})
FROM (
    SELECT * FROM beskar_jobs
    WHERE status IN ('succeeded', 'dead_lettered', 'cancelled') AND status = :status
    {page}
)

-- name: counts
-- How many jobs each queue has in each status.
SELECT json_group_array(json_array(queue, status, jobs))
FROM (
    SELECT queue, status, count(*) AS jobs FROM beskar_jobs
    WHERE status = 'enqueued'
    GROUP BY queue
    UNION ALL
    SELECT queue, status, count(*) FROM beskar_jobs
    WHERE status = 'scheduled'
    GROUP BY queue
    UNION ALL
    SELECT queue, status, count(*) FROM beskar_jobs
    WHERE status IN ('dispatched', 'running')
    GROUP BY queue, status
    UNION ALL
    SELECT queue, status, count(*) FROM beskar_jobs
    WHERE status IN ('succeeded', 'dead_lettered', 'cancelled')
    GROUP BY queue, status
)

-- name: last_sequence
-- The highest sequence given so far.
SELECT max(0, coalesce(max(sequence), 0)) FROM beskar_jobs

-- name: recurring_add
-- Write a new recurring entry; one whose name is there already is left out.
INSERT INTO beskar_recurring (version, next_at, entry, name) VALUES (:version, :next_at, :entry, :name)
ON CONFLICT (name) DO NOTHING

-- name: recurring_change
-- Write a recurring entry over the expected version.
UPDATE beskar_recurring SET version = :version, next_at = :next_at, entry = :entry
WHERE name = :name AND version = :expected

-- name: recurring_remove
-- Remove a recurring entry of the expected version.
DELETE FROM beskar_recurring WHERE name = :name AND version = :expected

-- name: recurring_known
-- Whether there is an entry of this name.
SELECT count(*) FROM beskar_recurring WHERE name = :name

-- name: occurrence_add
-- Write what became of an instant, unless that is there already, or the job that it made is.
INSERT INTO beskar_occurrences (name, instant, job_id, occurrence)
SELECT :name, :instant, :job_id, :occurrence
WHERE NOT EXISTS (SELECT 1 FROM beskar_jobs WHERE id = :job_id)
ON CONFLICT (name, instant) DO NOTHING

-- name: occurrences_prune
-- Keep the latest occurrences of an entry.
DELETE FROM beskar_occurrences
WHERE name = :name AND instant <= (
    SELECT instant FROM beskar_occurrences WHERE name = :name ORDER BY instant DESC LIMIT 1 OFFSET :kept
)

-- name: occurrences_remove
-- Remove all occurrences of an entry.
DELETE FROM beskar_occurrences WHERE name = :name

-- name: recurring_all
-- Every recurring entry, by name.
SELECT json_group_array(json_array(name, version, entry))
FROM (SELECT * FROM beskar_recurring ORDER BY name)

-- name: recurring_named
-- The recurring entries of these names, by name.
SELECT json_group_array(json_array(name, version, entry))
FROM (SELECT * FROM beskar_recurring WHERE name IN (SELECT value FROM json_each(:names)) ORDER BY name)

-- name: occurrences
-- What became of the instants of an entry, the latest first.
SELECT json_group_array(occurrence)
FROM (SELECT * FROM beskar_occurrences WHERE name = :name ORDER BY instant DESC LIMIT :limit)

-- name: schema_table
-- Where the steps of the schema that were taken are written down.
CREATE TABLE IF NOT EXISTS beskar_schema (
    version    INTEGER PRIMARY KEY,
    name       TEXT NOT NULL,
    applied_at TEXT NOT NULL DEFAULT CURRENT_TIMESTAMP
)

-- name: schema_known
-- Whether that table is there.
SELECT count(*) FROM sqlite_master WHERE type = 'table' AND name = 'beskar_schema'

-- name: schema_version
-- The last step taken, 0 if none.
SELECT coalesce(max(version), 0) FROM beskar_schema

-- name: schema_step
-- Write down a step.
INSERT INTO beskar_schema (version, name) VALUES (:version, :name)
