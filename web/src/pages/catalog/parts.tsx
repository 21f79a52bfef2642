/** Prices, conditions and health as people read them. */
import { CircleAlert, CircleCheck, CircleDashed, CircleOff } from "lucide-react";
import { Badge, format, Money, type Tone } from "@/kit";
import { listed, locale, useLanguage, useTexts } from "@/text";
import { daySpans, headlinePrices, hourSpans, type PriceLine } from "./price";
import { FEW_CALLS, type HealthState, healthOf, type Model, type TierCondition } from "./record";
import { type CatalogTexts, catalogTexts } from "./texts";

export function useNumber(): (value: number) => string {
  const language = useLanguage();
  return (value) => format.count(value, locale(language));
}

const HEALTH_TONE: Record<HealthState, Tone> = {
  good: "ok",
  degraded: "warn",
  failing: "bad",
  unmeasured: "neutral",
  unserved: "neutral",
};

/** The word, and how many calls it rests on. */
export function Health({ model, compact = false }: { model: Model; compact?: boolean }) {
  const t = useTexts(catalogTexts);
  const language = useLanguage();
  const state = healthOf(model);
  const health = model.record.route_health;
  const icon = {
    good: <CircleCheck aria-hidden />,
    degraded: <CircleAlert aria-hidden />,
    failing: <CircleAlert aria-hidden />,
    unmeasured: <CircleDashed aria-hidden />,
    unserved: <CircleOff aria-hidden />,
  }[state];
  const measured =
    health !== undefined && health.success_ratio !== null && state !== "unmeasured" && state !== "unserved";
  const count = measured ? format.shortCount(health.sample_size, locale(language)) : "";
  const percent = measured ? shareOf(health.success_ratio ?? 0, locale(language)) : "";
  return (
    <span className="inline-flex min-w-0 flex-wrap items-center gap-x-2 gap-y-0.5">
      <span data-tip={t.healthHint[state]} className="inline-flex max-w-full">
        <Badge tone={HEALTH_TONE[state]} icon={icon}>
          {t.healthWord[state]}
        </Badge>
      </span>
      {measured && (
        <span className="num text-xs text-ink-3">
          {compact ? `${percent} · ${t.callsShort(count)}` : `${percent} · ${t.calls(count, health.window_hours)}`}
          {health.sample_size < FEW_CALLS && !compact ? `, ${t.callsFew}` : ""}
        </span>
      )}
    </span>
  );
}

/** Cut, not rounded: a model that failed once in a thousand calls is no model that never fails. */
function shareOf(ratio: number, where: string): string {
  const cut = Math.floor(ratio * 1000) / 1000;
  return new Intl.NumberFormat(where, { style: "percent", maximumFractionDigits: 1 }).format(cut);
}

/** The price or two by which a model is known: "$2.00 / $10.00 per 1M tokens". */
export function Headline({ model, stacked = false }: { model: Model; stacked?: boolean }) {
  const t = useTexts(catalogTexts);
  const prices = headlinePrices(model);
  if (prices.length === 0) return <span className="text-ink-3">{t.notPriced}</span>;
  const one = prices.length === 1;
  return (
    <span className={stacked ? "flex flex-wrap gap-x-4" : "inline-flex flex-wrap items-baseline gap-x-3"}>
      {prices.map(({ line, toUsd }) => (
        <span
          key={line.face}
          className={stacked ? (one ? "basis-full" : "min-w-[calc(50%-1rem)]") : "whitespace-nowrap"}
        >
          {(!one || stacked) && (
            <span className={`text-xs text-ink-3 ${stacked ? "block" : "mr-1"}`}>
              {one ? t.perUnit[line.unit] : t.faces[line.face]}
            </span>
          )}
          <Money usd={line.usd} kind="price" className="font-medium text-ink" />
          {toUsd !== null && (
            <>
              <span className="text-ink-3"> {t.to} </span>
              <Money usd={toUsd} kind="price" className="font-medium text-ink" />
            </>
          )}
          {one && !stacked && <span className="text-xs text-ink-3"> {t.perUnit[line.unit]}</span>}
        </span>
      ))}
      {!one && (
        <span className={`text-xs text-ink-3 ${stacked ? "basis-full" : ""}`}>
          {t.perUnit[prices[0]?.line.unit ?? "call"]}
        </span>
      )}
    </span>
  );
}

/** One price with the unit it is for. */
export function Price({ line }: { line: PriceLine }) {
  const t = useTexts(catalogTexts);
  return (
    <span className="inline-block">
      <Money usd={line.usd} kind="price" className="text-ink" />{" "}
      <span className="text-xs text-ink-3">{t.perUnit[line.unit]}</span>
      {line.paidUsd !== null && (
        <span className="block text-xs text-ink-3">{t.afterTopUp(format.money(line.paidUsd, "price"))}</span>
      )}
    </span>
  );
}

function conditionWords(condition: TierCondition, t: CatalogTexts, number: (value: number) => string): string {
  switch (condition.dim) {
    case "context_len":
      return t.tierContext(number(condition.context_len_gt ?? 0));
    case "request_attr": {
      const names: Record<string, string> = t.attributes;
      const name = names[condition.path ?? ""] ?? condition.path ?? "";
      if (typeof condition.equals === "boolean") return condition.equals ? t.given(name) : t.notGiven(name);
      return t.tierAttribute(name, String(condition.equals));
    }
    case "wall_clock": {
      const names = t.weekdays.split(",");
      const day = (index: number) => names[index - 1] ?? String(index);
      const days = daySpans(condition.weekdays ?? []).map(([from, to]) =>
        from === to ? day(from) : t.span(day(from), day(to)),
      );
      const hours = hourSpans(condition.hours ?? []).map(([from, to]) => `${from}:00–${to}:00`);
      return t.tierClock(listed(days), listed(hours), condition.timezone ?? "");
    }
  }
}

export function tierWords(when: TierCondition[], t: CatalogTexts, number: (value: number) => string): string {
  const words = when.map((condition) => conditionWords(condition, t, number)).join(t.tierAnd);
  return words.charAt(0).toUpperCase() + words.slice(1);
}

export function kindName(t: CatalogTexts, model: Model): string {
  return t.kinds[model.kind];
}

/** The two or three facts that tell models of one kind apart. */
export function keyFacts(model: Model, t: CatalogTexts, short: (value: number) => string): string[] {
  const { specs } = model;
  const facts: string[] = [];
  const context = specs.context_window ?? specs.max_input_tokens;
  if (context !== undefined) facts.push(`${t.context} ${short(context)}`);
  if (specs.min_duration_seconds !== undefined && specs.max_duration_seconds !== undefined) {
    facts.push(t.secondsSpan(String(specs.min_duration_seconds), String(specs.max_duration_seconds)));
  } else if (specs.durations !== undefined) facts.push(t.seconds(specs.durations.join(", ")));
  if (specs.resolutions !== undefined && specs.resolutions.length <= 3) facts.push(specs.resolutions.join(", "));
  if (specs.voices !== undefined) facts.push(t.voiceCount(specs.voices.length));
  if (specs.reasoning_efforts !== undefined) facts.push(t.reasoning);
  return facts.slice(0, 3);
}
