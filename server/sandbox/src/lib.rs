//! The only door to the container engine: runs one learner's program, once, out of harm's way; or
//! opens a terminal there ([`Sandbox::open_terminal`]).
//!
//! [`Sandbox::run`] takes a [`lab::RunSpec`] and the files, and returns what came of it. Whatever
//! the program does is a [`lab::Outcome`]; an [`Error`] is the machine's fault. What stands between
//! the program and everything else is in `container.rs` (capabilities, mounts, limits) and
//! `seccomp.json`; the first process inside is the crate `guest`.

mod capture;
mod config;
mod container;
mod engine;
mod error;
mod fifo;
mod outcome;
mod parked;
mod removal;
mod run;
mod scan;
mod sweep;
mod terminal;

pub use config::Config;
pub use error::Error;
pub use run::RunRequest;
pub use sweep::Swept;
pub use terminal::{Folder, INPUT_WINDOW, OUTPUT_WINDOW, Size, Terminal, TerminalEvent, TerminalRequest};

use std::sync::Arc;

use uuid::Uuid;

/// The engine, ready to run programs. Cheap to clone.
#[derive(Clone)]
pub struct Sandbox {
    inner: Arc<Inner>,
}

struct Inner {
    config: Config,
    engine: engine::Engine,
    fifos: fifo::Home,
    removals: removal::Lane,
    /// Permits to create and start: engines slow down sharply when many starts overlap.
    starts: tokio::sync::Semaphore,
    /// Names this process among those that share the engine.
    instance: Uuid,
}

impl Sandbox {
    /// Connects to the engine and makes this process's folder for FIFOs. Needs a tokio runtime.
    pub async fn connect(config: Config) -> Result<Self, Error> {
        let engine = engine::Engine::connect(config.docker_host.as_deref()).await?;
        let instance = Uuid::now_v7();
        Ok(Self {
            inner: Arc::new(Inner {
                fifos: fifo::Home::make(&config.fifo_dir, instance)?,
                removals: removal::Lane::start(engine.clone()),
                starts: tokio::sync::Semaphore::new(config.concurrent_starts),
                config,
                engine,
                instance,
            }),
        })
    }

    /// Whether the engine answers and has every image, of the version this program speaks to.
    pub async fn check(&self) -> Result<(), Error> {
        self.inner.engine.ping().await?;
        for image in &self.inner.config.images {
            let tag = container::image_tag(image)?;
            let label = self.inner.engine.image_label(&tag, container::CONTRACT).await?;
            if label.as_deref() != Some(container::CONTRACT_VERSION) {
                return Err(Error::image(&tag, label.as_deref()));
            }
        }
        Ok(())
    }

    /// This process's name among those that share the engine: the label `todoku.sandbox`.
    #[must_use]
    pub fn instance(&self) -> Uuid {
        self.inner.instance
    }

    /// Waits until every container that this process let go of is removed.
    pub async fn drain(&self) {
        self.inner.removals.drained().await;
    }
}
