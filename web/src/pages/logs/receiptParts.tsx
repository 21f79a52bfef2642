import { clsx } from "clsx";
import { TriangleAlert } from "lucide-react";
import type { LogDetail } from "@/api";
import { Duration, Link, Money, Num, When } from "@/kit";
import { duration } from "@/kit/format";
import { nano, negativeUsd } from "@/kit/records/money";
import { PanelSection } from "@/kit/records/parts";
import { recordTexts, wordIn } from "@/kit/records/texts";
import { locale, useLanguage, useTexts } from "@/text";
import { addUp, attemptBars, isByTheMillion, pieceUsd, unitOf } from "./receipt";
import { logTexts } from "./texts";

interface Of {
  detail: LogDetail;
}
const head = "pb-1.5 text-xs font-medium text-ink-3 border-b border-line";
const cell = "py-1.5 border-b border-line align-baseline";
const quiet = "text-[13px] text-ink-2";

/** One bar an attempt over the time of the call. */
export function Attempts({ detail }: Of) {
  const t = useTexts(logTexts);
  const lang = locale(useLanguage());
  const bars = attemptBars(detail.attempts, detail.latency_ms);
  const took = duration(detail.latency_ms, lang);
  if (detail.attempts.length === 0) {
    return (
      <PanelSection title={t.attempts}>
        <p className={quiet}>{t.attemptsNone}</p>
      </PanelSection>
    );
  }
  return (
    <PanelSection title={t.attempts} aside={t.attemptsLead(detail.attempts.length, took)}>
      <ol className="space-y-3">
        {detail.attempts.map((attempt, at) => {
          const bar = bars[at];
          const good = isGood(attempt.outcome);
          return (
            // biome-ignore lint/suspicious/noArrayIndexKey: attempts are told apart by their place alone
            <li key={at}>
              <div className="flex flex-wrap items-baseline justify-between gap-x-3 text-[13px]">
                <span className="min-w-0 [overflow-wrap:anywhere]">
                  <span className="text-ink">{attempt.channel === "" ? t.attempt(at + 1) : attempt.channel}</span>
                  {attempt.upstream_model !== "" && attempt.upstream_model !== detail.model && (
                    <span className="text-ink-3"> {attempt.upstream_model}</span>
                  )}
                </span>
                <span className="flex shrink-0 items-baseline gap-4 text-ink-2">
                  <span className={clsx("max-w-52 truncate", good ? "text-ok" : "text-bad")}>
                    {wordIn(t.attemptWords, attempt.outcome)}
                  </span>
                  {attempt.status !== null && <span className="num text-ink-3">{t.status(attempt.status)}</span>}
                  {attempt.latency_ms === null ? (
                    <span className="text-ink-3">{t.noTime}</span>
                  ) : (
                    <Duration ms={attempt.latency_ms} />
                  )}
                </span>
              </div>
              <div aria-hidden className="mt-1 h-1.5 overflow-hidden rounded-full bg-sunken">
                {bar !== undefined && (
                  <div
                    className={clsx(
                      "h-full rounded-full",
                      good ? "bg-ok-line" : "bg-bad-line",
                      !bar.known && "opacity-40",
                    )}
                    style={{ marginLeft: `${bar.start * 100}%`, width: `${bar.width * 100}%` }}
                  />
                )}
              </div>
            </li>
          );
        })}
      </ol>
    </PanelSection>
  );
}

function isGood(outcome: string): boolean {
  return outcome === "answered";
}

/** The price parts, which add up to the charge. */
export function PriceLines({ detail }: Of) {
  const t = useTexts(logTexts);
  const sums = addUp(detail);
  const aside = [t.priceLead(detail.price_version), detail.tier === null ? null : t.tier(detail.tier)]
    .filter((part) => part !== null)
    .join(" · ");
  const lines = detail.lines ?? [];
  return (
    <PanelSection title={t.price} aside={aside}>
      {detail.lines === null && <p className={clsx(quiet, "mb-2")}>{t.linesGone}</p>}
      {detail.lines !== null && lines.length === 0 && <p className={quiet}>{t.linesNone}</p>}
      {lines.length > 0 && (
        <table className="w-full border-separate border-spacing-0 text-[13px]">
          <thead>
            <tr>
              <th scope="col" className={clsx(head, "text-left")}>
                {t.part}
              </th>
              <th scope="col" className={clsx(head, "pl-3 text-right")}>
                {t.units}
              </th>
              <th scope="col" className={clsx(head, "pl-3 text-right")}>
                {t.unitPrice}
              </th>
              <th scope="col" className={clsx(head, "pl-3 text-right")}>
                {t.amount}
              </th>
            </tr>
          </thead>
          <tbody>
            {lines.map((line) => {
              const unit = unitOf(line.face, detail.endpoint);
              return (
                <tr key={`${line.face} ${line.tier ?? ""}`}>
                  <td className={clsx(cell, "[overflow-wrap:anywhere] text-ink")}>
                    {wordIn(t.parts, line.face)}
                    {line.tier !== null && <span className="text-ink-3"> {t.tier(line.tier)}</span>}
                  </td>
                  <td className={clsx(cell, "pl-3 text-right")}>
                    <Num value={line.units} />
                  </td>
                  <td className={clsx(cell, "pl-3 text-right text-ink-2")}>
                    <Money
                      usd={isByTheMillion(unit) ? line.price_usd_per_million : pieceUsd(line.price_usd_per_million)}
                      kind="price"
                      className="whitespace-normal!"
                      unit={t.perMillion[unit]}
                    />
                  </td>
                  <td className={clsx(cell, "pl-3 text-right text-ink")}>
                    <Money usd={line.amount_usd} kind="price" />
                  </td>
                </tr>
              );
            })}
            {sums !== null && !sums.addsUp && (
              <tr>
                <td colSpan={3} className={clsx(cell, "text-ink-2")}>
                  {nano(sums.difference) < 0n ? t.difference : t.differenceUp}
                </td>
                <td className={clsx(cell, "pl-3 text-right")}>
                  <Money usd={sums.difference} kind="price" />
                </td>
              </tr>
            )}
          </tbody>
          <tfoot>
            <tr>
              <th scope="row" colSpan={3} className="pt-2 text-left font-semibold text-ink">
                {t.sum}
              </th>
              <td className="pt-2 pl-3 text-right font-semibold text-ink">
                <Money usd={detail.cost_usd} kind="price" note={t.priceLead(detail.price_version)} />
              </td>
            </tr>
          </tfoot>
        </table>
      )}
      {detail.cache_saving_usd !== null && (
        <p className={clsx(quiet, "mt-2 flex justify-between")}>
          <span>{t.cacheSaving}</span> <Money usd={detail.cache_saving_usd} kind="price" />
        </p>
      )}
      {detail.lines === null && (
        <p className="flex justify-between font-semibold text-ink">
          <span>{t.sum}</span> <Money usd={detail.cost_usd} kind="price" />
        </p>
      )}
    </PanelSection>
  );
}

export function Movements({ detail }: Of) {
  const t = useTexts(logTexts);
  const r = useTexts(recordTexts);
  // A call that delivered nothing says so once, at the top.
  if (detail.transfers.length === 0 && nano(detail.cost_usd) === 0n) return null;
  return (
    <PanelSection title={t.movements}>
      {detail.transfers.length === 0 ? (
        <p className={quiet}>{t.movementsNone}</p>
      ) : (
        <ul className="text-[13px]">
          {detail.transfers.map((one, at) => (
            <li
              // biome-ignore lint/suspicious/noArrayIndexKey: movements never change places
              key={at}
              className="flex items-baseline gap-3 border-b border-line py-1.5 first:pt-0 last:border-b-0 last:pb-0"
            >
              <span
                className={clsx(
                  "min-w-0 flex-1 [overflow-wrap:anywhere]",
                  one.direction === "in" ? "text-refund" : "text-ink",
                )}
              >
                {wordIn(r.kinds, one.kind)} <span className="text-ink-3">{r.wallets[one.wallet]}</span>
              </span>
              <When at={one.at} className="shrink-0 text-xs text-ink-3" />
              <Money
                usd={one.direction === "out" ? negativeUsd(one.amount_usd) : one.amount_usd}
                kind="price"
                className="min-w-24 shrink-0 text-right text-ink"
              />
            </li>
          ))}
        </ul>
      )}
    </PanelSection>
  );
}

export function UsageParts({ detail }: Of) {
  const t = useTexts(logTexts);
  const lists = [
    { name: t.billed, parts: detail.units },
    { name: t.measured, parts: detail.measured },
  ].filter((list) => list.parts.length > 0);
  if (lists.length === 0) return null;
  return (
    <PanelSection title={t.usage} {...(detail.estimated ? { aside: t.estimated } : {})}>
      <div className="grid gap-x-8 gap-y-4 sm:grid-cols-2">
        {lists.map((list) => (
          <div key={list.name} className="min-w-0 text-[13px]">
            <div className={head}>{list.name}</div>
            <dl>
              {list.parts.map((part) => (
                <div key={part.name} className="flex justify-between gap-3 border-b border-line py-1.5 last:border-b-0">
                  <dt className="min-w-0 [overflow-wrap:anywhere] text-ink-2">{wordIn(t.parts, part.name)}</dt>
                  <dd className="shrink-0 text-ink">
                    <Num value={part.count} />
                  </dd>
                </div>
              ))}
            </dl>
          </div>
        ))}
      </div>
    </PanelSection>
  );
}

export function Warnings({ detail }: Of) {
  const t = useTexts(logTexts);
  const explained = detail.warnings_explained;
  const bare = detail.warnings.filter((code) => !explained.some((one) => one.code === code));
  if (explained.length === 0 && bare.length === 0) return null;
  return (
    <PanelSection title={t.warnings}>
      <ul className="space-y-2.5">
        {[...explained, ...bare.map((code) => ({ code, text: "", doc_url: "" }))].map((one) => (
          <li key={one.code} className="flex items-start gap-2.5 text-[13px]">
            <TriangleAlert aria-hidden className="mt-0.5 size-4 shrink-0 text-warn" />
            <div className="min-w-0 [overflow-wrap:anywhere]">
              <span className="num text-ink">{one.code}</span>
              {one.text !== "" && <p className="text-ink-2">{one.text}</p>}
              {one.doc_url !== "" && (
                <Link href={one.doc_url} className="text-accent-ink hover:underline">
                  {t.warningDoc}
                </Link>
              )}
            </div>
          </li>
        ))}
      </ul>
    </PanelSection>
  );
}
