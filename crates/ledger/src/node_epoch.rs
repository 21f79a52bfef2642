//! Who moves money.

use trunkline_types::NodeId;

/// The node and epoch under which money moves.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NodeEpoch {
    pub node: NodeId,
    pub epoch: i64,
}
