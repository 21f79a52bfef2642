/**
 * The shapes of the operator's interface, written by hand after its contract; the document of that interface replaces
 * them where it is generated (`openapi/operator.json`).
 */
import type { Balance, Session } from "./contract";

export type OperatorRole = "owner" | "finance" | "support" | "read_only";
export type OperatorRight =
  | "customers.write"
  | "customers.view"
  | "customers.export"
  | "customers.erase"
  | "money.write"
  | "channels.write"
  | "prices.write"
  | "operators.write"
  | "emails.read";

/** What a session says beyond the customers' document. */
export interface OperatorSession {
  second_factor: { is_enabled: boolean; is_needed: boolean } | null;
  operator: { role: OperatorRole; rights: OperatorRight[]; needs_second_factor: boolean } | null;
  viewing: boolean;
}
export type FullSession = Session & Partial<OperatorSession>;

export interface SecondFactor {
  is_enabled: boolean;
  enabled_at: string | null;
  recovery_codes_left: number;
  is_required: boolean;
}

export interface Sums {
  revenue_usd: string;
  cost_usd: string;
  margin_usd: string;
  margin_percent: string | null;
  calls: number;
  failed_calls: number;
  error_percent: string | null;
  refunded_usd: string;
}
export interface Overview {
  from: string;
  to: string;
  totals: Sums;
  days: (Sums & { day: string })[];
  money_in_usd: string;
  needs_attention: {
    alarms: number;
    open_disputes: number;
    suspended_customers: number;
    paused_credentials: number;
    draining_channels: number;
    unsent_emails: number;
    below_cost: { lines: number; calls: number; loss_usd: string };
  };
}

export type HitKind = "customer" | "person" | "key" | "payment" | "channel" | "model" | "call" | "code";
export interface OperatorHit {
  kind: HitKind;
  id: string;
  title: string;
  detail: string;
  customer_id: number | null;
}

export type CustomerState = "active" | "suspended" | "closed";
export interface Customer {
  id: number;
  name: string;
  kind: "live" | "test";
  state: CustomerState;
  group: string;
  created_at: string;
  topped_up_at: string | null;
  paid_usd: string;
  trial_usd: string;
  owner_email: string | null;
}
export interface CustomerLimits {
  requests_per_minute: number | null;
  tokens_per_minute: number | null;
  concurrent_calls: number | null;
}
export interface Note {
  id: number | string;
  text: string;
  author: string;
  created_at: string;
}
export interface CustomerDetail extends Customer {
  allowed_groups: string[];
  suspended_at: string | null;
  closed_at: string | null;
  suspension_reason: string | null;
  balance: Balance;
  low_balance_usd: string | null;
  limits: CustomerLimits;
  members: {
    id: number;
    email: string;
    name: string;
    role: string;
    joined_at: string;
    last_seen_at: string | null;
  }[];
  last_30_days: Sums;
  owed_usd: string;
  notes: Note[];
}
export interface CustomerKey {
  id: number;
  name: string;
  hint: string;
  parent_id: number | null;
  state: "active" | "disabled" | "expired" | "revoked";
  group: string | null;
  created_at: string;
  expires_at: string | null;
  last_used_at: string | null;
  spent_30_days_usd: string;
}
export interface StatementLine {
  at: string;
  kind: string;
  paid_usd: string;
  trial_usd: string;
  paid_after_usd: string;
  trial_after_usd: string;
  request_id: string;
  details: string;
}

export interface OperatorCall {
  request_id: string;
  customer_id: number;
  model: string;
  endpoint: string;
  outcome: string;
  started_at: string;
  charged_usd: string;
  refunded_usd: string;
  cost_usd: string | null;
  margin_usd: string | null;
}
export interface OperatorCallDetail extends OperatorCall {
  group: string;
  tier: string | null;
  key_id: number | null;
  units: { name: string; count: number }[];
  measured: { name: string; count: number }[];
  warnings: string[];
  price_version: string;
  estimated: boolean;
  attempts: {
    channel_id: number | null;
    channel: string | null;
    status: number | null;
    error: string | null;
    latency_ms: number | null;
  }[];
  transfers: { kind: string; wallet: string; amount_usd: string; direction: "in" | "out"; at: string }[];
}

export interface Credential {
  id: number;
  label: string;
  hint: string;
  state: "usable" | "disabled" | "cooling_down" | "paused";
  cool_until: string | null;
  paused_reason: string | null;
}
interface ChannelSums {
  calls: number;
  failed_calls: number;
  cost_usd: string;
  charged_usd: string;
}
export interface Channel {
  id: number;
  name: string;
  provider: string;
  base_url: string | null;
  state: "active" | "draining" | "off";
  priority: number;
  weight: number;
  region: string | null;
  residency: string | null;
  zero_retention: boolean;
  models: Record<string, string>;
  groups: string[];
  extra_headers: string[];
  has_proxy: boolean;
  requests_per_minute: number | null;
  concurrent_calls: number | null;
  cost: Record<string, unknown> | null;
  revision: number;
  models_not_sold: string[];
  credentials: Credential[];
  /** Null if it took no call. */
  last_24_hours: ChannelSums | null;
}
export interface Provider {
  name: string;
  base_url: string | null;
  auth: "bearer" | "header" | "sigv4" | "google" | "kling";
  can_test: boolean;
}
export interface ChannelTest {
  is_ok: boolean;
  credentials: {
    label: string;
    hint: string;
    is_ok: boolean;
    status: number | null;
    problem: string | null;
    models_listed: number | null;
    models_missing: string[];
  }[];
}

export interface CatalogModel {
  name: string;
  vendor: string | null;
  groups: string[];
  billing_unit: string;
  is_served: boolean;
  channels: number;
  prices: Record<string, number>;
  tiers: string[];
}
export interface OperatorCatalog {
  revision: number;
  pricing_version: string;
  groups: Record<string, { rate: unknown }>;
  auto_groups: string[];
  models: CatalogModel[];
}
export interface PriceChange {
  prices?: { model: string; tier?: string; paid?: boolean; faces: Record<string, number> }[];
}
export interface PriceDifference {
  model: string;
  tier: string;
  column: "standard" | "paid";
  face: string;
  before: number | null;
  after: number | null;
}
export interface GroupDifference {
  name: string;
  before: unknown;
  after: unknown;
}
export interface PricePreview {
  base_revision: number;
  pricing_version: string;
  models: string[];
  prices: PriceDifference[];
  groups: GroupDifference[];
  last_30_days: {
    model: string;
    calls: number;
    was_usd: string;
    would_be_usd: string;
    known_cost_usd: string;
    would_be_of_known_cost_usd: string;
    unpriced_calls: number;
    is_below_cost: boolean;
  }[];
  customers: { id: number; name: string; calls: number; was_usd: string; would_be_usd: string }[];
  below_cost: {
    model: string;
    channel: string;
    group: string;
    face: string;
    sale_usd_per_million: string;
    cost_usd_per_million: string;
  }[];
  zero: { model: string; tier: string; column: string; face: string }[];
  is_stopped: boolean;
  is_complete: boolean;
}
export interface PriceRevision {
  revision: number;
  pricing_version: string;
  author: string;
  note: string;
  created_at: string;
}
export interface PriceRevisionDetail extends PriceRevision {
  models: string[];
  prices: PriceDifference[];
  groups: GroupDifference[];
}
export interface ScheduledPrices {
  id: number | string;
  at: string;
  note: string;
  author: string;
  state: "waiting" | "published" | "refused" | "cancelled";
  problem: string | null;
  created_at: string;
}

export interface MarginRow {
  day?: string;
  channel_id?: number;
  channel?: string;
  model?: string;
  customer_id?: number;
  customer?: string;
  group?: string;
  calls: number;
  failed_calls: number;
  paid_usd: string;
  trial_usd: string;
  refunded_usd: string;
  revenue_usd: string;
  cost_usd: string;
  margin_usd: string;
  margin_percent: string | null;
  uncosted_calls: number;
  uncosted_revenue_usd: string;
  estimated_calls: number;
  estimated_cost_usd: string;
  below_cost_calls: number;
  below_cost_loss_usd: string;
}
export interface Margins {
  from: string;
  to: string;
  data: MarginRow[];
  totals: MarginRow;
  count: number;
  next: string | null;
}
export interface MarginCall {
  request_id: string;
  customer_id: number;
  customer: string | null;
  model: string;
  endpoint: string;
  group: string;
  channel_id: number;
  channel: string | null;
  outcome: string;
  settled_at: string;
  charged_usd: string;
  refunded_usd: string;
  revenue_usd: string;
  cost_usd: string | null;
  margin_usd: string | null;
  is_estimated: boolean;
  is_below_cost: boolean;
}
export interface MarginCalls {
  data: MarginCall[];
  next: string | null;
  searched_to: string | null;
}
export interface MarginCallDetail extends MarginCall {
  tier: string | null;
  price_version: string;
  price_list: { since: string; currency: string; rate: string; rate_as_of: string; upstream_model: string } | null;
  cost_lines: { face: string; units: number; price_pico: number; amount_usd: string }[];
}

export interface OperatorPayment {
  id: string;
  customer_id: number;
  customer_name: string;
  provider: string;
  provider_payment: string | null;
  kind: string;
  state: "open" | "paid" | "failed";
  amount_usd: string;
  returned_usd: string;
  receipt_url: string | null;
  failure: string | null;
  created_at: string;
  paid_at: string | null;
}
export type ReversalState = "inquiry" | "open" | "won" | "lost";
export interface OperatorPaymentDetail extends OperatorPayment {
  reversals: { id: string; kind: "refund" | "dispute"; state: ReversalState; amount_usd: string; changed_at: string }[];
  refundable_usd: string;
}
export interface Dispute {
  id: string;
  state: ReversalState;
  amount_usd: string;
  changed_at: string;
  provider: string;
  provider_payment: string;
  payment_id: string | null;
  customer_id: number | null;
  customer_name: string | null;
  taken_usd: string;
  owed_usd: string;
  customer_state: CustomerState | null;
}

/** An email that was not sent, with its link. */
export interface Email {
  id: string;
  to: string;
  kind: "verify" | "reset" | "invitation";
  created_at: string;
  expires_at: string;
  link: string;
  state: "waiting" | "sent" | "failed" | "kept";
  last_error: string | null;
}
export interface Alarm {
  name: string;
  subject: string;
  node: string;
  summary: string;
  is_firing: boolean;
  changed_at: string;
}
export interface Code {
  id: string;
  hint: string;
  batch: string;
  amount_usd: string;
  wallet: "paid" | "trial";
  state: "open" | "redeemed" | "revoked" | "expired";
  made_by: string;
  created_at: string;
  expires_at: string | null;
  redeemed_by: number | string | null;
  redeemed_at: string | null;
}
export interface TrialRules {
  trial: { amount_usd: string; days: number; per_day: number } | null;
  granted_today: number;
  granted_30_days: number;
  granted_30_days_usd: string;
}
export interface OperatorPerson {
  id: number;
  email: string;
  name: string;
  role: OperatorRole;
  added_at: string;
  added_by: string | null;
  has_second_factor: boolean;
  last_seen_at: string | null;
  you: boolean;
}
export interface Action {
  id: number | string;
  at: string;
  kind: "operator" | "member" | "command";
  actor: string;
  person_id: number | null;
  address: string | null;
  agent: string | null;
  action: string;
  customer_id: number | null;
  subject: string;
  before: Record<string, unknown> | null;
  after: Record<string, unknown> | null;
  reason: string | null;
}
