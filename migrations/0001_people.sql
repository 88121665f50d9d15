-- People and their sign-ins.
--
-- A visitor who never signed in is a guest: a row like any other, so that attempts always belong to somebody and stay
-- theirs when the guest becomes an account (the row changes kind, its id does not). How an account proves who it is
-- (password, single sign-on, LMS launch) is not said here: each way gets a table of its own that points at users.

CREATE TABLE users (
    id           uuid        CONSTRAINT users_pkey PRIMARY KEY,
    kind         text        NOT NULL CONSTRAINT users_kind_known CHECK (kind IN ('guest', 'account')),
    -- What an account is called on screen; a guest has no name.
    display_name text,
    created_at   timestamptz NOT NULL,

    CONSTRAINT users_account_named CHECK ((kind = 'account') = (display_name IS NOT NULL))
);

-- A session is one sign-in of one browser. The browser holds the token, we only its SHA-256: reading this table signs
-- nobody in. The token is 256 random bits, so an unsalted fast hash is enough. Rows whose time has passed mean nothing and
-- are deleted now and then.

CREATE TABLE sessions (
    token_sha256 bytea       CONSTRAINT sessions_pkey PRIMARY KEY
                             CONSTRAINT sessions_token_hashed CHECK (octet_length(token_sha256) = 32),
    user_id      uuid        NOT NULL CONSTRAINT sessions_user_fkey REFERENCES users ON DELETE CASCADE,
    created_at   timestamptz NOT NULL,
    expires_at   timestamptz NOT NULL,

    CONSTRAINT sessions_expire_later CHECK (expires_at > created_at)
);

-- "All my sessions", to list and end them.
CREATE INDEX sessions_user ON sessions (user_id);

-- Cleaning up.
CREATE INDEX sessions_expiry ON sessions (expires_at);
