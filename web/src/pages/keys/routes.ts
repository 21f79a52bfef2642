/** Which routes a key or an organisation is served by: what was typed, what is wrong with it, and what is sent. */
import type { AccountRoutes, Key } from "@/api";

export const ROUTE_POLICIES = ["priority", "cheapest", "fastest"] as const;
export type RoutePolicy = (typeof ROUTE_POLICIES)[number];

export interface RoutesDraft {
  policy: RoutePolicy;
  maxInput: string;
  maxOutput: string;
  maxUnit: string;
  residencies: string;
  upstreamZeroRetention: boolean;
}

export const PRICE_FIELDS = ["maxInput", "maxOutput", "maxUnit"] as const;
export type PriceField = (typeof PRICE_FIELDS)[number];

export const noRoutes: RoutesDraft = {
  policy: "priority",
  maxInput: "",
  maxOutput: "",
  maxUnit: "",
  residencies: "",
  upstreamZeroRetention: false,
};

const PRICE = /^\d{1,7}(\.\d{1,9})?$/;

export function priceFaults(draft: RoutesDraft): PriceField[] {
  return PRICE_FIELDS.filter((field) => draft[field].trim() !== "" && !PRICE.test(draft[field].trim()));
}

export function residencyWords(text: string): string[] {
  return text.split(/[\s,]+/).filter((word) => word !== "");
}

function priceOf(text: string): string | null {
  return text.trim() === "" ? null : text.trim();
}

/** What is sent; what was left empty demands nothing. */
export function routesOf(draft: RoutesDraft): AccountRoutes {
  const prices = { input: priceOf(draft.maxInput), output: priceOf(draft.maxOutput), unit: priceOf(draft.maxUnit) };
  const words = residencyWords(draft.residencies);
  const limited = Object.values(prices).some((price) => price !== null);
  return {
    policy: draft.policy === "priority" ? null : draft.policy,
    max_price: limited ? prices : null,
    residencies: words.length === 0 ? null : words,
    upstream_zero_retention: draft.upstreamZeroRetention,
  };
}

/** The form of what is in force. */
export function routesDraftOf(routes: AccountRoutes | Key): RoutesDraft {
  return {
    policy: routes.policy ?? "priority",
    maxInput: routes.max_price?.input ?? "",
    maxOutput: routes.max_price?.output ?? "",
    maxUnit: routes.max_price?.unit ?? "",
    residencies: (routes.residencies ?? []).join(", "),
    upstreamZeroRetention: routes.upstream_zero_retention ?? false,
  };
}
