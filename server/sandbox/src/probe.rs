//! Whether the engine sees the folder of FIFOs under the path that we know it by.

use std::io::Write;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use bollard::models::{Mount, MountType};
use futures_util::StreamExt;
use guest::FIFO_DIR;
use lab::Limits;
use tokio::time::timeout;
use uuid::Uuid;

use crate::{Error, Sandbox, container};

const FILE: &str = "probe";
const PATIENCE: Duration = Duration::from_secs(20);

impl Sandbox {
    /// Mounts a folder beside those of the FIFOs into a container of `image`, and has it read a word there.
    pub async fn probe_folder(&self, image: &str) -> Result<(), Error> {
        let inner = &*self.inner;
        let id = Uuid::now_v7().to_string();
        let dir = inner.fifos.run_dir(&id)?;
        let unwritable = |source| Error::folder("cannot write in", dir.path(), source);
        std::fs::File::create_new(dir.path().join(FILE))
            .and_then(|mut file| file.write_all(id.as_bytes()))
            .map_err(unwritable)?;
        let instance = inner.instance.to_string();
        let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        let who = container::Identity {
            instance: &instance,
            expires_unix: (now + PATIENCE * 3).as_secs(),
            fifos: dir.path(),
            runtime: inner.config.runtime.as_deref(),
            own_kernel: inner.config.has_own_kernel(),
        };
        let mut body = container::body(container::image_tag(image)?, &Limits::default(), &who);
        body.entrypoint = Some(vec!["/bin/cat".to_owned(), format!("{FIFO_DIR}/{FILE}")]);
        if let Some(host) = &mut body.host_config {
            // A mount of this kind is refused where there is nothing; a bind would make a folder there.
            host.binds = None;
            host.mounts = Some(vec![Mount {
                typ: Some(MountType::BIND),
                source: Some(dir.path().display().to_string()),
                target: Some(FIFO_DIR.to_owned()),
                read_only: Some(true),
                ..Mount::default()
            }]);
        }
        let guard = inner.removals.guard(format!("todoku-{id}"));
        let advice = |what: String| {
            let folder = inner.config.fifo_dir.display();
            Error::Refused(format!(
                "the engine does not see the folder {folder} as we do ({what}): set TODOKU_FIFO_DIR to a folder of the \
                 engine's machine, and where we are in a container ourselves, mount it there under the same path"
            ))
        };
        match inner.engine.create(guard.name(), body).await {
            Err(error) if error.to_string().contains("bind source path") => {
                return Err(advice("it is not there".to_owned()));
            }
            created => created?,
        }
        let mut attached = inner.engine.attach(guard.name()).await?;
        inner.engine.start(guard.name()).await?;
        let mut said = Vec::new();
        let listen = async {
            while let Some(output) = attached.output.next().await {
                said.extend_from_slice(output.as_ref().map_or(&[][..], AsRef::as_ref));
            }
        };
        timeout(PATIENCE, listen).await.map_err(|_late| Error::Timeout {
            doing: "read a file in the folder of FIFOs",
            after: PATIENCE,
        })?;
        if said == id.as_bytes() {
            return Ok(());
        }
        Err(advice(String::from_utf8_lossy(&said).trim().to_owned()))
    }
}
