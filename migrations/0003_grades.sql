-- What attempts earned.
--
-- A grade is a version: the first comes of the runs; answers given afterwards, a changed lab and a review each add one. None
-- is overwritten, so "what did I have on Friday, and who changed it" has an answer. The latest version counts.

CREATE TABLE grades (
    attempt_id uuid        NOT NULL CONSTRAINT grades_attempt_fkey REFERENCES attempts ON DELETE CASCADE,
    version    integer     NOT NULL CONSTRAINT grades_version_positive CHECK (version >= 1),
    -- The exact lab that judged: the attempt's own, or a later one after a regrade.
    lab_digest text        NOT NULL CONSTRAINT grades_lab_fkey REFERENCES labs,
    cause      text        NOT NULL CONSTRAINT grades_cause_known CHECK (cause IN ('run', 'answers', 'regrade', 'review')),
    points     integer     NOT NULL,
    max_points integer     NOT NULL,
    -- Whether some check was not judged.
    incomplete boolean     NOT NULL,
    created_at timestamptz NOT NULL,

    CONSTRAINT grades_pkey PRIMARY KEY (attempt_id, version),
    CONSTRAINT grades_run_first CHECK (cause <> 'run' OR version = 1),
    CONSTRAINT grades_points_range CHECK (points BETWEEN 0 AND max_points)
);

-- One row a check, so that "which check fails most" is a query. Texts are not stored: the lab has them in each language, and
-- `first_row` and `near` have the values that go into them. The evidence is what was shown, a few rows; the whole can be had from the trace.

CREATE TABLE grade_checks (
    attempt_id uuid     NOT NULL,
    version    integer  NOT NULL,
    -- Place in the lab, from 1.
    ordinal    smallint NOT NULL CONSTRAINT grade_checks_ordinal_positive CHECK (ordinal >= 1),
    check_id   text     NOT NULL,
    status     text     NOT NULL CONSTRAINT grade_checks_status_known CHECK (status IN ('passed', 'failed', 'not_judged')),
    reason     text     CONSTRAINT grade_checks_reason_known CHECK (reason IN ('evidence_incomplete', 'check_error', 'awaiting_answer')),
    -- What the author is told of an error in the check.
    detail     text,
    points     integer  NOT NULL,
    max_points integer  NOT NULL,
    -- [{"run", "event", "line", "text"}]
    evidence   jsonb    NOT NULL CONSTRAINT grade_checks_evidence_array CHECK (jsonb_typeof(evidence) = 'array'),
    -- First row of the check's query, by column.
    first_row  jsonb    CONSTRAINT grade_checks_row_object CHECK (jsonb_typeof(first_row) = 'object'),
    -- What was found instead, by column of the check's `near` query.
    near       jsonb    CONSTRAINT grade_checks_near_object CHECK (jsonb_typeof(near) = 'object'),

    CONSTRAINT grade_checks_pkey PRIMARY KEY (attempt_id, version, check_id),
    CONSTRAINT grade_checks_grade_fkey FOREIGN KEY (attempt_id, version) REFERENCES grades ON DELETE CASCADE,
    CONSTRAINT grade_checks_in_order UNIQUE (attempt_id, version, ordinal),
    CONSTRAINT grade_checks_reason_given CHECK ((status = 'not_judged') = (reason IS NOT NULL)),
    CONSTRAINT grade_checks_points_range CHECK (points BETWEEN 0 AND max_points)
);

-- Not by a slip either. Deleting is another matter: a person may ask for all that is theirs to be removed.

CREATE FUNCTION refuse_update() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    RAISE EXCEPTION 'rows of % are never changed: add a version', TG_TABLE_NAME USING ERRCODE = 'restrict_violation';
END
$$;

CREATE TRIGGER grades_unchanging BEFORE UPDATE ON grades
    FOR EACH STATEMENT EXECUTE FUNCTION refuse_update();

CREATE TRIGGER grade_checks_unchanging BEFORE UPDATE ON grade_checks
    FOR EACH STATEMENT EXECUTE FUNCTION refuse_update();
