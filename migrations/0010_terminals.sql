-- Terminals: a learner's shell in a sandbox, for as long as somebody holds on to it.
--
--     waiting -> open -> ended
--        +----------------^
--
-- Server and worker meet here, as for attempts: the server writes a row that says where it can be reached, a worker takes
-- it, starts the sandbox and calls the server, over a line that carries the bytes. None of those bytes is kept.

CREATE TYPE terminal_state AS ENUM ('waiting', 'open', 'ended');

CREATE TABLE terminals (
    id          uuid           CONSTRAINT terminals_pkey PRIMARY KEY,
    user_id     uuid           NOT NULL CONSTRAINT terminals_user_fkey REFERENCES users ON DELETE CASCADE,
    -- Image, limits and the lab's own files.
    lab_digest  text           NOT NULL CONSTRAINT terminals_lab_fkey REFERENCES labs,
    state       terminal_state NOT NULL,
    -- {"name": "text"}: what lies in the work folder at first. Forgotten at the end.
    files       jsonb          CONSTRAINT terminals_files_object CHECK (jsonb_typeof(files) = 'object'),
    -- Of what is announced in the terminal.
    language    text           NOT NULL CONSTRAINT terminals_language_known CHECK (language IN ('ja', 'en')),
    -- Where the worker reaches the server that made this row.
    server      text           NOT NULL,
    created_at  timestamptz    NOT NULL,
    opened_at   timestamptz,
    ended_at    timestamptz,
    worker      text,
    -- SHA-256 of the worker's secret: it shows it to the server once, when it calls, and to this table at each write.
    line_sha256 bytea          CONSTRAINT terminals_line_hashed CHECK (octet_length(line_sha256) = 32),
    line_taken  boolean        NOT NULL DEFAULT false,
    lease_until timestamptz,
    -- exited: the shell ended. closed: by the learner. idle, time_up: by a limit, announced before. no_place: no worker had
    -- room in time. lost: worker or server vanished. failed: ours.
    end_reason  text           CONSTRAINT terminals_reason_known
        CHECK (end_reason IN ('exited', 'closed', 'idle', 'time_up', 'no_place', 'lost', 'failed')),

    CONSTRAINT terminals_state_columns CHECK (
        CASE state
            WHEN 'waiting' THEN num_nonnulls(opened_at, ended_at, worker, line_sha256, lease_until, end_reason) = 0
                AND files IS NOT NULL AND NOT line_taken
            WHEN 'open' THEN num_nulls(opened_at, worker, line_sha256, lease_until) = 0
                AND num_nonnulls(ended_at, end_reason) = 0 AND files IS NOT NULL
            ELSE num_nulls(ended_at, end_reason) = 0 AND num_nonnulls(line_sha256, lease_until, files) = 0
                AND num_nulls(worker, opened_at) IN (0, 2)
        END
    )
);

-- One terminal a learner.
CREATE UNIQUE INDEX terminals_one_each ON terminals (user_id) WHERE state <> 'ended';

-- What waits, oldest first, and what may have lapsed.
CREATE INDEX terminals_live ON terminals (created_at, id) WHERE state <> 'ended';

-- Announced on the channel `terminal_changed` as its id, like attempts on theirs.

CREATE FUNCTION announce_terminal() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    PERFORM pg_notify('terminal_changed', NEW.id::text);
    RETURN NULL;
END
$$;

CREATE TRIGGER terminals_announce_new AFTER INSERT ON terminals
    FOR EACH ROW EXECUTE FUNCTION announce_terminal();

CREATE TRIGGER terminals_announce_state AFTER UPDATE OF state ON terminals
    FOR EACH ROW WHEN (OLD.state IS DISTINCT FROM NEW.state) EXECUTE FUNCTION announce_terminal();
