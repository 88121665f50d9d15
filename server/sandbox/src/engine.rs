//! The few calls we make to the engine, each with a deadline.

use std::collections::HashMap;
use std::future::Future;
use std::time::Duration;

use bollard::container::AttachContainerResults;
use bollard::errors::Error as DockerError;
use bollard::models::{ContainerCreateBody, ContainerSummary};
use bollard::query_parameters::{
    AttachContainerOptionsBuilder, CreateContainerOptionsBuilder, ListContainersOptionsBuilder,
    RemoveContainerOptionsBuilder,
};
use bollard::{API_DEFAULT_VERSION, Docker};

use crate::{Error, Facts};

/// A busy engine takes seconds for what usually takes 0.1 s.
const PATIENCE: Duration = Duration::from_secs(30);
/// An engine that does not answer to this in time is as good as gone.
const PING_PATIENCE: Duration = Duration::from_secs(5);

#[derive(Clone)]
pub(crate) struct Engine {
    docker: Docker,
}

impl Engine {
    pub(crate) async fn connect(host: Option<&str>) -> Result<Self, Error> {
        let seconds = PATIENCE.as_secs();
        let docker = match host {
            None => Docker::connect_with_unix_defaults(),
            Some(host) if host.starts_with("unix://") => {
                Docker::connect_with_unix(host, seconds, API_DEFAULT_VERSION)
            }
            Some(host) => {
                return Err(Error::Refused(format!(
                    "DOCKER_HOST={host:?} is no unix:// socket: sandboxes answer through FIFOs, so the engine must be on \
                     this machine; run todoku work there"
                )));
            }
        };
        let doing = "be reached";
        let docker = docker.map_err(|source| Error::Engine { doing, source })?;
        let docker = within(PING_PATIENCE, doing, docker.negotiate_version()).await?;
        Ok(Self { docker })
    }

    pub(crate) async fn ping(&self) -> Result<(), Error> {
        within(PING_PATIENCE, "be reached", self.docker.ping()).await.map(drop)
    }

    pub(crate) async fn facts(&self) -> Result<Facts, Error> {
        let info = within(PATIENCE, "say what it is", self.docker.info()).await?;
        Ok(Facts::read(info, self.docker.client_version().to_string()))
    }

    /// The label of an image; `None` when the image or the label is missing.
    pub(crate) async fn image_label(&self, tag: &str, label: &str) -> Result<Option<String>, Error> {
        match within(PATIENCE, "look for an image", self.docker.inspect_image(tag)).await {
            Ok(image) => Ok(image.config.and_then(|config| config.labels?.remove(label))),
            Err(error) if status(&error) == Some(404) => Ok(None),
            Err(error) => Err(error),
        }
    }

    pub(crate) async fn create(&self, name: &str, body: ContainerCreateBody) -> Result<(), Error> {
        let tag = body.image.clone().unwrap_or_default();
        let options = CreateContainerOptionsBuilder::default().name(name).build();
        match within(PATIENCE, "create a container", self.docker.create_container(Some(options), body)).await
        {
            Ok(_) => Ok(()),
            Err(error) if status(&error) == Some(404) => Err(Error::image(&tag, None)),
            Err(error) => Err(error),
        }
    }

    pub(crate) async fn attach(&self, name: &str) -> Result<AttachContainerResults, Error> {
        let options = AttachContainerOptionsBuilder::default()
            .stream(true)
            .stdin(true)
            .stdout(true)
            .stderr(true)
            .build();
        within(PATIENCE, "attach to a container", self.docker.attach_container(name, Some(options))).await
    }

    pub(crate) async fn start(&self, name: &str) -> Result<(), Error> {
        within(PATIENCE, "start a container", self.docker.start_container(name, None)).await
    }

    /// Kills and removes; a container that is not there is well removed.
    pub(crate) async fn remove(&self, name: &str) -> Result<(), Error> {
        let options = RemoveContainerOptionsBuilder::default().force(true).v(true).build();
        match within(PATIENCE, "remove a container", self.docker.remove_container(name, Some(options))).await
        {
            // 409: somebody else is removing it.
            Err(error) if matches!(status(&error), Some(404 | 409)) => Ok(()),
            other => other,
        }
    }

    /// Whether the engine says that the kernel ran out of the container's memory.
    pub(crate) async fn was_oom_killed(&self, name: &str) -> Result<bool, Error> {
        let found =
            within(PATIENCE, "look at a container", self.docker.inspect_container(name, None)).await?;
        Ok(found.state.and_then(|state| state.oom_killed).unwrap_or(false))
    }

    /// All containers that carry `label`, running or not.
    pub(crate) async fn labelled(&self, label: &str) -> Result<Vec<ContainerSummary>, Error> {
        let filters = HashMap::from([("label", vec![label])]);
        let options = ListContainersOptionsBuilder::default().all(true).filters(&filters).build();
        within(PATIENCE, "list containers", self.docker.list_containers(Some(options))).await
    }
}

async fn within<T>(
    patience: Duration,
    doing: &'static str,
    call: impl Future<Output = Result<T, DockerError>>,
) -> Result<T, Error> {
    match tokio::time::timeout(patience, call).await {
        Ok(Ok(value)) => Ok(value),
        Ok(Err(source)) => Err(Error::Engine { doing, source }),
        Err(_) => Err(Error::Timeout { doing, after: patience }),
    }
}

fn status(error: &Error) -> Option<u16> {
    match error {
        Error::Engine { source: DockerError::DockerResponseServerError { status_code, .. }, .. } => {
            Some(*status_code)
        }
        _ => None,
    }
}
