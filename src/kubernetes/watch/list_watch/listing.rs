//! A list, told object by object while its pages come.
//!
//! A page says at its beginning how the next one is asked for. It is asked for at once, so that the
//! API server works on it while this one is read.

use std::sync::Arc;

use bytes::Bytes;
use kube::client::Body;
use tokio::time::Instant;
use tokio_util::task::AbortOnDropHandle;

use crate::kubernetes::protobuf::{ListPart, ListReader};
use crate::kubernetes::watch::list_watch::error::ListWatchError;
use crate::kubernetes::watch::list_watch::resource::{ANSWER_LIMIT, WatchedResource};

/// Objects of the first page, as client-go's pager and kube-runtime's watcher ask for.
const PAGE_SIZE: u32 = 500;
/// Objects of a later page, if those of the pages before are small: what the API server itself asks
/// etcd for at most (`maxLimit` in `apiserver/pkg/storage/etcd3`).
const PAGE_SIZE_MAX: u32 = 10_000;
/// What a later page may have in bytes, with more objects than the first one. What the API server
/// spends on each page no longer matters in ones so large.
const PAGE_BYTES: usize = 4 * 1024 * 1024;

/// A list that is being read.
pub(super) struct Listing {
    resource: Arc<WatchedResource>,
    page: OpenPage,
    asked: Option<AskedPage>,
    version: String,
    /// The first object, which is read when the list begins.
    first: Option<Bytes>,
    is_over: bool,
    /// Of the pages before this one.
    before: Read,
    /// Of this page.
    read: Read,
}

/// A page that was asked for ahead.
type AskedPage = AbortOnDropHandle<Result<Body, ListWatchError>>;

/// A page that is being read.
struct OpenPage {
    body: Body,
    reader: ListReader,
    /// When it has to have been read.
    until: Instant,
    next: Option<String>,
}

/// How much was read.
#[derive(Clone, Copy, Debug, Default)]
struct Read {
    objects: usize,
    bytes: usize,
}

// === impl Listing ===

impl Listing {
    /// Asks for the first page, and reads so much of it that it is known to be one.
    pub(super) async fn begin(resource: &Arc<WatchedResource>) -> Result<Self, ListWatchError> {
        let body = resource.page(None, PAGE_SIZE).await?;
        let mut listing = Self {
            page: OpenPage::new(body, resource),
            resource: Arc::clone(resource),
            asked: None,
            version: String::new(),
            first: None,
            is_over: false,
            before: Read::default(),
            read: Read::default(),
        };
        listing.first = listing.read_object().await?;
        Ok(listing)
    }

    /// The message of the next object; `None` at the end of the list.
    pub(super) async fn next(&mut self) -> Result<Option<Bytes>, ListWatchError> {
        match self.first.take() {
            Some(first) => Ok(Some(first)),
            None if self.is_over => Ok(None),
            None => self.read_object().await,
        }
    }

    async fn read_object(&mut self) -> Result<Option<Bytes>, ListWatchError> {
        loop {
            let part = self.page.reader.next();
            match part.map_err(|reason| self.resource.unreadable(reason))? {
                Some(ListPart::Item(item)) => {
                    self.read.objects += 1;
                    self.read.bytes += item.len();
                    return Ok(Some(item));
                }
                Some(ListPart::Metadata {
                    resource_version,
                    next,
                }) => {
                    self.version = resource_version;
                    self.page.next = next;
                    // Of the first page it is not known yet how large objects are.
                    if self.before.objects > 0 {
                        self.ask_for_next_page();
                    }
                }
                None => {
                    if !self.read_more().await? && !self.turn_page().await? {
                        self.is_over = true;
                        return Ok(None);
                    }
                }
            }
        }
    }

    /// The version of the list, once it was read.
    pub(super) fn into_version(self) -> String {
        self.version
    }

    /// Reads what has come; tells whether the page goes on.
    async fn read_more(&mut self) -> Result<bool, ListWatchError> {
        let OpenPage { body, until, .. } = &mut self.page;
        if let Some(data) = self.resource.read(body, *until, ANSWER_LIMIT).await? {
            self.page.reader.push(data);
            return Ok(true);
        }
        let end = self.page.reader.finish();
        end.map_err(|reason| self.resource.unreadable(reason))?;
        Ok(false)
    }

    /// Goes on to the next page; tells whether there is one.
    async fn turn_page(&mut self) -> Result<bool, ListWatchError> {
        self.before.objects += self.read.objects;
        self.before.bytes += self.read.bytes;
        self.read = Read::default();
        self.ask_for_next_page();
        let Some(asked) = self.asked.take() else {
            return Ok(false);
        };
        let body = asked
            .await
            .map_err(|error| self.resource.no_request(error))??;
        self.page = OpenPage::new(body, &self.resource);
        Ok(true)
    }

    /// Asks for the next page, if there is one and it was not asked for.
    fn ask_for_next_page(&mut self) {
        let Some(token) = self.page.next.take() else {
            return;
        };
        let (resource, limit) = (Arc::clone(&self.resource), self.before.page_size());
        let page = async move { resource.page(Some(token), limit).await };
        self.asked = Some(AbortOnDropHandle::new(tokio::spawn(page)));
    }
}

// === impl OpenPage ===

impl OpenPage {
    fn new(body: Body, resource: &WatchedResource) -> Self {
        Self {
            body,
            reader: ListReader::default(),
            until: resource.clock.now() + ANSWER_LIMIT,
            next: None,
        }
    }
}

// === impl Read ===

impl Read {
    /// How many objects fit into a page if they are as large as these.
    fn page_size(self) -> u32 {
        let fit = PAGE_BYTES.saturating_mul(self.objects) / self.bytes.max(1);
        u32::try_from(fit)
            .unwrap_or(u32::MAX)
            .clamp(PAGE_SIZE, PAGE_SIZE_MAX)
    }
}
