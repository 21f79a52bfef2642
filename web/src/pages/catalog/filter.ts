/** Finding models: filters and order, as the address of the page holds them. */
import { compareUsd, sortPrice } from "./price";
import { type EndpointType, type HealthState, healthOf, type Model, type ModelKind } from "./record";

export interface CatalogFilter {
  q: string;
  kind: ModelKind | "";
  format: EndpointType | "";
  vendor: string;
  health: HealthState | "";
  /** Dearest headline price in USD, a decimal text; empty for any. */
  max: string;
  sort: CatalogSort;
}

export const CATALOG_SORTS = ["name", "price_up", "price_down", "context"] as const;
export type CatalogSort = (typeof CATALOG_SORTS)[number];

export const NO_FILTER: CatalogFilter = { q: "", kind: "", format: "", vendor: "", health: "", max: "", sort: "name" };

const DECIMAL = /^\d{1,12}(\.\d{1,12})?$/;

export function isPrice(text: string): boolean {
  return DECIMAL.test(text);
}

/** Every word of the search must stand somewhere in the model's name, vendor, tasks or description. */
function matchesWords(model: Model, q: string): boolean {
  const words = q
    .toLowerCase()
    .split(/\s+/)
    .filter((word) => word !== "");
  if (words.length === 0) return true;
  const text = [model.name, model.vendor, model.record.tasks.join(" "), model.description].join(" ").toLowerCase();
  return words.every((word) => text.includes(word));
}

function passes(model: Model, filter: CatalogFilter): boolean {
  if (filter.kind !== "" && model.kind !== filter.kind) return false;
  if (filter.format !== "" && !model.record.supported_endpoint_types.includes(filter.format)) return false;
  if (filter.vendor !== "" && model.vendor !== filter.vendor) return false;
  if (filter.health !== "" && healthOf(model) !== filter.health) return false;
  if (isPrice(filter.max) && compareUsd(sortPrice(model), filter.max) > 0) return false;
  return matchesWords(model, filter.q);
}

function contextOf(model: Model): number {
  return model.specs.context_window ?? model.specs.max_input_tokens ?? 0;
}

function order(sort: CatalogSort): (a: Model, b: Model) => number {
  const byName = (a: Model, b: Model) => a.name.localeCompare(b.name, "en", { numeric: true });
  switch (sort) {
    case "name":
      return byName;
    case "price_up":
      return (a, b) => compareUsd(sortPrice(a), sortPrice(b)) || byName(a, b);
    case "price_down":
      return (a, b) => compareUsd(sortPrice(b), sortPrice(a)) || byName(a, b);
    case "context":
      return (a, b) => contextOf(b) - contextOf(a) || byName(a, b);
  }
}

export function filterModels(models: Model[], filter: CatalogFilter): Model[] {
  return models.filter((model) => passes(model, filter)).sort(order(filter.sort));
}

/** How many models each choice of one filter would leave, the other filters staying as they are. */
export function countBy(
  models: Model[],
  filter: CatalogFilter,
  what: "kind" | "format" | "vendor" | "health",
): Map<string, number> {
  const open: CatalogFilter = { ...filter, [what]: "" };
  const counts = new Map<string, number>();
  const add = (word: string) => counts.set(word, (counts.get(word) ?? 0) + 1);
  for (const model of models) {
    if (!passes(model, open)) continue;
    switch (what) {
      case "kind":
        add(model.kind);
        break;
      case "format":
        model.record.supported_endpoint_types.forEach(add);
        break;
      case "vendor":
        if (model.vendor !== "") add(model.vendor);
        break;
      case "health":
        add(healthOf(model));
        break;
    }
  }
  return counts;
}

export const MOST_COMPARED = 4;

/** `models=` of the address: names with commas between them, each once, four at most. */
export function readCompared(text: string | undefined): string[] {
  if (text === undefined) return [];
  return [...new Set(text.split(",").filter((name) => name !== ""))].slice(0, MOST_COMPARED);
}
