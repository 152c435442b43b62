//! A request body in pieces of known length, so that nodes that are kept are sent without a copy
//! and with a `Content-Length`, which simple servers need.

use std::collections::VecDeque;
use std::convert::Infallible;
use std::pin::Pin;
use std::task::{Context, Poll};

use bytes::Bytes;
use http_body::{Body, Frame, SizeHint};

/// The pieces.
#[derive(Debug, Default)]
pub(super) struct Chunks(VecDeque<Bytes>);

impl Chunks {
    pub(super) fn push(&mut self, chunk: impl Into<Bytes>) {
        self.0.push_back(chunk.into());
    }

    pub(super) fn extend(&mut self, chunk: Option<Bytes>) {
        self.0.extend(chunk);
    }

    /// How many bytes there are.
    pub(super) fn len(&self) -> usize {
        self.0.iter().map(Bytes::len).sum()
    }
}

impl Body for Chunks {
    type Data = Bytes;
    type Error = Infallible;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        _: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Infallible>>> {
        Poll::Ready(self.0.pop_front().map(|chunk| Ok(Frame::data(chunk))))
    }

    fn is_end_stream(&self) -> bool {
        self.0.is_empty()
    }

    fn size_hint(&self) -> SizeHint {
        SizeHint::with_exact(self.len() as u64)
    }
}
