//! Which outcome a run had, from all that was seen of it. Pure.

use guest::{Counters, Ended, Ending};
use lab::Outcome;

use crate::scan::MainEnd;

/// What was seen.
#[derive(Debug, Default)]
pub(crate) struct Facts {
    /// The limit for which this side asked for the end.
    pub(crate) told: Option<Outcome>,
    /// What the guest reported, unless it died.
    pub(crate) ended: Option<Ended>,
    /// The engine's word that memory ran out, asked for when the guest died.
    pub(crate) engine_oom: bool,
    /// The main tracee's end as the trace has it.
    pub(crate) main_end: Option<MainEnd>,
    /// Whether a trace was asked for.
    pub(crate) traced: bool,
    pub(crate) disk_full: bool,
}

/// The outcome, with exit status or signal of the main tracee.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Verdict {
    pub(crate) outcome: Outcome,
    pub(crate) exit_code: Option<i32>,
    pub(crate) signal: Option<String>,
}

impl Facts {
    pub(crate) fn oom(&self) -> bool {
        self.engine_oom || self.counters().oom_kills.is_some_and(|n| n > 0)
    }

    pub(crate) fn counters(&self) -> Counters {
        self.ended.map(|ended| ended.counters).unwrap_or_default()
    }

    pub(crate) fn verdict(&self) -> Verdict {
        let (exit_code, signal) = self.end();
        let outcome = self.limit().unwrap_or(match signal {
            Some(_) => Outcome::Signalled,
            None => Outcome::Exited,
        });
        Verdict { outcome, exit_code, signal }
    }

    /// The first limit that struck. Processes, memory and disk only refuse something and the run
    /// goes on; the others end it. So where both kinds are seen, the first kind came first.
    fn limit(&self) -> Option<Outcome> {
        if self.counters().forks_refused.is_some_and(|n| n > 0) {
            return Some(Outcome::ProcessLimit);
        }
        if self.oom() {
            return Some(Outcome::MemoryLimit);
        }
        if self.disk_full {
            return Some(Outcome::DiskLimit);
        }
        if self.told.is_some() {
            return self.told;
        }
        // What it left behind may have used up the time after the main tracee's own end.
        let by_wall = self.ended.is_some_and(|ended| ended.ending == Ending::Wall);
        let ended_before =
            matches!(&self.main_end, Some(end) if *end != MainEnd::Killed("SIGKILL".to_owned()));
        (by_wall && !ended_before).then_some(Outcome::WallLimit)
    }

    fn end(&self) -> (Option<i32>, Option<String>) {
        match (&self.main_end, self.ended) {
            (Some(MainEnd::Exited(code)), _) => (Some(*code), None),
            (Some(MainEnd::Killed(name)), _) => (None, Some(name.clone())),
            // The tracer was lost: its own end says nothing of the tracee's, but that it was not seen.
            (None, Some(ended)) if self.traced => (None, Some(name(ended.signal.unwrap_or(9)))),
            (None, Some(ended)) => (ended.exit_code, ended.signal.map(name)),
            (None, None) => (None, Some(name(9))),
        }
    }
}

/// Name of a signal by its number on x86-64 and arm64: `signal(7)`.
fn name(signal: i32) -> String {
    const NAMES: [&str; 31] = [
        "HUP", "INT", "QUIT", "ILL", "TRAP", "ABRT", "BUS", "FPE", "KILL", "USR1", "SEGV", "USR2", "PIPE",
        "ALRM", "TERM", "STKFLT", "CHLD", "CONT", "STOP", "TSTP", "TTIN", "TTOU", "URG", "XCPU", "XFSZ",
        "VTALRM", "PROF", "WINCH", "IO", "PWR", "SYS",
    ];
    let known = usize::try_from(signal - 1).ok().and_then(|at| NAMES.get(at));
    known.map_or_else(|| format!("SIG{signal}"), |name| format!("SIG{name}"))
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use std::time::Duration;

    use super::*;

    fn ended(ending: Ending) -> Ended {
        let wall = Duration::from_secs(1);
        Ended { ending, exit_code: None, signal: Some(9), wall, counters: Counters::default() }
    }

    fn traced(ending: Ending, main_end: MainEnd) -> Facts {
        Facts { ended: Some(ended(ending)), main_end: Some(main_end), traced: true, ..Facts::default() }
    }

    fn killed() -> MainEnd {
        MainEnd::Killed("SIGKILL".to_owned())
    }

    #[test]
    fn an_exit_is_an_exit_whatever_its_status() {
        let verdict = traced(Ending::Itself, MainEnd::Exited(7)).verdict();
        assert_eq!(verdict, Verdict { outcome: Outcome::Exited, exit_code: Some(7), signal: None });
    }

    #[test]
    fn a_main_tracee_that_ended_before_the_time_was_up_did_not_strike_it() {
        assert_eq!(traced(Ending::Wall, MainEnd::Exited(0)).verdict().outcome, Outcome::Exited);
        assert_eq!(traced(Ending::Wall, killed()).verdict().outcome, Outcome::WallLimit);
    }

    #[test]
    fn a_limit_that_only_refuses_came_before_the_one_that_ended_the_run() {
        let mut facts = traced(Ending::Wall, killed());
        facts.disk_full = true;
        assert_eq!(facts.verdict().outcome, Outcome::DiskLimit);
        facts.ended.as_mut().unwrap().counters.oom_kills = Some(1);
        assert_eq!(facts.verdict().outcome, Outcome::MemoryLimit);
        facts.ended.as_mut().unwrap().counters.forks_refused = Some(3);
        assert_eq!(facts.verdict().outcome, Outcome::ProcessLimit);
    }

    #[test]
    fn a_limit_that_this_side_saw_is_the_outcome() {
        let mut facts = traced(Ending::Told, killed());
        facts.told = Some(Outcome::OutputLimit);
        assert_eq!(facts.verdict().outcome, Outcome::OutputLimit);
        assert_eq!(facts.verdict().signal.as_deref(), Some("SIGKILL"));
    }

    #[test]
    fn a_lost_tracer_never_looks_like_an_exit() {
        let mut facts = traced(Ending::Itself, killed());
        facts.main_end = None;
        facts.ended.as_mut().unwrap().exit_code = Some(0);
        facts.ended.as_mut().unwrap().signal = None;
        assert_eq!(facts.verdict().outcome, Outcome::Signalled);
        assert_eq!(facts.verdict().exit_code, None);
    }

    #[test]
    fn untraced_the_guests_word_counts() {
        let mut end = ended(Ending::Itself);
        (end.exit_code, end.signal) = (Some(3), None);
        let facts = Facts { ended: Some(end), ..Facts::default() };
        assert_eq!(facts.verdict().exit_code, Some(3));
        (end.exit_code, end.signal) = (None, Some(6));
        let facts = Facts { ended: Some(end), ..Facts::default() };
        assert_eq!(facts.verdict().signal.as_deref(), Some("SIGABRT"));
    }
}
