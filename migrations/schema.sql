-- The schema after all migrations, for reading. Written by a test; see server/store/tests.

CREATE TYPE public.attempt_state AS ENUM (
    'queued',
    'running',
    'graded',
    'errored',
    'cancelled'
);

CREATE TYPE public.terminal_state AS ENUM (
    'waiting',
    'open',
    'ended'
);

CREATE FUNCTION public.announce_attempt() RETURNS trigger
    LANGUAGE plpgsql
    AS $$
BEGIN
    PERFORM pg_notify('attempt_changed', NEW.id || ' ' || NEW.state);
    RETURN NULL;
END
$$;

CREATE FUNCTION public.announce_grade() RETURNS trigger
    LANGUAGE plpgsql
    AS $$
BEGIN
    PERFORM pg_notify('attempt_changed', id || ' ' || state) FROM attempts WHERE id = NEW.attempt_id;
    RETURN NULL;
END
$$;

CREATE FUNCTION public.announce_live_output() RETURNS trigger
    LANGUAGE plpgsql
    AS $$
BEGIN
    PERFORM pg_notify('live_output', attempt_id::text) FROM (SELECT DISTINCT attempt_id FROM added) AS of;
    RETURN NULL;
END
$$;

CREATE FUNCTION public.announce_terminal() RETURNS trigger
    LANGUAGE plpgsql
    AS $$
BEGIN
    PERFORM pg_notify('terminal_changed', NEW.id::text);
    RETURN NULL;
END
$$;

CREATE FUNCTION public.forget_live_output() RETURNS trigger
    LANGUAGE plpgsql
    AS $$
BEGIN
    DELETE FROM live_output WHERE attempt_id = NEW.id;
    RETURN NULL;
END
$$;

CREATE FUNCTION public.refuse_update() RETURNS trigger
    LANGUAGE plpgsql
    AS $$
BEGIN
    RAISE EXCEPTION 'rows of % are never changed: add a version', TG_TABLE_NAME USING ERRCODE = 'restrict_violation';
END
$$;

CREATE TABLE public.attempts (
    id uuid NOT NULL,
    user_id uuid NOT NULL,
    lab_digest text NOT NULL,
    files jsonb NOT NULL,
    answers_before jsonb NOT NULL,
    answers_after jsonb,
    answered_after_at timestamp with time zone,
    idempotency_key text,
    state public.attempt_state NOT NULL,
    created_at timestamp with time zone NOT NULL,
    not_before timestamp with time zone,
    claim_token uuid,
    lease_until timestamp with time zone,
    worker text,
    started_at timestamp with time zone,
    finished_at timestamp with time zone,
    failures smallint DEFAULT 0 NOT NULL,
    failure_code text,
    failure_detail text,
    CONSTRAINT attempts_after_dated CHECK (((answers_after IS NULL) = (answered_after_at IS NULL))),
    CONSTRAINT attempts_after_object CHECK ((jsonb_typeof(answers_after) = 'object'::text)),
    CONSTRAINT attempts_after_when_graded CHECK (((answers_after IS NULL) OR (state = 'graded'::public.attempt_state))),
    CONSTRAINT attempts_before_object CHECK ((jsonb_typeof(answers_before) = 'object'::text)),
    CONSTRAINT attempts_errored_failed CHECK (((state <> 'errored'::public.attempt_state) OR (failures > 0))),
    CONSTRAINT attempts_failure_told CHECK ((num_nonnulls(failure_code, failure_detail) =
CASE
    WHEN (failures > 0) THEN 2
    ELSE 0
END)),
    CONSTRAINT attempts_failures_counted CHECK ((failures >= 0)),
    CONSTRAINT attempts_files_object CHECK ((jsonb_typeof(files) = 'object'::text)),
    CONSTRAINT attempts_state_columns CHECK (
CASE state
    WHEN 'queued'::public.attempt_state THEN (num_nonnulls(claim_token, lease_until, worker, started_at, finished_at) = 0)
    WHEN 'running'::public.attempt_state THEN ((num_nulls(claim_token, lease_until, worker, started_at) = 0) AND (num_nonnulls(finished_at, not_before) = 0))
    WHEN 'cancelled'::public.attempt_state THEN ((num_nonnulls(claim_token, lease_until, not_before) = 0) AND (finished_at IS NOT NULL) AND (num_nulls(worker, started_at) = ANY (ARRAY[0, 2])))
    ELSE ((num_nonnulls(claim_token, lease_until, not_before) = 0) AND (num_nulls(worker, started_at, finished_at) = 0))
END)
);

CREATE TABLE public.grade_checks (
    attempt_id uuid NOT NULL,
    version integer NOT NULL,
    ordinal smallint NOT NULL,
    check_id text NOT NULL,
    status text NOT NULL,
    reason text,
    detail text,
    points integer NOT NULL,
    max_points integer NOT NULL,
    evidence jsonb NOT NULL,
    first_row jsonb,
    near jsonb,
    CONSTRAINT grade_checks_evidence_array CHECK ((jsonb_typeof(evidence) = 'array'::text)),
    CONSTRAINT grade_checks_near_object CHECK ((jsonb_typeof(near) = 'object'::text)),
    CONSTRAINT grade_checks_ordinal_positive CHECK ((ordinal >= 1)),
    CONSTRAINT grade_checks_points_range CHECK (((points >= 0) AND (points <= max_points))),
    CONSTRAINT grade_checks_reason_given CHECK (((status = 'not_judged'::text) = (reason IS NOT NULL))),
    CONSTRAINT grade_checks_reason_known CHECK ((reason = ANY (ARRAY['evidence_incomplete'::text, 'check_error'::text, 'awaiting_answer'::text]))),
    CONSTRAINT grade_checks_row_object CHECK ((jsonb_typeof(first_row) = 'object'::text)),
    CONSTRAINT grade_checks_status_known CHECK ((status = ANY (ARRAY['passed'::text, 'failed'::text, 'not_judged'::text])))
);

CREATE TABLE public.grades (
    attempt_id uuid NOT NULL,
    version integer NOT NULL,
    lab_digest text NOT NULL,
    cause text NOT NULL,
    points integer NOT NULL,
    max_points integer NOT NULL,
    incomplete boolean NOT NULL,
    created_at timestamp with time zone NOT NULL,
    CONSTRAINT grades_cause_known CHECK ((cause = ANY (ARRAY['run'::text, 'answers'::text, 'regrade'::text, 'review'::text]))),
    CONSTRAINT grades_points_range CHECK (((points >= 0) AND (points <= max_points))),
    CONSTRAINT grades_run_first CHECK (((cause <> 'run'::text) OR (version = 1))),
    CONSTRAINT grades_version_positive CHECK ((version >= 1))
);

CREATE TABLE public.labs (
    digest text NOT NULL,
    slug text NOT NULL,
    snapshot json NOT NULL,
    first_used_at timestamp with time zone NOT NULL,
    CONSTRAINT labs_digest_given CHECK ((digest <> ''::text)),
    CONSTRAINT labs_slug_given CHECK ((slug <> ''::text))
);

CREATE UNLOGGED TABLE public.live_output (
    attempt_id uuid NOT NULL,
    seq bigint NOT NULL,
    run text NOT NULL,
    stream text NOT NULL,
    bytes bytea NOT NULL,
    CONSTRAINT live_output_bytes_check CHECK (((octet_length(bytes) >= 1) AND (octet_length(bytes) <= 65536))),
    CONSTRAINT live_output_seq_check CHECK ((seq >= 0)),
    CONSTRAINT live_output_stream_check CHECK ((stream = ANY (ARRAY['stdout'::text, 'stderr'::text])))
);

CREATE TABLE public.runs (
    id uuid NOT NULL,
    attempt_id uuid NOT NULL,
    ordinal smallint NOT NULL,
    label text NOT NULL,
    try_no integer NOT NULL,
    command text[] NOT NULL,
    outcome text NOT NULL,
    exit_code integer,
    signal text,
    wall_ns bigint NOT NULL,
    cpu_ns bigint,
    max_memory_bytes bigint,
    oom boolean NOT NULL,
    milli_cpus integer NOT NULL,
    tracer text NOT NULL,
    stdout bytea NOT NULL,
    stdout_dropped_bytes bigint NOT NULL,
    stderr bytea NOT NULL,
    stderr_dropped_bytes bigint NOT NULL,
    trace_zstd bytea NOT NULL,
    trace_bytes bigint NOT NULL,
    trace_dropped_bytes bigint NOT NULL,
    trace_lines bigint NOT NULL,
    complete boolean,
    incomplete_why text,
    stdout_tail bytea DEFAULT '\x'::bytea NOT NULL,
    stderr_tail bytea DEFAULT '\x'::bytea NOT NULL,
    explanation jsonb,
    files jsonb,
    CONSTRAINT runs_complete_when_traced CHECK (((complete IS NULL) = (tracer = 'none'::text))),
    CONSTRAINT runs_cpu_positive CHECK ((cpu_ns >= 0)),
    CONSTRAINT runs_cpus_positive CHECK ((milli_cpus > 0)),
    CONSTRAINT runs_incomplete_told CHECK (((complete IS FALSE) = (incomplete_why IS NOT NULL))),
    CONSTRAINT runs_lines_positive CHECK ((trace_lines >= 0)),
    CONSTRAINT runs_memory_positive CHECK ((max_memory_bytes >= 0)),
    CONSTRAINT runs_ordinal_positive CHECK ((ordinal >= 1)),
    CONSTRAINT runs_outcome_known CHECK ((outcome = ANY (ARRAY['exited'::text, 'signalled'::text, 'wall_limit'::text, 'memory_limit'::text, 'process_limit'::text, 'output_limit'::text, 'disk_limit'::text, 'trace_limit'::text]))),
    CONSTRAINT runs_stderr_dropped_positive CHECK ((stderr_dropped_bytes >= 0)),
    CONSTRAINT runs_stderr_tail_behind_dropped CHECK (((stderr_tail = '\x'::bytea) OR (stderr_dropped_bytes > 0))),
    CONSTRAINT runs_stdout_dropped_positive CHECK ((stdout_dropped_bytes >= 0)),
    CONSTRAINT runs_stdout_tail_behind_dropped CHECK (((stdout_tail = '\x'::bytea) OR (stdout_dropped_bytes > 0))),
    CONSTRAINT runs_trace_dropped_positive CHECK ((trace_dropped_bytes >= 0)),
    CONSTRAINT runs_trace_positive CHECK ((trace_bytes >= 0)),
    CONSTRAINT runs_tracer_known CHECK ((tracer = ANY (ARRAY['trace'::text, 'summary'::text, 'none'::text]))),
    CONSTRAINT runs_try_positive CHECK ((try_no >= 1)),
    CONSTRAINT runs_wall_positive CHECK ((wall_ns >= 0))
);
ALTER TABLE ONLY public.runs ALTER COLUMN trace_zstd SET STORAGE EXTERNAL;

CREATE TABLE public.sessions (
    token_sha256 bytea NOT NULL,
    user_id uuid NOT NULL,
    created_at timestamp with time zone NOT NULL,
    expires_at timestamp with time zone NOT NULL,
    CONSTRAINT sessions_expire_later CHECK ((expires_at > created_at)),
    CONSTRAINT sessions_token_hashed CHECK ((octet_length(token_sha256) = 32))
);

CREATE TABLE public.terminals (
    id uuid NOT NULL,
    user_id uuid NOT NULL,
    lab_digest text NOT NULL,
    state public.terminal_state NOT NULL,
    files jsonb,
    language text NOT NULL,
    server text NOT NULL,
    created_at timestamp with time zone NOT NULL,
    opened_at timestamp with time zone,
    ended_at timestamp with time zone,
    worker text,
    line_sha256 bytea,
    line_taken boolean DEFAULT false NOT NULL,
    lease_until timestamp with time zone,
    end_reason text,
    CONSTRAINT terminals_files_object CHECK ((jsonb_typeof(files) = 'object'::text)),
    CONSTRAINT terminals_language_known CHECK ((language = ANY (ARRAY['ja'::text, 'en'::text]))),
    CONSTRAINT terminals_line_hashed CHECK ((octet_length(line_sha256) = 32)),
    CONSTRAINT terminals_reason_known CHECK ((end_reason = ANY (ARRAY['exited'::text, 'closed'::text, 'idle'::text, 'time_up'::text, 'no_place'::text, 'lost'::text, 'failed'::text]))),
    CONSTRAINT terminals_state_columns CHECK (
CASE state
    WHEN 'waiting'::public.terminal_state THEN ((num_nonnulls(opened_at, ended_at, worker, line_sha256, lease_until, end_reason) = 0) AND (files IS NOT NULL) AND (NOT line_taken))
    WHEN 'open'::public.terminal_state THEN ((num_nulls(opened_at, worker, line_sha256, lease_until) = 0) AND (num_nonnulls(ended_at, end_reason) = 0) AND (files IS NOT NULL))
    ELSE ((num_nulls(ended_at, end_reason) = 0) AND (num_nonnulls(line_sha256, lease_until, files) = 0) AND (num_nulls(worker, opened_at) = ANY (ARRAY[0, 2])))
END)
);

CREATE TABLE public.users (
    id uuid NOT NULL,
    kind text NOT NULL,
    display_name text,
    created_at timestamp with time zone NOT NULL,
    CONSTRAINT users_account_named CHECK (((kind = 'account'::text) = (display_name IS NOT NULL))),
    CONSTRAINT users_kind_known CHECK ((kind = ANY (ARRAY['guest'::text, 'account'::text])))
);

ALTER TABLE ONLY public.attempts
    ADD CONSTRAINT attempts_idempotency_key UNIQUE (user_id, idempotency_key);

ALTER TABLE ONLY public.attempts
    ADD CONSTRAINT attempts_pkey PRIMARY KEY (id);

ALTER TABLE ONLY public.grade_checks
    ADD CONSTRAINT grade_checks_in_order UNIQUE (attempt_id, version, ordinal);

ALTER TABLE ONLY public.grade_checks
    ADD CONSTRAINT grade_checks_pkey PRIMARY KEY (attempt_id, version, check_id);

ALTER TABLE ONLY public.grades
    ADD CONSTRAINT grades_pkey PRIMARY KEY (attempt_id, version);

ALTER TABLE ONLY public.labs
    ADD CONSTRAINT labs_pkey PRIMARY KEY (digest);

ALTER TABLE ONLY public.live_output
    ADD CONSTRAINT live_output_pkey PRIMARY KEY (attempt_id, seq);

ALTER TABLE ONLY public.runs
    ADD CONSTRAINT runs_in_order UNIQUE (attempt_id, ordinal);

ALTER TABLE ONLY public.runs
    ADD CONSTRAINT runs_once UNIQUE (attempt_id, label, try_no);

ALTER TABLE ONLY public.runs
    ADD CONSTRAINT runs_pkey PRIMARY KEY (id);

ALTER TABLE ONLY public.sessions
    ADD CONSTRAINT sessions_pkey PRIMARY KEY (token_sha256);

ALTER TABLE ONLY public.terminals
    ADD CONSTRAINT terminals_pkey PRIMARY KEY (id);

ALTER TABLE ONLY public.users
    ADD CONSTRAINT users_pkey PRIMARY KEY (id);

CREATE INDEX attempts_lab ON public.attempts USING btree (lab_digest);

CREATE INDEX attempts_leases ON public.attempts USING btree (lease_until) WHERE (state = 'running'::public.attempt_state);

CREATE INDEX attempts_queue ON public.attempts USING btree (created_at, id) WHERE (state = 'queued'::public.attempt_state);

CREATE INDEX attempts_user ON public.attempts USING btree (user_id, id);

CREATE INDEX labs_slug ON public.labs USING btree (slug);

CREATE INDEX sessions_expiry ON public.sessions USING btree (expires_at);

CREATE INDEX sessions_user ON public.sessions USING btree (user_id);

CREATE INDEX terminals_live ON public.terminals USING btree (created_at, id) WHERE (state <> 'ended'::public.terminal_state);

CREATE UNIQUE INDEX terminals_one_each ON public.terminals USING btree (user_id) WHERE (state <> 'ended'::public.terminal_state);

CREATE TRIGGER attempts_announce_new AFTER INSERT ON public.attempts FOR EACH ROW EXECUTE FUNCTION public.announce_attempt();

CREATE TRIGGER attempts_announce_state AFTER UPDATE OF state ON public.attempts FOR EACH ROW WHEN ((old.state IS DISTINCT FROM new.state)) EXECUTE FUNCTION public.announce_attempt();

CREATE TRIGGER attempts_forget_live_output AFTER UPDATE OF state ON public.attempts FOR EACH ROW WHEN (((old.state = 'running'::public.attempt_state) AND (new.state <> 'running'::public.attempt_state))) EXECUTE FUNCTION public.forget_live_output();

CREATE TRIGGER grade_checks_unchanging BEFORE UPDATE ON public.grade_checks FOR EACH STATEMENT EXECUTE FUNCTION public.refuse_update();

CREATE TRIGGER grades_announce_new AFTER INSERT ON public.grades FOR EACH ROW EXECUTE FUNCTION public.announce_grade();

CREATE TRIGGER grades_unchanging BEFORE UPDATE ON public.grades FOR EACH STATEMENT EXECUTE FUNCTION public.refuse_update();

CREATE TRIGGER live_output_announce AFTER INSERT ON public.live_output REFERENCING NEW TABLE AS added FOR EACH STATEMENT EXECUTE FUNCTION public.announce_live_output();

CREATE TRIGGER terminals_announce_new AFTER INSERT ON public.terminals FOR EACH ROW EXECUTE FUNCTION public.announce_terminal();

CREATE TRIGGER terminals_announce_state AFTER UPDATE OF state ON public.terminals FOR EACH ROW WHEN ((old.state IS DISTINCT FROM new.state)) EXECUTE FUNCTION public.announce_terminal();

ALTER TABLE ONLY public.attempts
    ADD CONSTRAINT attempts_lab_fkey FOREIGN KEY (lab_digest) REFERENCES public.labs(digest);

ALTER TABLE ONLY public.attempts
    ADD CONSTRAINT attempts_user_fkey FOREIGN KEY (user_id) REFERENCES public.users(id) ON DELETE CASCADE;

ALTER TABLE ONLY public.grade_checks
    ADD CONSTRAINT grade_checks_grade_fkey FOREIGN KEY (attempt_id, version) REFERENCES public.grades(attempt_id, version) ON DELETE CASCADE;

ALTER TABLE ONLY public.grades
    ADD CONSTRAINT grades_attempt_fkey FOREIGN KEY (attempt_id) REFERENCES public.attempts(id) ON DELETE CASCADE;

ALTER TABLE ONLY public.grades
    ADD CONSTRAINT grades_lab_fkey FOREIGN KEY (lab_digest) REFERENCES public.labs(digest);

ALTER TABLE ONLY public.live_output
    ADD CONSTRAINT live_output_attempt_id_fkey FOREIGN KEY (attempt_id) REFERENCES public.attempts(id) ON DELETE CASCADE;

ALTER TABLE ONLY public.runs
    ADD CONSTRAINT runs_attempt_fkey FOREIGN KEY (attempt_id) REFERENCES public.attempts(id) ON DELETE CASCADE;

ALTER TABLE ONLY public.sessions
    ADD CONSTRAINT sessions_user_fkey FOREIGN KEY (user_id) REFERENCES public.users(id) ON DELETE CASCADE;

ALTER TABLE ONLY public.terminals
    ADD CONSTRAINT terminals_lab_fkey FOREIGN KEY (lab_digest) REFERENCES public.labs(digest);

ALTER TABLE ONLY public.terminals
    ADD CONSTRAINT terminals_user_fkey FOREIGN KEY (user_id) REFERENCES public.users(id) ON DELETE CASCADE;
