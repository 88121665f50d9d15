-- What a running attempt writes, while it runs.
--
-- The worker puts the bytes here as they come, and whoever streams the attempt to a browser reads them; the report has its own
-- copy, with the run. So nothing here is worth a log or a backup: the table is emptied by a crash of the database, and an attempt's rows go
-- when it leaves the state `running`, whichever way.
--
-- `seq` counts the rows of an attempt from 0: the order in which the bytes came. Standard output and standard error of a
-- run are kept apart, and a row has bytes of one of them. How many there can be is bounded by the limits of the lab's runs.

CREATE UNLOGGED TABLE live_output (
    attempt_id uuid    NOT NULL REFERENCES attempts (id) ON DELETE CASCADE,
    seq        bigint  NOT NULL CHECK (seq >= 0),
    run        text    NOT NULL,
    stream     text    NOT NULL CHECK (stream IN ('stdout', 'stderr')),
    bytes      bytea   NOT NULL CHECK (octet_length(bytes) BETWEEN 1 AND 65536),
    PRIMARY KEY (attempt_id, seq)
);

-- Announced on the channel `live_output` as "<attempt id>", once for each statement that added rows.

CREATE FUNCTION announce_live_output() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    PERFORM pg_notify('live_output', attempt_id::text) FROM (SELECT DISTINCT attempt_id FROM added) AS of;
    RETURN NULL;
END
$$;

CREATE TRIGGER live_output_announce AFTER INSERT ON live_output
    REFERENCING NEW TABLE AS added
    FOR EACH STATEMENT EXECUTE FUNCTION announce_live_output();

CREATE FUNCTION forget_live_output() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    DELETE FROM live_output WHERE attempt_id = NEW.id;
    RETURN NULL;
END
$$;

CREATE TRIGGER attempts_forget_live_output AFTER UPDATE OF state ON attempts
    FOR EACH ROW WHEN (OLD.state = 'running' AND NEW.state <> 'running') EXECUTE FUNCTION forget_live_output();
