//! The files of `strace -ff`, one for each thread, as the one text that `-f` would have written.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use memchr::memchr;

use crate::leader::{Time, leader};

/// Joins texts of one thread each, in the order of their times; every line gets its thread's number.
/// A line without a time stays behind the one before it. Where no line has a time, the texts follow
/// each other.
#[must_use]
pub fn merge(texts: &[(u32, &[u8])]) -> Vec<u8> {
    let bytes: usize = texts.iter().map(|(_, text)| text.len() + text.len() / 8 + 16).sum();
    let mut merged = Vec::with_capacity(bytes);
    let mut heads: BinaryHeap<Reverse<(i64, usize)>> = BinaryHeap::new();
    let mut left: Vec<&[u8]> = texts.iter().map(|(_, text)| *text).collect();
    for (index, text) in left.iter().enumerate().filter(|(_, text)| !text.is_empty()) {
        heads.push(Reverse((time(text).unwrap_or(i64::MIN), index)));
    }
    while let Some(Reverse((now, index))) = heads.pop() {
        let text = left[index];
        let end = memchr(b'\n', text).unwrap_or(text.len());
        merged.extend_from_slice(format!("{:<5} ", texts[index].0).as_bytes());
        merged.extend_from_slice(&text[..end]);
        merged.push(b'\n');
        left[index] = text.get(end + 1..).unwrap_or_default();
        if !left[index].is_empty() {
            let next = time(left[index]).map_or(now, |next| next.max(now));
            heads.push(Reverse((next, index)));
        }
    }
    merged
}

/// The time of a text's first line.
fn time(text: &[u8]) -> Option<i64> {
    let end = memchr(b'\n', text).unwrap_or(text.len());
    match leader(&text[..end], 0).0.time? {
        Time::Epoch(ns) | Time::OfDay(ns) => Some(ns),
        Time::Delta(_) => None,
    }
}
