//! Printed times as ns since the first one.

use crate::leader::Time;

#[derive(Debug, Default)]
pub(crate) struct Clock {
    first: Option<i64>,
    last: i64,
    day: i64,
}

const DAY_NS: i64 = 86_400 * 1_000_000_000;

impl Clock {
    pub(crate) fn since_start(&mut self, time: Time) -> i64 {
        let now = match time {
            Time::Epoch(ns) => ns,
            Time::Delta(ns) => self.last.saturating_add(ns),
            Time::OfDay(ns) => {
                // A step back of more than half a day is midnight, not a clock set back.
                if self.first.is_some() && ns.saturating_add(self.day) < self.last.saturating_sub(DAY_NS / 2)
                {
                    self.day = self.day.saturating_add(DAY_NS);
                }
                ns.saturating_add(self.day)
            }
        };
        self.last = now;
        now.saturating_sub(*self.first.get_or_insert(now))
    }
}
