//! What a plan costs by a book.

use trunkline_catalog::{Book, GroupChoice, PriceClass, PricingContext, quote};
use trunkline_generation::video::Plan;
use trunkline_types::Timestamp;

/// The price in the group `default`, in billionths of a US dollar.
pub(crate) fn nanos(book: &Book, model: &str, plan: &Plan) -> i64 {
    let (_, offer) = book.offer(model, GroupChoice::Named("default")).unwrap();
    let list = book.model(model).unwrap().list();
    for path in list.request_paths() {
        let value = plan.bill.attributes.get(path).unwrap();
        assert!(
            list.sells(path, value),
            "{model} does not sell {path} {value}"
        );
    }
    let units = plan.bill.usage().billed(list.billing_unit()).unwrap();
    let situation = PricingContext {
        attributes: &plan.bill.attributes,
        at: Timestamp::from_micros(0),
    };
    let quote = quote(offer, PriceClass::Standard, &units, situation).unwrap();
    quote.total.nanos()
}
