//! What the sandbox needs to be told.

use std::path::PathBuf;

/// Where the engine is and how to use it.
#[derive(Debug, Clone)]
pub struct Config {
    /// Address of the engine, `unix:///path`; `None` for the usual socket.
    pub docker_host: Option<String>,
    /// Folder for the runs' FIFOs; made when missing, for root alone. The engine must see it under
    /// the same path, since it mounts the FIFOs from here.
    pub fifo_dir: PathBuf,
    /// Images that [`crate::Sandbox::check`] asks for: folders of `lab-images/`.
    pub images: Vec<String>,
    /// The engine's runtime (`runc`, `runsc`); `None` for the engine's default.
    pub runtime: Option<String>,
    /// Containers made ahead at most; fewer where memory is short.
    pub parked: usize,
    /// Containers created and started at one time.
    pub concurrent_starts: usize,
}

impl Config {
    /// Whether the runtime brings a kernel of its own (gVisor), which differs from Linux in what it shows
    /// inside, how it takes read-only mounts, and where it can stop a tracee.
    #[must_use]
    pub fn has_own_kernel(&self) -> bool {
        self.runtime.as_deref().is_some_and(|runtime| runtime.contains("runsc"))
    }
}

impl Default for Config {
    fn default() -> Self {
        Self {
            docker_host: None,
            fifo_dir: PathBuf::from("/run/todoku"),
            images: vec!["node24".to_owned()],
            runtime: None,
            parked: 0,
            concurrent_starts: 3,
        }
    }
}
