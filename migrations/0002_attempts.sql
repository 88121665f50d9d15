-- Labs as they were used, attempts at them, and the runs that came of the attempts.
--
-- Labs live in folders, not here. What is kept is each exact content (its digest) that some attempt used, so that an old
-- attempt can be explained and graded again when the folder has long changed. The snapshot is json, not jsonb: it is kept as
-- it was given and never searched.

CREATE TABLE labs (
    digest        text        CONSTRAINT labs_pkey PRIMARY KEY CONSTRAINT labs_digest_given CHECK (digest <> ''),
    slug          text        NOT NULL CONSTRAINT labs_slug_given CHECK (slug <> ''),
    snapshot      json        NOT NULL,
    first_used_at timestamptz NOT NULL
);

CREATE INDEX labs_slug ON labs (slug);

-- The life of an attempt:
--
--     queued -> running -> graded
--       ^          |
--       +----------+        the worker gives it back, or its lease lapses, or we failed (fewer than three times)
--     queued, running -> cancelled
--     running -> errored    we failed three times
--
-- `errored` is our fault alone. A learner's program that fails is graded.

CREATE TYPE attempt_state AS ENUM ('queued', 'running', 'graded', 'errored', 'cancelled');

-- This table is the queue as well: an attempt waits as a row in state `queued`, and there is no second place that could
-- disagree. A worker claims the oldest with FOR UPDATE SKIP LOCKED and gets a token; it must show the token at each later
-- write, so a worker that was given up for dead can come back and do no harm. The lease says until when we believe in the
-- worker without hearing from it.

CREATE TABLE attempts (
    id                uuid          CONSTRAINT attempts_pkey PRIMARY KEY,
    user_id           uuid          NOT NULL CONSTRAINT attempts_user_fkey REFERENCES users ON DELETE CASCADE,
    lab_digest        text          NOT NULL CONSTRAINT attempts_lab_fkey REFERENCES labs,
    -- {"name": "text"}: the submission; never changed.
    files             jsonb         NOT NULL CONSTRAINT attempts_files_object CHECK (jsonb_typeof(files) = 'object'),
    -- {"question": value}: predictions, locked when the attempt is made.
    answers_before    jsonb         NOT NULL
                                    CONSTRAINT attempts_before_object CHECK (jsonb_typeof(answers_before) = 'object'),
    -- Conclusions drawn from the own trace, given once after grading.
    answers_after     jsonb         CONSTRAINT attempts_after_object CHECK (jsonb_typeof(answers_after) = 'object'),
    answered_after_at timestamptz,
    -- The caller's Idempotency-Key: the same key again finds this attempt instead of making another.
    idempotency_key   text,
    state             attempt_state NOT NULL,
    created_at        timestamptz   NOT NULL,
    -- While queued: not to be claimed earlier.
    not_before        timestamptz,
    claim_token       uuid,
    lease_until       timestamptz,
    -- Who runs it, or ran it last.
    worker            text,
    started_at        timestamptz,
    finished_at       timestamptz,
    -- How often we failed (not the learner's program), and what happened last. Kept when a later try succeeds.
    failures          smallint      NOT NULL DEFAULT 0 CONSTRAINT attempts_failures_counted CHECK (failures >= 0),
    failure_code      text,
    failure_detail    text,

    CONSTRAINT attempts_idempotency_key UNIQUE (user_id, idempotency_key),
    CONSTRAINT attempts_failure_told CHECK (num_nonnulls(failure_code, failure_detail) = CASE WHEN failures > 0 THEN 2 ELSE 0 END),
    CONSTRAINT attempts_after_dated CHECK ((answers_after IS NULL) = (answered_after_at IS NULL)),
    CONSTRAINT attempts_after_when_graded CHECK (answers_after IS NULL OR state = 'graded'),
    -- The state is what is written, never guessed from the other columns; this keeps them from contradicting it.
    CONSTRAINT attempts_state_columns CHECK (
        CASE state
            WHEN 'queued' THEN num_nonnulls(claim_token, lease_until, worker, started_at, finished_at) = 0
            WHEN 'running' THEN num_nulls(claim_token, lease_until, worker, started_at) = 0
                AND num_nonnulls(finished_at, not_before) = 0
            WHEN 'cancelled' THEN num_nonnulls(claim_token, lease_until, not_before) = 0
                AND finished_at IS NOT NULL
                AND num_nulls(worker, started_at) IN (0, 2)
            ELSE num_nonnulls(claim_token, lease_until, not_before) = 0
                AND num_nulls(worker, started_at, finished_at) = 0
        END
    ),
    CONSTRAINT attempts_errored_failed CHECK (state <> 'errored' OR failures > 0)
);

-- The queue, oldest first. An attempt that comes back keeps its place.
CREATE INDEX attempts_queue ON attempts (created_at, id) WHERE state = 'queued';

-- Lapsed leases.
CREATE INDEX attempts_leases ON attempts (lease_until) WHERE state = 'running';

-- "My attempts", newest first: ids are UUIDv7 and sort by the time of their making.
CREATE INDEX attempts_user ON attempts (user_id, id);

CREATE INDEX attempts_lab ON attempts (lab_digest);

-- A run is one execution: ground state, from which trace, evidence and grade can be computed again. All
-- runs of an attempt are written at once, with its first grade.

CREATE TABLE runs (
    id                   uuid     CONSTRAINT runs_pkey PRIMARY KEY,
    attempt_id           uuid     NOT NULL CONSTRAINT runs_attempt_fkey REFERENCES attempts ON DELETE CASCADE,
    -- Place in the attempt, from 1.
    ordinal              smallint NOT NULL CONSTRAINT runs_ordinal_positive CHECK (ordinal >= 1),
    label                text     NOT NULL,
    -- 1 for the first execution of the label in this attempt.
    try_no               integer  NOT NULL CONSTRAINT runs_try_positive CHECK (try_no >= 1),
    command              text[]   NOT NULL,
    outcome              text     NOT NULL CONSTRAINT runs_outcome_known CHECK (
        outcome IN ('exited', 'signalled', 'wall_limit', 'memory_limit', 'process_limit', 'output_limit', 'disk_limit', 'trace_limit')
    ),
    exit_code            integer,
    signal               text,
    wall_ns              bigint   NOT NULL CONSTRAINT runs_wall_positive CHECK (wall_ns >= 0),
    -- NULL where the host could not tell.
    cpu_ns               bigint   CONSTRAINT runs_cpu_positive CHECK (cpu_ns >= 0),
    max_memory_bytes     bigint   CONSTRAINT runs_memory_positive CHECK (max_memory_bytes >= 0),
    oom                  boolean  NOT NULL,
    milli_cpus           integer  NOT NULL CONSTRAINT runs_cpus_positive CHECK (milli_cpus > 0),
    tracer               text     NOT NULL CONSTRAINT runs_tracer_known CHECK (tracer IN ('trace', 'summary', 'none')),
    -- Output is bytes: a program may print what is no text at all. Dropped bytes came after the cap.
    stdout               bytea    NOT NULL,
    stdout_dropped_bytes bigint   NOT NULL CONSTRAINT runs_stdout_dropped_positive CHECK (stdout_dropped_bytes >= 0),
    stderr               bytea    NOT NULL,
    stderr_dropped_bytes bigint   NOT NULL CONSTRAINT runs_stderr_dropped_positive CHECK (stderr_dropped_bytes >= 0),
    -- strace's text, compressed (RFC 8878), and its sizes before that.
    trace_zstd           bytea    NOT NULL,
    trace_bytes          bigint   NOT NULL CONSTRAINT runs_trace_positive CHECK (trace_bytes >= 0),
    trace_dropped_bytes  bigint   NOT NULL CONSTRAINT runs_trace_dropped_positive CHECK (trace_dropped_bytes >= 0),
    trace_lines          bigint   NOT NULL CONSTRAINT runs_lines_positive CHECK (trace_lines >= 0),
    -- Whether the trace can be trusted whole, and if not, why not. NULL when the run was not traced.
    complete             boolean,
    incomplete_why       text,

    CONSTRAINT runs_once UNIQUE (attempt_id, label, try_no),
    CONSTRAINT runs_in_order UNIQUE (attempt_id, ordinal),
    CONSTRAINT runs_complete_when_traced CHECK ((complete IS NULL) = (tracer = 'none')),
    CONSTRAINT runs_incomplete_told CHECK ((complete IS FALSE) = (incomplete_why IS NOT NULL))
);

-- Already compressed: PostgreSQL need not try again.
ALTER TABLE runs ALTER COLUMN trace_zstd SET STORAGE EXTERNAL;
