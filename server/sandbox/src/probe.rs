//! Whether the engine sees the folder of FIFOs under the path that we know it by.

use std::collections::HashMap;
use std::io::Write;
use std::path::Path;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use bollard::models::{ContainerCreateBody, HostConfig, Mount, MountType};
use futures_util::StreamExt;
use guest::FIFO_DIR;
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
        let body = self.reader(container::image_tag(image)?, dir.path());
        let guard = inner.removals.guard(format!("todoku-{id}"), None);
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

    /// A container that prints the file in `dir`, with nothing that it does not need for that.
    fn reader(&self, tag: String, dir: &Path) -> ContainerCreateBody {
        let expires = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default() + PATIENCE * 3;
        // A mount of this kind is refused where there is nothing; a bind would make a folder there.
        let mount = Mount {
            typ: Some(MountType::BIND),
            source: Some(dir.display().to_string()),
            target: Some(FIFO_DIR.to_owned()),
            read_only: Some(true),
            ..Mount::default()
        };
        ContainerCreateBody {
            image: Some(tag),
            entrypoint: Some(vec!["/bin/cat".to_owned(), format!("{FIFO_DIR}/{FILE}")]),
            labels: Some(HashMap::from([
                (container::INSTANCE.to_owned(), self.inner.instance.to_string()),
                (container::EXPIRES.to_owned(), expires.as_secs().to_string()),
            ])),
            attach_stdout: Some(true),
            attach_stderr: Some(true),
            host_config: Some(HostConfig {
                cap_drop: Some(vec!["ALL".to_owned()]),
                security_opt: Some(vec!["no-new-privileges".to_owned()]),
                network_mode: Some("none".to_owned()),
                readonly_rootfs: Some(true),
                mounts: Some(vec![mount]),
                runtime: self.inner.config.runtime.clone(),
                ..HostConfig::default()
            }),
            ..ContainerCreateBody::default()
        }
    }
}
