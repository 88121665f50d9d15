//! A terminal: a learner's shell in a container of its own, for as long as somebody holds on to it.
//!
//! The wall is the one of a run, with fewer capabilities: nothing inside needs to trace across users.
//! The learner's strace traces the learner's own programs. Nothing that happens here is graded.

use std::collections::BTreeMap;
use std::pin::Pin;
use std::time::Duration;

use bollard::container::LogOutput;
use bollard::models::ContainerCreateBody;
use futures_util::{Stream, StreamExt};
use guest::Entry;
use guest::frames::{FromGuest, Open, TERMINAL, ToGuest};
use lab::{Limits, MAX_FILES, MAX_SUBMISSION_BYTES};
use tokio::io::{AsyncWrite, AsyncWriteExt};
use tokio::time::timeout;

pub use guest::frames::{Folder, INPUT_WINDOW, OUTPUT_WINDOW, Size};

use crate::container::Shape;
use crate::parked::Launched;
use crate::removal::Guard;
use crate::{Error, Sandbox};

/// Becoming the learner, and nothing else.
const CAPABILITIES: [&str; 2] = ["SETUID", "SETGID"];
/// Hidden in a run's container.
const PSEUDO_TERMINALS: &str = "/dev/pts";
/// What the guest gets to take a frame: it never waits for the learner's programs.
const TAKES: Duration = Duration::from_secs(10);
/// How long a container may be left to itself over its lifetime before anyone may remove it.
const EXPIRY_MARGIN: Duration = Duration::from_secs(120);
/// Kept of what the first process says on its standard error.
const MAX_SAID: usize = 4096;

/// Which terminal to open.
pub struct TerminalRequest<'a> {
    /// Image: a folder of `lab-images/`.
    pub image: &'a str,
    /// Memory, processes, CPU, open files and disk; the other limits are a run's alone.
    pub limits: &'a Limits,
    /// How long it lives at most. The caller ends it; past this anyone may.
    pub lifetime: Duration,
    /// The work folder's content by relative path.
    pub files: &'a BTreeMap<String, Vec<u8>>,
    /// Columns and rows at first.
    pub size: Size,
}

/// What comes out of a terminal.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum TerminalEvent {
    /// What the shell and its programs wrote. The next [`OUTPUT_WINDOW`] bytes come once these are read.
    Output(Vec<u8>),
    /// So many bytes of input have been taken.
    Taken(u32),
    /// The answer to [`Terminal::ask_files`].
    Files(Folder),
    /// The shell ended, and its container with it.
    Ended,
}

/// An open terminal. Dropping it removes its container.
pub struct Terminal {
    input: Pin<Box<dyn AsyncWrite + Send>>,
    output: Pin<Box<dyn Stream<Item = Result<LogOutput, bollard::errors::Error>> + Send>>,
    /// Bytes of frames that are not whole yet.
    waiting: Vec<u8>,
    said: Vec<u8>,
    _guard: Guard,
}

impl Sandbox {
    /// Opens a terminal in a container of its own.
    ///
    /// # Errors
    /// When the engine fails, the image is missing, or the files do not fit.
    pub async fn open_terminal(&self, request: TerminalRequest<'_>) -> Result<Terminal, Error> {
        let shape = Shape::of(request.image, request.limits);
        // Everything goes over the attached standard input and output: no FIFOs.
        let Launched { guard, learner, attached } =
            self.launch(&shape, request.lifetime + EXPIRY_MARGIN, None, as_terminal).await?;
        let first = first_bytes(&request, learner).map_err(|error| Error::Refused(error.to_string()))?;
        let (input, output) = (attached.input, attached.output);
        let mut terminal = Terminal { input, output, waiting: Vec::new(), said: Vec::new(), _guard: guard };
        terminal.write(&first).await?;
        Ok(terminal)
    }
}

fn as_terminal(mut body: ContainerCreateBody) -> ContainerCreateBody {
    body.cmd = Some(vec![TERMINAL.to_owned()]);
    if let Some(host) = &mut body.host_config {
        host.cap_add = Some(CAPABILITIES.map(String::from).to_vec());
        // The guest opens one pseudo-terminal there, and then nobody can.
        host.masked_paths.iter_mut().for_each(|paths| paths.retain(|path| path != PSEUDO_TERMINALS));
    }
    body
}

fn first_bytes(request: &TerminalRequest<'_>, learner: u32) -> std::io::Result<Vec<u8>> {
    let open = Open {
        learner,
        size: request.size,
        open_files: u64::from(request.limits.open_files),
        back_files: u32::try_from(MAX_FILES).unwrap_or(u32::MAX),
        back_bytes: MAX_SUBMISSION_BYTES as u64,
        files: u32::try_from(request.files.len()).unwrap_or(u32::MAX),
    };
    let mut bytes = Vec::new();
    open.write(&mut bytes)?;
    for (path, content) in request.files {
        let entry = Entry { path: path.clone(), mode: 0o644, len: content.len() as u64 };
        entry.write(&mut bytes)?;
        bytes.extend_from_slice(content);
    }
    Ok(bytes)
}

impl Terminal {
    /// Waits for what comes next. Dropping the wait loses nothing.
    ///
    /// # Errors
    /// When the container ended without a word, or the guest failed.
    pub async fn next(&mut self) -> Result<TerminalEvent, Error> {
        loop {
            let frame = FromGuest::parse(&self.waiting).map_err(|error| Error::Guest(error.to_string()))?;
            if let Some((frame, length)) = frame {
                self.waiting.drain(..length);
                return match frame {
                    FromGuest::Output(bytes) => Ok(TerminalEvent::Output(bytes)),
                    FromGuest::Taken(bytes) => Ok(TerminalEvent::Taken(bytes)),
                    FromGuest::Files(folder) => Ok(TerminalEvent::Files(folder)),
                    FromGuest::Ended => Ok(TerminalEvent::Ended),
                    FromGuest::Failed(why) => Err(Error::Guest(why)),
                };
            }
            match self.output.next().await {
                Some(Ok(LogOutput::StdErr { message })) => {
                    let room = MAX_SAID - self.said.len();
                    self.said.extend_from_slice(&message[..message.len().min(room)]);
                }
                Some(Ok(output)) => self.waiting.extend_from_slice(&output.into_bytes()),
                Some(Err(source)) => return Err(Error::Engine { doing: "hand over the output", source }),
                None => {
                    let said = String::from_utf8_lossy(&self.said);
                    return Err(Error::Guest(format!("its first process ended: {}", said.trim_end())));
                }
            }
        }
    }

    /// Hands over what the learner typed. The guest drops what goes beyond [`INPUT_WINDOW`].
    ///
    /// # Errors
    /// When the container is gone.
    pub async fn input(&mut self, bytes: Vec<u8>) -> Result<(), Error> {
        self.send(&ToGuest::Input(bytes)).await
    }

    /// Tells the terminal its size.
    ///
    /// # Errors
    /// When the container is gone.
    pub async fn resize(&mut self, size: Size) -> Result<(), Error> {
        self.send(&ToGuest::Resize(size)).await
    }

    /// Says that so many bytes of output have been read.
    ///
    /// # Errors
    /// When the container is gone.
    pub async fn credit(&mut self, bytes: u32) -> Result<(), Error> {
        self.send(&ToGuest::Credit(bytes)).await
    }

    /// Asks for the work folder's files, within the bounds of a submission.
    ///
    /// # Errors
    /// When the container is gone.
    pub async fn ask_files(&mut self) -> Result<(), Error> {
        self.send(&ToGuest::Files).await
    }

    async fn send(&mut self, frame: &ToGuest) -> Result<(), Error> {
        let bytes = frame.bytes().map_err(|error| Error::Refused(error.to_string()))?;
        self.write(&bytes).await
    }

    async fn write(&mut self, bytes: &[u8]) -> Result<(), Error> {
        let write = async {
            self.input.write_all(bytes).await?;
            self.input.flush().await
        };
        match timeout(TAKES, write).await {
            // A guest that is gone has said why, if it could: `next` tells.
            Ok(_) => Ok(()),
            Err(_) => Err(Error::Timeout { doing: "talk to a terminal", after: TAKES }),
        }
    }
}
