/** The form of a new key: what was typed, what is wrong with it, and what is sent. */
import type { Budget, NewKey } from "@/api";
import { noRoutes, type PriceField, priceFaults, type RoutesDraft, routesOf } from "./routes";

export const ENDPOINT_WORDS = [
  "chat",
  "messages",
  "responses",
  "gemini",
  "embeddings",
  "rerank",
  "moderations",
  "completions",
  "videos",
  "images",
  "speech",
  "transcriptions",
  "translations",
  "realtime",
  "social",
  "keys",
  "aliases",
  "events",
  "webhooks",
  "usage",
] as const;

export const PERIODS: Budget["period"][] = ["daily", "weekly", "monthly", "total"];

export interface BudgetDraft {
  period: Budget["period"];
  timezone: string;
  limit: string;
}

export type EndChoice = "never" | "1" | "7" | "30" | "90" | "365" | "date";
export const END_CHOICES: EndChoice[] = ["never", "1", "7", "30", "90", "365", "date"];

export interface EndDraft {
  end: EndChoice;
  endDate: string;
  /** Empty for the end of that day. */
  endTime: string;
}

export interface KeyDraft extends EndDraft {
  name: string;
  budgets: BudgetDraft[];
  models: string[];
  endpoints: string[];
  platforms: string[];
  addresses: string;
  requests: string;
  tokens: string;
  concurrent: string;
  strict: boolean;
  zeroRetention: boolean;
  finishStreams: boolean;
  routes: RoutesDraft;
}

export function emptyDraft(timezone: string): KeyDraft {
  return {
    name: "",
    budgets: [{ period: "monthly", timezone, limit: "" }],
    models: [],
    endpoints: [],
    platforms: [],
    addresses: "",
    requests: "",
    tokens: "",
    concurrent: "",
    end: "never",
    endDate: "",
    endTime: "",
    strict: false,
    zeroRetention: false,
    finishStreams: false,
    routes: noRoutes,
  };
}

export const LONGEST_NAME = 100;

export type DraftFault =
  | { field: "name"; why: "missing" | "long" }
  | { field: "budget"; index: number; why: "amount" | "twice" }
  | { field: "addresses"; why: "address"; text: string }
  | { field: "requests" | "tokens" | "concurrent"; why: "count" }
  | { field: PriceField; why: "price" }
  | { field: "endDate"; why: "past" };

const AMOUNT = /^\d{1,10}(\.\d{1,9})?$/;
const COUNT = /^[1-9]\d{0,9}$/;

export function isAmount(text: string): boolean {
  return AMOUNT.test(text.trim()) && /[1-9]/.test(text);
}

export function addressLines(text: string): string[] {
  return text
    .split(/[\s,]+/)
    .map((line) => line.trim())
    .filter((line) => line !== "");
}

/** Looks like an address or a network; the server has the last word. */
export function isNetwork(text: string): boolean {
  const [address = "", prefix, ...rest] = text.split("/");
  if (rest.length > 0) return false;
  const four = /^(\d{1,3})(\.\d{1,3}){3}$/.test(address) && address.split(".").every((part) => Number(part) <= 255);
  const six = address.includes(":") && /^[0-9a-f:.]+$/i.test(address);
  if (!four && !six) return false;
  return prefix === undefined || (/^\d{1,3}$/.test(prefix) && Number(prefix) <= (four ? 32 : 128));
}

export function budgetFaults(budgets: BudgetDraft[]): DraftFault[] {
  const faults: DraftFault[] = [];
  const seen = new Set<string>();
  budgets.forEach((budget, index) => {
    if (budget.limit.trim() === "") return;
    if (!isAmount(budget.limit)) faults.push({ field: "budget", index, why: "amount" });
    else if (seen.has(budget.period)) faults.push({ field: "budget", index, why: "twice" });
    seen.add(budget.period);
  });
  return faults;
}

export function draftFaults(draft: KeyDraft, now: Date): DraftFault[] {
  const faults: DraftFault[] = [];
  const name = draft.name.trim();
  if (name === "") faults.push({ field: "name", why: "missing" });
  else if ([...name].length > LONGEST_NAME) faults.push({ field: "name", why: "long" });
  faults.push(...budgetFaults(draft.budgets));
  const wrong = addressLines(draft.addresses).find((line) => !isNetwork(line));
  if (wrong !== undefined) faults.push({ field: "addresses", why: "address", text: wrong });
  for (const field of ["requests", "tokens", "concurrent"] as const) {
    const typed = draft[field].trim();
    if (typed !== "" && !COUNT.test(typed)) faults.push({ field, why: "count" });
  }
  faults.push(...priceFaults(draft.routes).map((field) => ({ field, why: "price" as const })));
  if (endFault(draft, now)) faults.push({ field: "endDate", why: "past" });
  return faults;
}

const DAY_MS = 86_400_000;

/** When a key ends. Day and time are the reader's own; a day without a time means its end. */
export function endOf(draft: EndDraft, now: Date): Date | null {
  if (draft.end === "never") return null;
  if (draft.end === "date") {
    const day = /^(\d{4,6})-(\d\d)-(\d\d)$/.exec(draft.endDate);
    const time = draft.endTime === "" ? ["", "23", "59", "59"] : /^(\d\d):(\d\d)(?::(\d\d))?/.exec(draft.endTime);
    if (day === null || time === null) return null;
    const [hour, minute, second] = [Number(time[1]), Number(time[2]), Number(time[3] ?? 0)];
    return new Date(Number(day[1]), Number(day[2]) - 1, Number(day[3]), hour, minute, second);
  }
  return new Date(now.getTime() + Number(draft.end) * DAY_MS);
}

/** Whether a moment was to be chosen and none was, or one that has been. */
export function endFault(draft: EndDraft, now: Date): boolean {
  const end = endOf(draft, now);
  return draft.end === "date" && (end === null || end <= now);
}

const two = (value: number) => String(value).padStart(2, "0");

/** A day as a date field writes it, where the reader is. */
export function dayOf(at: Date): string {
  return `${String(at.getFullYear()).padStart(4, "0")}-${two(at.getMonth() + 1)}-${two(at.getDate())}`;
}

/** The end that a key has, as the form shows it. */
export function endDraftOf(expiresAt: string | null): EndDraft {
  if (expiresAt === null) return { end: "never", endDate: "", endTime: "" };
  const at = new Date(expiresAt);
  const time = `${two(at.getHours())}:${two(at.getMinutes())}:${two(at.getSeconds())}`;
  const short = time.endsWith(":00") ? time.slice(0, 5) : time;
  return { end: "date", endDate: dayOf(at), endTime: time === "23:59:59" ? "" : short };
}

function list(words: string[]): string[] | undefined {
  return words.length === 0 ? undefined : words;
}

function whole(text: string): number | undefined {
  return text.trim() === "" ? undefined : Number(text.trim());
}

export function sentBudgets(budgets: BudgetDraft[]): NonNullable<NewKey["budgets"]> {
  return budgets
    .filter((budget) => budget.limit.trim() !== "")
    .map((budget) => ({ period: budget.period, timezone: budget.timezone, limit_usd: budget.limit.trim() }));
}

export function newKeyOf(draft: KeyDraft, now: Date): NewKey {
  const budgets = sentBudgets(draft.budgets);
  const routes = routesOf(draft.routes);
  return {
    name: draft.name.trim(),
    ...(budgets.length === 0 ? {} : { budgets }),
    ...optional("models", list(draft.models)),
    ...optional("endpoints", list(draft.endpoints)),
    ...optional("platforms", list(draft.platforms)),
    ...optional("addresses", list(addressLines(draft.addresses))),
    ...optional("requests_per_minute", whole(draft.requests)),
    ...optional("tokens_per_minute", whole(draft.tokens)),
    ...optional("concurrent_calls", whole(draft.concurrent)),
    ...optional("expires_at", endOf(draft, now)?.toISOString()),
    ...(draft.strict ? { strict: true } : {}),
    ...(draft.zeroRetention ? { zero_retention: true } : {}),
    ...(draft.finishStreams ? { on_disconnect: "finish" as const } : {}),
    ...optional("policy", routes.policy ?? undefined),
    ...optional("max_price", routes.max_price ?? undefined),
    ...optional("residencies", routes.residencies ?? undefined),
    ...(routes.upstream_zero_retention === true ? { upstream_zero_retention: true } : {}),
  };
}

/** An empty field is left out: an unset limit is not a limit of nothing. */
function optional<K extends string, V>(name: K, value: V | undefined): Partial<Record<K, V>> {
  return value === undefined ? {} : ({ [name]: value } as Record<K, V>);
}

/** How full a budget is, 0 to 100. */
export function percentUsed(used: string, limit: string): number {
  const top = Number(limit);
  if (!(top > 0)) return 100;
  return Math.max(0, Math.min(100, (Number(used) / top) * 100));
}

/** The budget that is nearest to its end: what a list shows of several. */
export function tightest(budgets: Budget[]): Budget | null {
  return budgets.reduce<Budget | null>(
    (worst, one) =>
      worst === null || percentUsed(one.used_usd, one.limit_usd) > percentUsed(worst.used_usd, worst.limit_usd)
        ? one
        : worst,
    null,
  );
}
