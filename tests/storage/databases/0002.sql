BEGIN TRANSACTION;
CREATE TABLE beskar_jobs (
    row         INTEGER PRIMARY KEY,
    id          TEXT    NOT NULL UNIQUE,
    job_type    TEXT    NOT NULL,
    queue       TEXT    NOT NULL,
    arguments   BLOB    NOT NULL,
    options     TEXT,
    created_at  INTEGER NOT NULL,
    priority    INTEGER NOT NULL,
    sequence    INTEGER NOT NULL,
    status      TEXT    NOT NULL,
    waiting_for TEXT,
    due_at      INTEGER NOT NULL,
    updated_at  INTEGER NOT NULL,
    version     INTEGER NOT NULL,
    state       TEXT,
    policy      TEXT,
    result      BLOB
);
INSERT INTO "beskar_jobs" VALUES(1,'full','suite.full','médias',X'7B22736F75726365223A22C3A92E6D6F76227D','{"run_at":1772370000623457,"retry":[7,[0.1,15.0,60.25],0.3,["app.Overload"],["app.Never","app.Gone"]],"timeout":0.1,"metadata":{"tenant":"größe","":"empty key","quote":"''\"\\"},"traceparent":"00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01"}',1772366399123456,-3,41,'running','rate',1772366401123457,1772366402123460,12,'{"fence":5,"attempt":4,"failures":3,"crashes":2,"worker":["worker-ü","0197c1f0a8b2"],"cancel_requested":true,"started_at":1772366403123457,"finished_at":1772366404123457,"reason":"because\nof a reason","failure":{"kind":"timeout","message":"too slow","error_type":"app.Slow","error_bases":["app.Slow","builtins.Exception"],"traceback":"Trace\n  …"}}','[[7,[0.1,15.0,60.25],0.3,["app.Overload"],["app.Never","app.Gone"]],600.125,false,9]',X'7B2273697A65223A317D');
INSERT INTO "beskar_jobs" VALUES(2,'scheduled','suite.job','default',X'7B7D',NULL,1772366400123457,0,100,'scheduled',NULL,1772366400123457,1772366400123457,1,NULL,NULL,NULL);
INSERT INTO "beskar_jobs" VALUES(3,'enqueued','suite.job','default',X'7B7D',NULL,1772366400123457,0,101,'enqueued',NULL,1772366400123457,1772366400123457,1,NULL,NULL,NULL);
INSERT INTO "beskar_jobs" VALUES(4,'dispatched','suite.job','default',X'7B7D',NULL,1772366400123457,0,102,'dispatched',NULL,1772366400123457,1772366400123457,1,NULL,NULL,NULL);
INSERT INTO "beskar_jobs" VALUES(5,'running','suite.job','default',X'7B7D',NULL,1772366400123457,0,103,'running',NULL,1772366400123457,1772366400123457,1,NULL,NULL,NULL);
INSERT INTO "beskar_jobs" VALUES(6,'succeeded','suite.job','default',X'7B7D',NULL,1772366400123457,0,104,'succeeded',NULL,1772366400123457,1772366400123457,1,NULL,NULL,NULL);
INSERT INTO "beskar_jobs" VALUES(7,'dead_lettered','suite.job','default',X'7B7D',NULL,1772366400123457,0,105,'dead_lettered',NULL,1772366400123457,1772366400123457,1,NULL,NULL,NULL);
INSERT INTO "beskar_jobs" VALUES(8,'cancelled','suite.job','default',X'7B7D',NULL,1772366400123457,0,106,'cancelled',NULL,1772366400123457,1772366400123457,1,NULL,NULL,NULL);
CREATE TABLE beskar_occurrences (
    name       TEXT    NOT NULL,
    instant    INTEGER NOT NULL,
    job_id     TEXT,
    occurrence TEXT    NOT NULL,
    PRIMARY KEY (name, instant)
) WITHOUT ROWID;
CREATE TABLE beskar_recurring (
    name    TEXT    NOT NULL PRIMARY KEY,
    version INTEGER NOT NULL,
    next_at INTEGER,
    entry   TEXT    NOT NULL
) WITHOUT ROWID;
CREATE TABLE beskar_schema (
    version    INTEGER PRIMARY KEY,
    name       TEXT NOT NULL,
    applied_at TEXT NOT NULL DEFAULT CURRENT_TIMESTAMP
);
INSERT INTO "beskar_schema" VALUES(1,'jobs','2026-01-01 00:00:00');
INSERT INTO "beskar_schema" VALUES(2,'recurring','2026-01-01 00:00:00');
CREATE INDEX beskar_jobs_sequence ON beskar_jobs (sequence);
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
COMMIT;
