-- What a learner hears of a limit, and what a run left behind.
--
-- Output over its cap keeps both ends: the beginning in `stdout`, then so many dropped bytes, then the end in `stdout_tail`. Runs from before
-- have no tail: what was dropped of them came last.

ALTER TABLE runs
    ADD COLUMN stdout_tail bytea NOT NULL DEFAULT '',
    ADD COLUMN stderr_tail bytea NOT NULL DEFAULT '',
    ADD CONSTRAINT runs_stdout_tail_behind_dropped CHECK (stdout_tail = '' OR stdout_dropped_bytes > 0),
    ADD CONSTRAINT runs_stderr_tail_behind_dropped CHECK (stderr_tail = '' OR stderr_dropped_bytes > 0);

-- Facts of the trace about the limit that struck (what the main thread did last, how many processes were alive): computed with the grade,
-- kept so that showing an attempt need not read its trace again. NULL where no limit struck, and for runs from before.

ALTER TABLE runs ADD COLUMN explanation jsonb;

-- What the run left in its work folder: rows of path, kind, size, mode, digest and small texts, bounded where they are collected, and why some are
-- missing. NULL where the lab does not ask for them.

ALTER TABLE runs ADD COLUMN files jsonb;
