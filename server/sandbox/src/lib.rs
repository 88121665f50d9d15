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
mod facts;
mod fifo;
mod leftovers;
mod outcome;
mod parked;
mod pool;
mod probe;
mod removal;
mod run;
mod scan;
mod seal;
mod slot;
mod sweep;
mod terminal;

pub use config::Config;
pub use error::Error;
pub use facts::Facts;
pub use run::{OutputSender, RunRequest, Stream};
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
    /// What the engine said of itself; empty again after it was away.
    facts: tokio::sync::Mutex<Option<Facts>>,
    fifos: fifo::Home,
    slots: Arc<slot::Slots>,
    pool: Arc<pool::Pool>,
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
        let fifos = fifo::Home::make(&config.fifo_dir, instance)?;
        let pool = pool::Pool::new(pool::Pool::affordable(config.parked, free_memory()));
        let inner = Arc::new(Inner {
            fifos,
            slots: slot::Slots::make(&config.fifo_dir)?,
            pool: Arc::clone(&pool),
            facts: tokio::sync::Mutex::default(),
            removals: removal::Lane::start(engine.clone()),
            starts: tokio::sync::Semaphore::new(config.concurrent_starts),
            config,
            engine,
            instance,
        });
        for _ in 0..inner.config.concurrent_starts.min(inner.config.parked) {
            tokio::spawn(pool::fill(Arc::clone(&pool), Arc::downgrade(&inner)));
        }
        Ok(Self { inner })
    }

    /// Makes containers for runs of `image` within `limits` ahead, as many as [`Config::parked`] says.
    /// From then on what is kept follows what is run.
    pub fn warm(&self, image: &str, limits: &lab::Limits) {
        self.inner.pool.warm(&container::Shape::of(image, limits));
    }

    /// How many containers wait for a run.
    #[must_use]
    pub fn parked(&self) -> usize {
        self.inner.pool.ready()
    }

    /// Whether the engine answers, has the runtime, room on its disk, and every image, of the version
    /// that this program speaks to.
    pub async fn check(&self) -> Result<(), Error> {
        let inner = &*self.inner;
        if let Err(away) = inner.engine.ping().await {
            // It may come back as another one.
            *inner.facts.lock().await = None;
            return Err(away);
        }
        let facts = self.facts().await?;
        let runtime = inner.config.runtime.as_deref();
        if let Some(fault) = runtime.and_then(|wanted| facts.runtime_fault(wanted)) {
            return Err(Error::Refused(fault));
        }
        if let Some(fault) = facts.disk_fault() {
            return Err(Error::Refused(fault));
        }
        self.check_images().await
    }

    /// Whether the engine has every image, of the version that this program speaks to.
    pub async fn check_images(&self) -> Result<(), Error> {
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

    /// Waits until every container that this process let go of is removed. Those that wait for a run
    /// stay. Without a deadline of its own: an engine may be away for long.
    pub async fn drain(&self) {
        self.inner.removals.drained().await;
    }

    /// Lets go of everything that waits for a run, and drains. The sandbox makes nothing ahead after
    /// that.
    pub async fn close(&self) {
        self.inner.pool.close();
        while self.inner.pool.is_making() {
            tokio::time::sleep(std::time::Duration::from_millis(20)).await;
        }
        self.inner.slots.close();
        self.drain().await;
    }
}

/// Bytes of memory that the kernel could give away (`proc_meminfo(5)`, `MemAvailable`).
fn free_memory() -> Option<u64> {
    let text = std::fs::read_to_string("/proc/meminfo").ok()?;
    let line = text.lines().find_map(|line| line.strip_prefix("MemAvailable:"))?;
    Some(line.split_whitespace().next()?.parse::<u64>().ok()? * 1024)
}
