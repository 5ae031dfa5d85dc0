-- Recurring jobs. An entry is JSON, read and written as a whole; what is compared or sorted has a column.

CREATE TABLE beskar_recurring (
    name    TEXT    NOT NULL PRIMARY KEY,
    version INTEGER NOT NULL,
    next_at INTEGER,
    entry   TEXT    NOT NULL             -- JSON
) WITHOUT ROWID;

-- What became of each instant. The key is what makes a firing unique, whoever writes it.
CREATE TABLE beskar_occurrences (
    name       TEXT    NOT NULL,
    instant    INTEGER NOT NULL,
    job_id     TEXT,
    occurrence TEXT    NOT NULL,         -- JSON
    PRIMARY KEY (name, instant)
) WITHOUT ROWID;
