//! A container that has been started and waits for its run on stdin.

use std::path::Path;
use std::pin::Pin;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use bollard::container::{AttachContainerResults, LogOutput};
use bollard::models::ContainerCreateBody;
use futures_util::{FutureExt, Stream, StreamExt};
use tokio::io::AsyncWrite;
use tokio::net::unix::pipe;
use uuid::Uuid;

use crate::container::Shape;
use crate::fifo::RunDir;
use crate::pool::PARKED_LIFE;
use crate::removal::Guard;
use crate::{Error, Sandbox, container};

/// What a container may live past the time that it waited: the longest run and its end.
const EXPIRY_MARGIN: Duration = Duration::from_secs(1800);

/// One container serves one run: running consumes this value, dropping it removes the container.
pub(crate) struct Parked {
    pub(crate) input: Pin<Box<dyn AsyncWrite + Send>>,
    pub(crate) output: Pin<Box<dyn Stream<Item = Result<LogOutput, bollard::errors::Error>> + Send>>,
    pub(crate) trace: pipe::Receiver,
    pub(crate) control: pipe::Receiver,
    /// Uid and gid that its writable places belong to.
    pub(crate) learner: u32,
    /// Whether its kernel can stop a tracee at the traced calls alone.
    pub(crate) filter: bool,
    shape: Shape,
    since: Instant,
    /// Before the folder, so that a container never outlives what it mounts by much.
    pub(crate) guard: Guard,
    _dir: RunDir,
}

/// A container that runs.
pub(crate) struct Launched {
    pub(crate) guard: Guard,
    /// Uid and gid of the learner's program.
    pub(crate) learner: u32,
    pub(crate) attached: AttachContainerResults,
}

impl Parked {
    pub(crate) fn shape(&self) -> &Shape {
        &self.shape
    }

    /// Whether it still waits, as far as can be seen without asking the engine: it says nothing
    /// while it does, and its output ends when it is gone.
    pub(crate) fn is_fit(&mut self) -> bool {
        self.since.elapsed() < PARKED_LIFE && self.output.next().now_or_never().is_none()
    }
}

impl Sandbox {
    /// Creates and starts a container of `shape`, to be used within `lifetime`.
    pub(crate) async fn park(&self, shape: &Shape, lifetime: Duration) -> Result<Parked, Error> {
        let inner = &*self.inner;
        let dir = inner.fifos.run_dir(&Uuid::now_v7().to_string())?;
        let (trace, control) = (dir.open_trace()?, dir.open_control()?);
        let Launched { guard, learner, attached: AttachContainerResults { input, output } } =
            self.launch(shape, lifetime + EXPIRY_MARGIN, Some(dir.path()), |body| body).await?;
        Ok(Parked {
            input,
            output,
            trace,
            control,
            learner,
            filter: !inner.config.has_own_kernel(),
            shape: shape.clone(),
            since: Instant::now(),
            guard,
            _dir: dir,
        })
    }

    /// Starts a container of `shape` in a slot of its own, for `lifetime` at most. `change` has the
    /// last word on what it is allowed.
    pub(crate) async fn launch(
        &self,
        shape: &Shape,
        lifetime: Duration,
        fifos: Option<&Path>,
        change: impl Fn(ContainerCreateBody) -> ContainerCreateBody,
    ) -> Result<Launched, Error> {
        let inner = &*self.inner;
        let tag = container::image_tag(&shape.image)?;
        // A closed semaphore is no reason not to start; it is never closed.
        let _permit = inner.starts.acquire().await;
        let mut lease = inner.slots.lease()?;
        let (holder, was_there) = lease.holder(self, &tag).await?;
        let learner = lease.learner();

        let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        let instance = inner.instance.to_string();
        let who = container::Identity {
            instance: &instance,
            expires_unix: (now + lifetime).as_secs(),
            runtime: inner.config.runtime.as_deref(),
            own_kernel: inner.config.has_own_kernel(),
        };
        let place = container::Place { fifos, learner, holder: &holder };
        let mut guard = inner.removals.guard(format!("todoku-{}", Uuid::now_v7()), Some(lease));
        let mut started = self.start(&guard, change(container::body(tag.clone(), shape, &who, &place))).await;
        if started.is_err() && was_there {
            // The holder may have ended unseen, with its engine: once more with a new one.
            inner.engine.remove(guard.name()).await?;
            let holder = guard.new_holder(self, &tag).await?;
            let place = container::Place { holder: &holder, ..place };
            started = self.start(&guard, change(container::body(tag, shape, &who, &place))).await;
        }
        if started.is_err() {
            guard.forget_holder();
        }
        Ok(Launched { guard, learner, attached: started? })
    }

    async fn start(&self, guard: &Guard, body: ContainerCreateBody) -> Result<AttachContainerResults, Error> {
        let engine = &self.inner.engine;
        engine.create(guard.name(), body).await?;
        // Attached before the start, so that nothing is missed.
        let attached = engine.attach(guard.name()).await?;
        engine.start(guard.name()).await?;
        Ok(attached)
    }
}
