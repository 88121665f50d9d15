//! Bytes of a stream, kept up to a cap: the beginning, and of output the end as well.

use std::collections::VecDeque;

use lab::{Bytes, Captured};

#[derive(Debug)]
pub(crate) struct Capture {
    /// Most bytes of the head.
    head_cap: usize,
    /// Most bytes of the tail; 0 where only the head is wanted.
    tail_cap: usize,
    head: Vec<u8>,
    /// The last of what did not fit into the head.
    tail: VecDeque<u8>,
    dropped: u64,
}

impl Capture {
    /// Keeps the head alone: a trace without its middle proves nothing more.
    pub(crate) fn head(cap: Bytes) -> Self {
        Self::with(capacity(cap), 0)
    }

    /// Keeps both ends, half of the cap each: the last words of a flood say why it ended.
    pub(crate) fn both_ends(cap: Bytes) -> Self {
        let cap = capacity(cap);
        Self::with(cap - cap / 2, cap / 2)
    }

    fn with(head_cap: usize, tail_cap: usize) -> Self {
        Self { head_cap, tail_cap, head: Vec::new(), tail: VecDeque::new(), dropped: 0 }
    }

    /// Keeps what fits. Returns whether the cap has been passed.
    pub(crate) fn push(&mut self, bytes: &[u8]) -> bool {
        let room = self.head_cap - self.head.len();
        let (first, rest) = bytes.split_at(room.min(bytes.len()));
        self.head.extend_from_slice(first);
        let too_old = (self.tail.len() + rest.len()).saturating_sub(self.tail_cap);
        let out = too_old.min(self.tail.len());
        self.tail.drain(..out);
        self.tail.extend(&rest[too_old - out..]);
        self.dropped += too_old as u64;
        self.dropped > 0
    }

    /// The beginning.
    pub(crate) fn bytes(&self) -> &[u8] {
        &self.head
    }

    pub(crate) fn into_captured(self) -> Captured {
        let Self { mut head, tail, mut dropped, .. } = self;
        let mut tail = Vec::from(tail);
        if dropped == 0 {
            head.append(&mut tail);
        } else if !tail.is_empty() {
            // A character that the cut went through is left out whole.
            let cut = head.len() - torn_end(&head);
            let torn = tail.iter().take(3).take_while(|byte| is_continuation(**byte)).count();
            dropped += (head.len() - cut + torn) as u64;
            head.truncate(cut);
            tail.drain(..torn);
        }
        Captured { bytes: head, dropped, tail }
    }
}

fn capacity(cap: Bytes) -> usize {
    usize::try_from(cap.0).unwrap_or(usize::MAX)
}

/// Bytes at the end that begin a UTF-8 character and do not finish it.
fn torn_end(bytes: &[u8]) -> usize {
    let back = bytes.iter().rev().take(3).take_while(|byte| is_continuation(**byte)).count();
    let lead = bytes.iter().rev().nth(back).copied().unwrap_or(0);
    let length = lead.leading_ones() as usize;
    if (2..=4).contains(&length) && back + 1 < length { back + 1 } else { 0 }
}

const fn is_continuation(byte: u8) -> bool {
    byte & 0xC0 == 0x80
}

#[cfg(test)]
mod tests {
    use super::*;

    fn captured(mut capture: Capture, bytes: &[u8], chunk: usize) -> Captured {
        for piece in bytes.chunks(chunk) {
            capture.push(piece);
        }
        capture.into_captured()
    }

    fn both(cap: u64, bytes: &[u8], chunk: usize) -> (Vec<u8>, u64, Vec<u8>) {
        let Captured { bytes, dropped, tail } = captured(Capture::both_ends(Bytes(cap)), bytes, chunk);
        (bytes, dropped, tail)
    }

    #[test]
    fn the_head_is_kept_and_the_rest_counted() {
        let mut capture = Capture::head(Bytes(5));
        assert!(!capture.push(b"abc"));
        assert!(!capture.push(b"de"), "exactly full is not over");
        assert!(capture.push(b"fgh"));
        assert!(capture.push(b"i"));
        let captured = capture.into_captured();
        assert_eq!((captured.bytes.as_slice(), captured.dropped), (b"abcde".as_slice(), 4));
        assert!(captured.tail.is_empty());
    }

    #[test]
    fn both_ends_are_kept_however_the_bytes_arrive() {
        for chunk in [1, 2, 3, 5, 100] {
            assert_eq!(both(6, b"abcdef", chunk), (b"abcdef".to_vec(), 0, vec![]), "{chunk}: all of it fits");
            assert_eq!(both(6, b"abcdefg", chunk), (b"abc".to_vec(), 1, b"efg".to_vec()), "{chunk}");
            assert_eq!(both(5, b"abcdefghijklm", chunk), (b"abc".to_vec(), 8, b"lm".to_vec()), "{chunk}");
            assert_eq!(both(1, b"abc", chunk), (b"a".to_vec(), 2, vec![]), "{chunk}");
            assert_eq!(both(0, b"abc", chunk), (vec![], 3, vec![]), "{chunk}");
        }
    }

    #[test]
    fn a_character_is_never_cut_in_two() {
        // Three bytes each; head and tail of four hold one whole and a part.
        let text = "あいうえおか".as_bytes();
        assert_eq!(both(8, text, 7), ("あ".as_bytes().to_vec(), 12, "か".as_bytes().to_vec()));
        let text = "a😀b😀c😀".as_bytes();
        assert_eq!(both(8, text, 4), (b"a".to_vec(), 10, "😀".as_bytes().to_vec()));
        // What is no text at all stays as it is, but for bytes that look torn.
        assert_eq!(both(4, b"\xff\xfe\xff\xfe\xff\xfe", 1), (b"\xff\xfe".to_vec(), 2, b"\xff\xfe".to_vec()));
    }

    #[test]
    fn a_flood_takes_no_more_memory_than_the_cap() {
        let mut capture = Capture::both_ends(Bytes::kib(64));
        for _ in 0..10_000 {
            capture.push(&[b'x'; 1000]);
        }
        assert!(capture.head.len() <= 32 * 1024 && capture.tail.capacity() <= 128 * 1024);
        assert_eq!(capture.into_captured().dropped, 10_000_000 - 65_536);
    }
}
