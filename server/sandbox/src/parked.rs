//! A container that has been started and waits for its run on stdin.

use std::pin::Pin;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use bollard::container::LogOutput;
use futures_util::Stream;
use lab::Limits;
use tokio::io::AsyncWrite;
use tokio::net::unix::pipe;
use uuid::Uuid;

use crate::fifo::RunDir;
use crate::removal::Guard;
use crate::{Error, Sandbox, container};

/// One container serves one run: running consumes this value, dropping it removes the container.
pub(crate) struct Parked {
    pub(crate) input: Pin<Box<dyn AsyncWrite + Send>>,
    pub(crate) output: Pin<Box<dyn Stream<Item = Result<LogOutput, bollard::errors::Error>> + Send>>,
    pub(crate) trace: pipe::Receiver,
    pub(crate) control: pipe::Receiver,
    /// Before the folder, so that a container never outlives what it mounts by much.
    pub(crate) guard: Guard,
    pub(crate) _dir: RunDir,
}

impl Sandbox {
    /// Creates and starts a container with room for `limits`, good for `lifetime`.
    pub(crate) async fn park(
        &self,
        image: &str,
        limits: &Limits,
        lifetime: Duration,
    ) -> Result<Parked, Error> {
        let inner = &*self.inner;
        let tag = container::image_tag(image)?;
        let id = Uuid::now_v7().to_string();
        let dir = inner.fifos.run_dir(&id)?;
        let (trace, control) = (dir.open_trace()?, dir.open_control()?);

        let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        let instance = inner.instance.to_string();
        let who = container::Identity {
            instance: &instance,
            expires_unix: (now + lifetime).as_secs(),
            fifos: dir.path(),
            runtime: inner.config.runtime.as_deref(),
            own_kernel: inner.config.has_own_kernel(),
        };
        let body = container::body(tag, limits, &who);
        // A closed semaphore is no reason not to start; it is never closed.
        let _permit = inner.starts.acquire().await;
        let guard = inner.removals.guard(format!("todoku-{id}"));
        inner.engine.create(guard.name(), body).await?;
        // Attached before the start, so that nothing is missed.
        let attached = inner.engine.attach(guard.name()).await?;
        inner.engine.start(guard.name()).await?;
        Ok(Parked { input: attached.input, output: attached.output, trace, control, guard, _dir: dir })
    }
}
