//! Ids: UUIDv7 ([RFC 9562](https://www.rfc-editor.org/rfc/rfc9562#name-uuid-version-7)), so they sort by the time of
//! their making. A type each, so that none can stand in for another.

use std::fmt;

use chrono::{DateTime, Utc};
use serde::{Deserialize, Serialize};
use uuid::{NoContext, Timestamp, Uuid};

/// A new UUIDv7 of the instant `now`; its other 74 bits are random.
pub(crate) fn new_uuid(now: DateTime<Utc>) -> Uuid {
    let seconds = u64::try_from(now.timestamp()).unwrap_or(0);
    Uuid::new_v7(Timestamp::from_unix(NoContext, seconds, now.timestamp_subsec_nanos()))
}

macro_rules! id {
    ($(#[$doc:meta])* $name:ident) => {
        $(#[$doc])*
        #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, sqlx::Type)]
        #[serde(transparent)]
        #[sqlx(transparent)]
        pub struct $name(pub Uuid);

        impl $name {
            pub(crate) fn new(now: DateTime<Utc>) -> Self {
                Self(new_uuid(now))
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                self.0.fmt(f)
            }
        }
    };
}

id!(
    /// A person, with an account or a guest.
    UserId
);
id!(
    /// One try at a lab.
    AttemptId
);
id!(
    /// One execution.
    RunId
);
id!(
    /// One live sandbox.
    TerminalId
);
