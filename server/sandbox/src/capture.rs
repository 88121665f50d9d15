//! Bytes of a stream, kept up to a cap.

use lab::{Bytes, Captured};

#[derive(Debug)]
pub(crate) struct Capture {
    cap: usize,
    captured: Captured,
}

impl Capture {
    pub(crate) fn new(cap: Bytes) -> Self {
        Self { cap: usize::try_from(cap.0).unwrap_or(usize::MAX), captured: Captured::default() }
    }

    /// Keeps what fits. Returns whether the cap has been passed.
    pub(crate) fn push(&mut self, bytes: &[u8]) -> bool {
        let room = self.cap - self.captured.bytes.len();
        let (kept, dropped) = bytes.split_at(room.min(bytes.len()));
        self.captured.bytes.extend_from_slice(kept);
        self.captured.dropped += dropped.len() as u64;
        self.captured.dropped > 0
    }

    pub(crate) fn bytes(&self) -> &[u8] {
        &self.captured.bytes
    }

    pub(crate) fn into_captured(self) -> Captured {
        self.captured
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_head_is_kept_and_the_rest_counted() {
        let mut capture = Capture::new(Bytes(5));
        assert!(!capture.push(b"abc"));
        assert!(!capture.push(b"de"), "exactly full is not over");
        assert!(capture.push(b"fgh"));
        assert!(capture.push(b"i"));
        let captured = capture.into_captured();
        assert_eq!((captured.bytes.as_slice(), captured.dropped), (b"abcde".as_slice(), 4));
    }
}
