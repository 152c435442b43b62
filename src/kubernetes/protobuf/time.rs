//! `Time` (k8s.io/apimachinery, `pkg/apis/meta/v1`), in whole seconds as its JSON.

use jiff::Timestamp;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time as ApiTime;
use prost::Message;

use crate::kubernetes::protobuf::DecodeError;

#[derive(Clone, PartialEq, Message)]
pub(super) struct Time {
    #[prost(int64, optional, tag = "1")]
    seconds: Option<i64>,
}

/// Go's zero time is an empty message, and `null` in JSON.
pub(super) fn time(time: Option<Time>) -> Result<Option<ApiTime>, DecodeError> {
    let Some(seconds) = time.and_then(|time| time.seconds) else {
        return Ok(None);
    };
    let time = Timestamp::from_second(seconds).map_err(|_| DecodeError::Time(seconds))?;
    Ok(Some(ApiTime(time)))
}
