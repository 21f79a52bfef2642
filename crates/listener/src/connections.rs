//! The connections of one listener: how many there are, of which addresses, and which of them wait for a
//! request. Pure but for its lock: the time is an argument.

use std::collections::{BTreeMap, HashMap};
use std::net::{IpAddr, Ipv6Addr};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::sync::Notify;
use tokio::time::Instant;

/// A connection that waits for a request is not closed for another one before this: long enough to send a
/// head after accept, and short, because a flood keeps others out for as long.
const GRACE: Duration = Duration::from_millis(100);
/// Bits of an IPv6 address that name one site.
const SITE_BITS: u32 = 64;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct ConnectionLimits {
    pub(crate) all: usize,
    pub(crate) per_address: usize,
}

/// All connections of a listener.
#[derive(Debug)]
pub(crate) struct ConnectionTable {
    limits: ConnectionLimits,
    inner: Mutex<Connections>,
}

/// A map whose keys are numbers of ours, which no client can choose: each request looks into several.
type NumberMap<V> = HashMap<u64, V, foldhash::fast::RandomState>;

#[derive(Debug, Default)]
struct Connections {
    /// Those that are not being closed.
    count: usize,
    /// The number of each address that has connections. Peers choose addresses, so their hash is the standard one.
    numbers: HashMap<IpAddr, u64>,
    of_address: NumberMap<AddressConnections>,
    open: NumberMap<Connection>,
    /// Those that wait for a request, in the order in which they began to.
    waiting: BTreeMap<u64, Waiting>,
    /// Next id, next number of an address, and next place among those that wait.
    next: u64,
}

#[derive(Debug)]
struct AddressConnections {
    address: IpAddr,
    count: usize,
    /// Places in `waiting`.
    waiting: BTreeMap<u64, ()>,
}

#[derive(Debug)]
struct Connection {
    /// The number of its address; none if that is not counted.
    address: Option<u64>,
    requests: usize,
    /// Its place among those that wait.
    place: Option<u64>,
    is_closing: bool,
    close: Arc<Notify>,
}

#[derive(Debug, Clone, Copy)]
struct Waiting {
    id: u64,
    since: Instant,
}

/// One connection; it leaves the table when this is dropped.
#[derive(Debug)]
pub(crate) struct ConnectionEntry {
    table: Arc<ConnectionTable>,
    id: u64,
    close: Arc<Notify>,
}

/// A request in progress on a connection.
#[derive(Debug)]
pub(crate) struct RequestEntry {
    table: Arc<ConnectionTable>,
    id: u64,
}

// === impl ConnectionTable ===

impl ConnectionTable {
    pub(crate) fn new(limits: ConnectionLimits) -> Arc<Self> {
        Arc::new(Self {
            limits,
            inner: Mutex::default(),
        })
    }

    /// An entry for a new connection; none if the bound is reached and no connection can make way. An
    /// address of a proxy, with many clients behind it, is not counted.
    pub(crate) fn admit(
        self: &Arc<Self>,
        address: IpAddr,
        is_proxy: bool,
        now: Instant,
    ) -> Option<ConnectionEntry> {
        let address = (!is_proxy).then(|| site(address));
        let mut inner = self.lock();
        if let Some(address) = address
            && inner.count_of(address) >= self.limits.per_address
            && !inner.close_oldest(Some(address), now)
        {
            return None;
        }
        if inner.count >= self.limits.all && !inner.close_oldest(None, now) {
            return None;
        }
        let id = inner.add(address, now);
        let close = inner.open.get(&id).map(|open| Arc::clone(&open.close));
        drop(inner);
        Some(ConnectionEntry {
            table: Arc::clone(self),
            id,
            close: close?,
        })
    }

    /// Closes the connection that has waited longest for a request. False if there is none.
    pub(crate) fn make_way(&self, now: Instant) -> bool {
        self.lock().close_oldest(None, now)
    }

    fn lock(&self) -> MutexGuard<'_, Connections> {
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

// === impl Connections ===

impl Connections {
    fn next(&mut self) -> u64 {
        let next = self.next;
        self.next = next.wrapping_add(1);
        next
    }

    fn connections_of(&self, address: IpAddr) -> Option<&AddressConnections> {
        self.of_address.get(self.numbers.get(&address)?)
    }

    fn count_of(&self, address: IpAddr) -> usize {
        self.connections_of(address).map_or(0, |of| of.count)
    }

    /// One connection more of an address, and the address's number.
    fn add_address(&mut self, address: IpAddr) -> u64 {
        let number = match self.numbers.get(&address) {
            Some(number) => *number,
            None => self.next(),
        };
        self.numbers.insert(address, number);
        let of = self.of_address.entry(number);
        let of = of.or_insert_with(|| AddressConnections {
            address,
            count: 0,
            waiting: BTreeMap::new(),
        });
        of.count = of.count.saturating_add(1);
        number
    }

    fn add(&mut self, address: Option<IpAddr>, now: Instant) -> u64 {
        let id = self.next();
        self.count = self.count.saturating_add(1);
        let connection = Connection {
            address: address.map(|address| self.add_address(address)),
            requests: 0,
            place: None,
            is_closing: false,
            close: Arc::new(Notify::new()),
        };
        self.open.insert(id, connection);
        self.wait(id, now);
        id
    }

    /// The oldest of an address, or of all.
    fn close_oldest(&mut self, address: Option<IpAddr>, now: Instant) -> bool {
        let place = match address {
            Some(address) => {
                let of = self.connections_of(address);
                of.and_then(|of| of.waiting.keys().next().copied())
            }
            None => self.waiting.keys().next().copied(),
        };
        let oldest = place.and_then(|place| self.waiting.get(&place).copied());
        let Some(oldest) =
            oldest.filter(|oldest| now.saturating_duration_since(oldest.since) >= GRACE)
        else {
            return false;
        };
        self.stop_waiting(oldest.id);
        self.uncount(oldest.id);
        if let Some(open) = self.open.get_mut(&oldest.id) {
            open.is_closing = true;
            open.close.notify_one();
        }
        true
    }

    fn wait(&mut self, id: u64, now: Instant) {
        let place = self.next();
        let Some(open) = self.open.get_mut(&id).filter(|open| !open.is_closing) else {
            return;
        };
        open.place = Some(place);
        self.waiting.insert(place, Waiting { id, since: now });
        if let Some(of) = open
            .address
            .and_then(|address| self.of_address.get_mut(&address))
        {
            of.waiting.insert(place, ());
        }
    }

    fn stop_waiting(&mut self, id: u64) {
        let Some(open) = self.open.get_mut(&id) else {
            return;
        };
        let Some(place) = open.place.take() else {
            return;
        };
        self.waiting.remove(&place);
        if let Some(of) = open
            .address
            .and_then(|address| self.of_address.get_mut(&address))
        {
            of.waiting.remove(&place);
        }
    }

    /// It counts no more; once.
    fn uncount(&mut self, id: u64) {
        let Some(open) = self.open.get(&id).filter(|open| !open.is_closing) else {
            return;
        };
        self.count = self.count.saturating_sub(1);
        let Some(number) = open.address else { return };
        let Some(of) = self.of_address.get_mut(&number) else {
            return;
        };
        of.count = of.count.saturating_sub(1);
        if of.count == 0 {
            let address = of.address;
            self.numbers.remove(&address);
            self.of_address.remove(&number);
        }
    }

    fn request_began(&mut self, id: u64) {
        if let Some(open) = self.open.get_mut(&id) {
            open.requests = open.requests.saturating_add(1);
        }
        self.stop_waiting(id);
    }

    fn request_ended(&mut self, id: u64, now: Instant) {
        let Some(open) = self.open.get_mut(&id) else {
            return;
        };
        open.requests = open.requests.saturating_sub(1);
        if open.requests == 0 {
            self.wait(id, now);
        }
    }

    fn remove(&mut self, id: u64) {
        self.stop_waiting(id);
        self.uncount(id);
        self.open.remove(&id);
    }
}

// === impl ConnectionEntry ===

impl ConnectionEntry {
    /// A request begins on this connection.
    pub(crate) fn request(&self) -> RequestEntry {
        self.table.lock().request_began(self.id);
        RequestEntry {
            table: Arc::clone(&self.table),
            id: self.id,
        }
    }

    /// Waits until this connection must make way for another.
    pub(crate) async fn must_close(&self) {
        self.close.notified().await;
    }
}

impl Drop for ConnectionEntry {
    fn drop(&mut self) {
        self.table.lock().remove(self.id);
    }
}

impl Drop for RequestEntry {
    fn drop(&mut self) {
        self.table.lock().request_ended(self.id, Instant::now());
    }
}

/// What counts as one address: an IPv4 address, or the network of an IPv6 site.
fn site(address: IpAddr) -> IpAddr {
    match address.to_canonical() {
        IpAddr::V4(address) => IpAddr::V4(address),
        IpAddr::V6(address) => {
            let mask = u128::MAX.checked_shl(SITE_BITS).unwrap_or(0);
            IpAddr::V6(Ipv6Addr::from_bits(address.to_bits() & mask))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const LIMITS: ConnectionLimits = ConnectionLimits {
        all: 4,
        per_address: 2,
    };

    fn table() -> Arc<ConnectionTable> {
        ConnectionTable::new(LIMITS)
    }

    fn from(number: u8) -> IpAddr {
        IpAddr::from([192, 0, 2, number])
    }

    fn is_closed(entry: &ConnectionEntry) -> bool {
        let closing = entry.table.lock();
        closing.open[&entry.id].is_closing
    }

    #[test]
    fn an_address_has_its_share_and_its_oldest_waiting_connection_makes_way() {
        let (table, now) = (table(), Instant::now());
        let first = table.admit(from(1), false, now).unwrap();
        let second = table.admit(from(1), false, now).unwrap();
        assert!(table.admit(from(1), false, now).is_none(), "both are fresh");
        let later = now + GRACE;
        let third = table.admit(from(1), false, later).unwrap();
        assert!(is_closed(&first) && !is_closed(&second) && !is_closed(&third));
        assert!(table.admit(from(2), false, later).is_some());
        drop((first, second, third));
        let inner = table.lock();
        assert_eq!((inner.count, inner.open.len()), (0, 0));
        assert!(inner.of_address.is_empty() && inner.numbers.is_empty());
        assert!(inner.waiting.is_empty());
    }

    #[test]
    fn a_connection_with_a_request_never_makes_way() {
        let (table, now) = (table(), Instant::now());
        let later = now + GRACE;
        let busy = table.admit(from(1), false, now).unwrap();
        let request = busy.request();
        let another = busy.request();
        let idle = table.admit(from(1), false, now).unwrap();
        let new = table.admit(from(1), false, later).unwrap();
        assert!(!is_closed(&busy) && is_closed(&idle));
        let newest = new.request();
        assert!(table.admit(from(1), false, later + GRACE).is_none());
        drop(request);
        let much_later = Instant::now() + GRACE * 2;
        assert!(table.admit(from(1), false, much_later).is_none());
        drop(another);
        let much_later = Instant::now() + GRACE * 2;
        assert!(table.admit(from(1), false, much_later).is_some());
        assert!(is_closed(&busy));
        drop(newest);
    }

    #[test]
    fn all_addresses_together_have_a_bound_and_a_proxy_has_no_share_of_its_own() {
        let (table, now) = (table(), Instant::now());
        let open: Vec<_> = (0..6).map(|_| table.admit(from(9), true, now)).collect();
        assert_eq!(open.iter().flatten().count(), LIMITS.all);
        assert!(!table.make_way(now));
        assert!(table.make_way(now + GRACE));
        assert!(table.admit(from(1), false, now).is_some());
    }

    #[test]
    fn an_address_is_one_of_version_4_or_a_site_of_version_6() {
        let of = |text: &str| site(text.parse().unwrap());
        assert_eq!(of("2001:db8::1"), of("2001:db8::ffff:1"));
        assert_ne!(of("2001:db8::1"), of("2001:db8:0:1::1"));
        assert_ne!(of("192.0.2.1"), of("192.0.2.2"));
        assert_eq!(of("192.0.2.1"), of("::ffff:192.0.2.1"));
    }
}
