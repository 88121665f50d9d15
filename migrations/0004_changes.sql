-- Telling who waits.
--
-- Each change of an attempt that somebody may wait for (a worker for `queued`, a browser for the rest) is announced on the
-- channel `attempt_changed` as "<attempt id> <state>". Triggers do it, so that no statement can forget to. The announcement is part of the
-- transaction: whoever hears it can read what it speaks of. It is a hint all the same, lost when nobody listens: listeners
-- read the state when they (re)connect, and workers look at the queue now and then.
--
-- A heartbeat changes no state and is not announced.

CREATE FUNCTION announce_attempt() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    PERFORM pg_notify('attempt_changed', NEW.id || ' ' || NEW.state);
    RETURN NULL;
END
$$;

CREATE TRIGGER attempts_announce_new AFTER INSERT ON attempts
    FOR EACH ROW EXECUTE FUNCTION announce_attempt();

CREATE TRIGGER attempts_announce_state AFTER UPDATE OF state ON attempts
    FOR EACH ROW WHEN (OLD.state IS DISTINCT FROM NEW.state) EXECUTE FUNCTION announce_attempt();

-- A further version of a grade leaves the state as it is. (Equal announcements of one transaction arrive once.)

CREATE FUNCTION announce_grade() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    PERFORM pg_notify('attempt_changed', id || ' ' || state) FROM attempts WHERE id = NEW.attempt_id;
    RETURN NULL;
END
$$;

CREATE TRIGGER grades_announce_new AFTER INSERT ON grades
    FOR EACH ROW EXECUTE FUNCTION announce_grade();
