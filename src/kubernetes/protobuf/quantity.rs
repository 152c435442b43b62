//! `Quantity` (k8s.io/apimachinery, `pkg/api/resource`) and the map of them, `ResourceList`.

use prost::Message;

use crate::model::objects::pod::ResourceList;

#[derive(Clone, PartialEq, Message)]
pub(super) struct Quantity {
    #[prost(string, tag = "1")]
    string: String,
}

/// An entry of a map. A list of entries reads the same bytes as a map.
#[derive(Clone, PartialEq, Message)]
pub(super) struct Amount {
    #[prost(string, tag = "1")]
    resource: String,
    #[prost(message, optional, tag = "2")]
    quantity: Option<Quantity>,
}

pub(super) fn resource_list(amounts: Vec<Amount>) -> ResourceList {
    let entry = |amount: Amount| {
        let quantity = amount.quantity.unwrap_or_default();
        (amount.resource, quantity.string)
    };
    amounts.into_iter().map(entry).collect()
}
