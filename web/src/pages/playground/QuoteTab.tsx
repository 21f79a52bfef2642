/** The price before the call: lines, minimum, likely, maximum. */
import { Wrench } from "lucide-react";
import { ApiError } from "@/api";
import { Button, format, Id, Money, Problem, SkeletonText } from "@/kit";
import type { Face, PlaygroundTask } from "@/pages/catalog/record";
import { catalogTexts } from "@/pages/catalog/texts";
import { locale, named, useLanguage, useTexts } from "@/text";
import type { Body } from "./forms";
import { InlineCode } from "./InlineCode";
import { type Fix, fixOfRefusal, type Quote } from "./quote";
import { playgroundTexts } from "./texts";
import type { QuoteView } from "./useDraft";

interface Props {
  task: PlaygroundTask;
  view: QuoteView;
  body: Body | null;
  hint: string;
  onFix: (fix: Fix) => void;
}

export function QuoteTab({ task, view, body, hint, onFix }: Props) {
  const t = useTexts(playgroundTexts);
  if (view.error instanceof ApiError) {
    const fix = body === null ? null : fixOfRefusal(view.error, body);
    return (
      <div>
        <p className="mb-3 text-ink-2">
          <span className="font-medium text-ink">{t.refused}.</span> {t.refusedText}
        </p>
        <Problem error={view.error} />
        {fix !== null && (
          <Button size="small" className="mt-3" icon={<Wrench aria-hidden />} onClick={() => onFix(fix)}>
            {t.fix[fix.what](fix.text)}
          </Button>
        )}
      </div>
    );
  }
  if (view.error !== null) return <Problem error={view.error} />;
  if (view.waiting) return <SkeletonText lines={5} />;
  if (view.quote === null) return <p className="py-6 text-center text-ink-3">{hint}</p>;
  return (
    <div className={view.stale ? "opacity-60" : ""} aria-busy={view.stale || undefined}>
      <QuoteFacts task={task} quote={view.quote} />
    </div>
  );
}

function QuoteFacts({ task, quote }: { task: PlaygroundTask; quote: Quote }) {
  const t = useTexts(playgroundTexts);
  // What media come to that are measured only when they are sent has a most, and no least.
  const least = quote.minimum_usd;
  const likely = (t.basis as Record<string, string>)[quote.expected_basis];
  const amounts: [string, string, string | undefined][] = quote.exact
    ? [[t.quotePrice, quote.price_usd ?? quote.maximum_usd, undefined]]
    : [[t.maximum, quote.maximum_usd, undefined]];
  if (!quote.exact && least !== null)
    amounts.unshift([t.minimum, least, undefined], [t.expected, quote.expected_usd, likely]);
  return (
    <>
      <dl className={`grid gap-4 ${amounts.length === 1 ? "grid-cols-1" : "grid-cols-3 max-sm:grid-cols-1"}`}>
        {amounts.map(([name, usd, note]) => (
          <div key={name} className="min-w-0">
            <dt className="text-xs text-ink-3">{name}</dt>
            <dd className="mt-0.5 text-lg font-semibold text-ink">
              <Money usd={usd} kind="call" />
            </dd>
            {note !== undefined && <dd className="text-xs text-ink-3">{note}</dd>}
          </div>
        ))}
      </dl>
      <p className="mt-2 text-ink-2">
        {quote.exact ? t.quoteExact : least === null ? t.quoteBound : t.quoteRange}{" "}
        <span className="whitespace-nowrap">
          <span className="text-ink-3">{named(t.reserved)}</span>
          <Money usd={quote.reserved_usd} kind="call" />
        </span>
      </p>
      <QuoteLines task={task} quote={quote} />
      <p className="mt-3 flex flex-wrap items-center gap-x-2 text-xs text-ink-3">
        {t.groupLine(quote.group)} <span>{t.version}</span> <Id value={quote.pricing_version} />
      </p>
    </>
  );
}

interface LineView {
  face: string;
  units: string;
  amount: string;
  why: string;
}

/** The parts of the price; they come to it, or to the most that it can be. */
function linesOf(
  quote: Quote,
  unitsOf: (face: string, count: number) => string,
  upTo: (units: string) => string,
): LineView[] {
  return quote.lines.map((line) => {
    const units = unitsOf(line.face, line.units);
    return {
      face: line.face,
      units: line.units_are === "exact" ? units : upTo(units),
      amount: line.amount_usd,
      why: line.tier === "standard" ? "" : line.why,
    };
  });
}

function QuoteLines({ task, quote }: { task: PlaygroundTask; quote: Quote }) {
  const t = useTexts(playgroundTexts);
  const words = useTexts(catalogTexts);
  const language = useLanguage();
  const unitsOf = (face: string, count: number) => {
    const number = format.count(count, locale(language));
    if (face === "video_second" || quote.billing_unit === "audio_duration") return t.secondsOf(number);
    if (face === "per_call" || face === "image_input" || quote.billing_unit === "per_call") return number;
    return quote.billing_unit === "characters" ? words.characters(number) : words.tokens(number);
  };
  const lines = linesOf(quote, unitsOf, t.upTo);
  if (lines.length === 0) return null;
  const faceName = (face: string) => {
    if (face !== "per_call") return words.faces[face as Face] ?? face;
    return task === "image" ? t.picturePart : task === "video" ? t.videoPart : t.callPart;
  };
  return (
    <section
      // biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls must be reachable by keyboard
      tabIndex={0}
      aria-label={t.lines}
      className="mt-4 overflow-x-auto"
    >
      <table className="w-full min-w-72 text-left">
        <thead>
          <tr className="text-xs text-ink-3">
            <th scope="col" className="border-b border-line py-1.5 font-medium">
              {t.linePart}
            </th>
            <th scope="col" className="border-b border-line py-1.5 pr-3 text-right font-medium">
              {t.lineUnits}
            </th>
            <th scope="col" className="border-b border-line py-1.5 text-right font-medium">
              {t.lineAmount}
            </th>
          </tr>
        </thead>
        <tbody>
          {lines.map((line) => (
            <tr key={line.face}>
              <td className="border-b border-line py-2 pr-3 text-ink">
                {faceName(line.face)}
                {line.why !== "" && (
                  <span className="block text-xs text-ink-3">
                    <InlineCode text={t.because(line.why)} />
                  </span>
                )}
              </td>
              <td className="num border-b border-line py-2 pr-3 text-right align-top text-ink-2">{line.units}</td>
              <td className="border-b border-line py-2 text-right align-top">
                <Money usd={line.amount} kind="call" />
              </td>
            </tr>
          ))}
        </tbody>
      </table>
      {quote.tier !== undefined && quote.tier !== "standard" && (quote.lines ?? []).length === 0 && (
        <p className="mt-2 text-xs text-ink-3">{t.tier(quote.tier, quote.tier_reason ?? "")}</p>
      )}
    </section>
  );
}
