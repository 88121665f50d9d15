//! Finding the end of an output before the container's own end.

use guest::Seal;
use memchr::memmem;

/// One of the two outputs of a run, up to its seal. The engine tells of a container's end some 25 to
/// 120 ms late; the guest's seal comes with the last byte.
#[derive(Debug)]
pub(crate) struct Sealed {
    seal: Seal,
    /// The end of what came, where it may be the seal's beginning.
    held: Vec<u8>,
    is_whole: bool,
}

impl Sealed {
    pub(crate) fn new(seal: Seal) -> Self {
        Self { seal, held: Vec::new(), is_whole: false }
    }

    /// Whether the seal has come: there is nothing more.
    pub(crate) fn is_whole(&self) -> bool {
        self.is_whole
    }

    /// What of the bytes so far belongs to the program's output and was not given yet.
    pub(crate) fn push(&mut self, bytes: &[u8]) -> Vec<u8> {
        if self.is_whole {
            return Vec::new();
        }
        let mut all = std::mem::take(&mut self.held);
        all.extend_from_slice(bytes);
        if let Some(at) = memmem::find(&all, &self.seal) {
            self.is_whole = true;
            all.truncate(at);
        } else {
            let begun = (1..self.seal.len()).rev().find(|len| all.ends_with(&self.seal[..*len])).unwrap_or(0);
            self.held = all.split_off(all.len() - begun);
        }
        all
    }

    /// What was held back of an output that ended without its seal.
    pub(crate) fn rest(&mut self) -> Vec<u8> {
        std::mem::take(&mut self.held)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SEAL: Seal = *b"aabaabaacaabaaba";

    #[test]
    fn the_seal_is_found_however_it_is_cut_up() {
        let whole = [b"out aabaa put".as_slice(), &SEAL, b"later"].concat();
        for size in 1..whole.len() {
            let mut sealed = Sealed::new(SEAL);
            let given: Vec<u8> = whole.chunks(size).flat_map(|chunk| sealed.push(chunk)).collect();
            assert_eq!(given, b"out aabaa put", "in pieces of {size}");
            assert!(sealed.is_whole());
        }
    }

    #[test]
    fn without_a_seal_nothing_is_lost() {
        let mut sealed = Sealed::new(SEAL);
        let mut given = sealed.push(b"abc aabaabaac");
        given.extend(sealed.rest());
        assert_eq!(given, b"abc aabaabaac");
        assert!(!sealed.is_whole());
    }
}
