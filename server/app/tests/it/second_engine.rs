//! An engine beside the one that all tests share: for what must not be tried on that one.

use std::path::PathBuf;
use std::process::{Command, Stdio};

use crate::support::root;

const IMAGE: &str = "todoku/node24:local";

/// Lies in memory of its own, and goes with the value.
pub(crate) struct SecondEngine {
    dir: tempfile::TempDir,
    flags: Vec<String>,
    pub(crate) host: String,
}

impl SecondEngine {
    pub(crate) fn start(flags: &[&str]) -> Self {
        let dir = tempfile::Builder::new().prefix("engine").tempdir_in("/tmp").unwrap();
        // Room for the image twice, for it is unpacked from where it is carried to.
        run(Command::new("mount").args(["-t", "tmpfs", "-o", "size=1g", "engine"]).arg(dir.path()));
        let host = format!("unix://{}/docker.sock", dir.path().display());
        let engine = Self { dir, flags: flags.iter().map(|flag| (*flag).to_owned()).collect(), host };
        engine.start_again();
        let mut save = Command::new("docker").args(["save", IMAGE]).stdout(Stdio::piped()).spawn().unwrap();
        let carried = save.stdout.take().unwrap();
        run(Command::new("docker").args(["-H", &engine.host, "load", "--quiet"]).stdin(carried));
        assert!(save.wait().unwrap().success());
        engine
    }

    pub(crate) fn start_again(&self) {
        run(self.command("start").args(&self.flags));
    }

    /// `stop`, or `kill` as a crash would.
    pub(crate) fn end(&self, how: &str) {
        run(&mut self.command(how));
    }

    /// Sends the daemon a signal.
    pub(crate) fn signal(&self, signal: &str) {
        let pid = std::fs::read_to_string(self.dir.path().join("docker.pid")).unwrap();
        run(Command::new("kill").args([signal, pid.trim()]));
    }

    /// Leaves no room on its disk until the answer is removed.
    pub(crate) fn fill(&self) -> PathBuf {
        let file = self.dir.path().join("full");
        let mut out = std::fs::File::create(&file).unwrap();
        // It ends for want of room.
        std::io::copy(&mut std::io::repeat(0), &mut out).unwrap_err();
        file
    }

    fn command(&self, action: &str) -> Command {
        let mut command = Command::new(root().join("server/sandbox/second-engine"));
        command.arg(action).arg(self.dir.path());
        command
    }
}

impl Drop for SecondEngine {
    fn drop(&mut self) {
        let stopped = self.command("stop").status().is_ok_and(|status| status.success());
        // What is mounted inside may outlive an engine that was killed.
        let gone = Command::new("umount").args(["--recursive"]).arg(self.dir.path()).status();
        assert!(std::thread::panicking() || (stopped && gone.unwrap().success()), "the engine is gone");
    }
}

fn run(command: &mut Command) {
    let status = command.stdout(Stdio::null()).status().unwrap();
    assert!(status.success(), "{command:?}");
}
