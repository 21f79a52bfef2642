/**
 * The shapes of the operator's interface under the names that pages use. They are made of its OpenAPI document, and
 * that of the Rust types: a field that is renamed there does not build here.
 */
import type { components } from "./operator-schema";

type Schemas = components["schemas"];
/** The document calls them strings; these are all that the server writes. */
type Narrow<T, Fields> = Omit<T, keyof Fields> & Fields;

export type HitKind = "customer" | "person" | "key" | "payment" | "channel" | "model" | "call" | "code";
export type ReversalState = "inquiry" | "open" | "won" | "lost";
type PaymentState = "open" | "paid" | "failed";
type Transfer = Narrow<Schemas["OperatorTransfer"], { direction: "in" | "out" }>;
type Reversal = Narrow<Schemas["Reversal"], { kind: "refund" | "dispute"; state: ReversalState }>;

export type OperatorRole = Schemas["OperatorRole"];
export type OperatorRight = Schemas["OperatorRight"];
export type Sums = Schemas["OperatorSums"];
export type Overview = Schemas["Overview"];
export type OperatorHit = Narrow<Schemas["SearchHit"], { kind: HitKind }>;
export type CustomerState = Schemas["CustomerState"];
export type Customer = Schemas["Customer"];
export type CustomerLimits = Schemas["CustomerLimits"];
export type Note = Schemas["Note"];
export type CustomerDetail = Schemas["CustomerDetail"];
export type CustomerKey = Schemas["CustomerKey"];
export type StatementLine = Schemas["StatementEntry"];
export type OperatorCall = Schemas["OperatorCall"];
export type OperatorCallDetail = Narrow<Schemas["OperatorCallDetail"], { transfers: Transfer[] }>;
export type Credential = Schemas["Credential"];
export type Channel = Narrow<Schemas["Channel"], { cost: Record<string, unknown> | null }>;
export type Provider = Schemas["Provider"];
export type ChannelTest = Schemas["ChannelTest"];
export type CatalogModel = Schemas["CatalogModel"];
export type OperatorCatalog = Schemas["OperatorCatalog"];
export type PriceChange = Schemas["CatalogChange"];
export type PriceDifference = Schemas["PriceChange"];
export type GroupDifference = Schemas["GroupChange"];
export type PricePreview = Schemas["PricePreview"];
export type PriceRevision = Schemas["CatalogRevision"];
export type PriceRevisionDetail = Schemas["RevisionDetail"];
export type ScheduledPrices = Narrow<
  Schemas["ScheduledChange"],
  { state: "waiting" | "published" | "refused" | "cancelled" }
>;
export type MarginRow = Schemas["MarginRow"];
export type Margins = Schemas["Margins"];
export type MarginCall = Schemas["MarginCall"];
export type MarginCalls = Schemas["MarginCalls"];
export type MarginCallDetail = Schemas["MarginCallDetail"];
export type OperatorPayment = Narrow<Schemas["OperatorPayment"], { state: PaymentState }>;
export type OperatorPaymentDetail = Narrow<
  Schemas["OperatorPaymentDetail"],
  { state: PaymentState; reversals: Reversal[] }
>;
export type Dispute = Narrow<Schemas["Dispute"], { state: ReversalState }>;
export type Email = Schemas["Email"];
export type Alarm = Schemas["Alarm"];
export type Code = Narrow<
  Schemas["Code"],
  { wallet: "paid" | "trial"; state: "open" | "redeemed" | "revoked" | "expired" }
>;
export type TrialRules = Schemas["TrialReport"];
export type OperatorPerson = Schemas["Operator"];
export type Action = Narrow<Schemas["Action"], { kind: "operator" | "member" | "command" }>;
export type OpenConnection = Schemas["OperatorConnection"];
