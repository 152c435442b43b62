//! The consistent read: which version is now, and if the resource is not too large, which object is the newest.

use http::{Request, header};
use serde::Deserialize;

use crate::kubernetes::{barrier::BarrierError, resource_version::ResourceVersion};

/// The page size of client-go and kube.
const PAGE: usize = 500;
/// Up to here a complete read costs the API server little: at most ten pages. A larger cluster is not quiet.
const OBJECTS_MAX: usize = 5_000;
/// Only the metadata, which is all that is looked at.
const ACCEPT: &str = "application/json;as=PartialObjectMetadataList;v=v1;g=meta.k8s.io";

/// The state of one resource at one version.
#[derive(Debug, PartialEq)]
pub(super) struct Listing {
    /// The version of the read.
    pub(super) now: ResourceVersion,
    /// The version of the newest object, 0 without objects; `None` if there are too many to look at.
    pub(super) newest: Option<ResourceVersion>,
}

#[derive(Deserialize)]
struct Page {
    metadata: PageMetadata,
    /// An empty list of metadata comes as `null`.
    #[serde(default)]
    items: Option<Vec<Object>>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct PageMetadata {
    #[serde(default)]
    resource_version: String,
    #[serde(default, rename = "continue")]
    continue_token: String,
    #[serde(default)]
    remaining_item_count: Option<usize>,
}

/// An object of which only the version is read.
#[derive(Clone, Debug, Deserialize)]
pub(super) struct Object {
    pub(super) metadata: ObjectMetadata,
}

#[derive(Clone, Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct ObjectMetadata {
    pub(super) resource_version: String,
}

/// Reads without a resource version, so that the answer is not older than the question.
pub(super) async fn take(
    client: &kube::Client,
    path: &'static str,
) -> Result<Listing, BarrierError> {
    let version = |text: &str| {
        text.parse::<ResourceVersion>()
            .map_err(|source| BarrierError::Version { path, source })
    };
    let failed = |source| BarrierError::List {
        path,
        source: Box::new(source),
    };
    let mut page = read(client, path, "").await.map_err(failed)?;
    let now = version(&page.metadata.resource_version)?;
    let mut newest = ResourceVersion::default();
    let mut count = 0;
    loop {
        let items = page.items.unwrap_or_default();
        for object in &items {
            newest = newest.max(version(&object.metadata.resource_version)?);
        }
        count += items.len();
        if page.metadata.continue_token.is_empty() {
            return Ok(Listing {
                now,
                newest: Some(newest),
            });
        }
        if count + page.metadata.remaining_item_count.unwrap_or(0) >= OBJECTS_MAX {
            return Ok(Listing { now, newest: None });
        }
        page = read(client, path, &page.metadata.continue_token)
            .await
            .map_err(failed)?;
    }
}

async fn read(client: &kube::Client, path: &str, continue_token: &str) -> kube::Result<Page> {
    // A token is base64 without padding, in the alphabet for URLs.
    let uri = if continue_token.is_empty() {
        format!("{path}?limit={PAGE}")
    } else {
        format!("{path}?limit={PAGE}&continue={continue_token}")
    };
    let request = Request::get(uri)
        .header(header::ACCEPT, ACCEPT)
        .body(Vec::new())
        .map_err(kube::Error::HttpError)?;
    client.request(request).await
}
