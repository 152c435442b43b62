//! Host ports: which are wanted, which are taken.

use crate::model::symbols::{Symbol, SymbolScope};

/// A port on a node's address. Equal ports conflict; so do equal ports of which one has the
/// wildcard address.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct HostPort {
    /// `TCP`, `UDP`, `SCTP`; empty in the object means TCP.
    pub protocol: Symbol,
    /// The port, greater than 0.
    pub port: i32,
    /// The address; `None` is the wildcard (empty or `0.0.0.0`).
    pub ip: Option<Symbol>,
}

/// The ports in use on a node, each with the number of its users.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct UsedPorts(Vec<(HostPort, u32)>);

// === impl HostPort ===

impl HostPort {
    /// Compiles a port of a container; `None` if it asks for no port on the node.
    pub fn compile(
        port: &crate::model::objects::pod::ContainerPort,
        scope: &mut SymbolScope<'_>,
    ) -> Option<Self> {
        let number = port.host_port.filter(|&number| number > 0)?;
        let protocol = port
            .protocol
            .as_deref()
            .filter(|text| !text.is_empty())
            .unwrap_or("TCP");
        let ip = port
            .host_ip
            .as_deref()
            .filter(|ip| !ip.is_empty() && *ip != "0.0.0.0");
        Some(Self {
            protocol: scope.intern(protocol),
            port: number,
            ip: ip.map(|ip| scope.intern(ip)),
        })
    }

    /// Whether both cannot be on one node (`HostPortInfo.CheckConflict`).
    pub fn conflicts_with(&self, other: &Self) -> bool {
        self.port == other.port
            && self.protocol == other.protocol
            && (self.ip.is_none() || other.ip.is_none() || self.ip == other.ip)
    }
}

// === impl UsedPorts ===

impl UsedPorts {
    /// Notes one more user of `port`.
    pub fn add(&mut self, port: HostPort) {
        match self.0.binary_search_by_key(&port, |entry| entry.0) {
            Ok(index) => self.0[index].1 += 1,
            Err(index) => self.0.insert(index, (port, 1)),
        }
    }

    /// Notes one user of `port` less.
    pub fn remove(&mut self, port: HostPort) {
        if let Ok(index) = self.0.binary_search_by_key(&port, |entry| entry.0) {
            self.0[index].1 -= 1;
            if self.0[index].1 == 0 {
                self.0.remove(index);
            }
        }
    }

    /// Frees `port`, whoever else uses it.
    pub fn free(&mut self, port: HostPort) {
        if let Ok(index) = self.0.binary_search_by_key(&port, |entry| entry.0) {
            self.0.remove(index);
        }
    }

    /// Whether a pod that wants `port` cannot come here.
    pub fn conflicts_with(&self, port: &HostPort) -> bool {
        self.0.iter().any(|(used, _)| used.conflicts_with(port))
    }

    /// The ports in use with the number of their users, in order.
    pub fn iter(&self) -> impl Iterator<Item = (HostPort, u32)> + '_ {
        self.0.iter().copied()
    }
}
