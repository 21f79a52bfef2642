/** The charts. The drawing library is loaded with the first of them; the space is kept from the beginning. */
import { lazy, type ReactNode } from "react";
import { locale, useLanguage, useTexts } from "@/text";
import { addUsd, count, dayLabel, duration, exactTime, isZeroUsd, money } from "../format";
import { kitTexts } from "../texts";
import { ChartFrame, Legend } from "./frame";
import { colours, otherOf, type SpendDay, spendOf, topSeries } from "./series";

export type { SpendDay } from "./series";

const Bars = lazy(() => import("./draw").then((module) => ({ default: module.DrawSpendBars })));
const Lines = lazy(() => import("./draw").then((module) => ({ default: module.DrawLatency })));
const Area = lazy(() => import("./draw").then((module) => ({ default: module.DrawRequests })));

export interface SpendBarsProps {
  /** Every day in order; a day without spend has no parts. */
  days: readonly SpendDay[];
  label: string;
  height?: number;
  /** A bar or a name in the legend was clicked; `name` null means "other" or the whole day. */
  onPick?: (pick: { day: string | null; name: string | null }) => void;
  /** One series that is the whole: drawn in the accent colour instead of a name's own. */
  whole?: boolean;
  /** A line beside the legend: what the bars add up to. */
  note?: ReactNode;
  /** Dragging over some days: first and last of them. */
  onZoom?: (from: string, to: string) => void;
}
/** Spend by day, stacked, at most seven series and "other". */
export function SpendBars({ days, label, height = 220, onPick, onZoom, whole = false, note }: SpendBarsProps) {
  const t = useTexts(kitTexts);
  const lang = locale(useLanguage());
  const { names, hasOther } = topSeries(days);
  const given = colours(names);
  const series = names.map((name) => ({
    name,
    label: name,
    colour: whole ? "var(--accent)" : (given.get(name) ?? "var(--series-other)"),
  }));
  const all = hasOther ? [...series, { name: "", label: t.other, colour: "var(--series-other)" }] : series;
  const rows = days.map((day) => ({
    day: day.day,
    label: dayLabel(day.day, lang),
    amounts: all.map((one) => (one.name === "" ? otherOf(day, names) : spendOf(day, one.name))),
    total: addUsd(day.parts.map((part) => part.usd)),
  }));
  return (
    <ChartFrame
      label={label}
      height={height}
      legend={
        <>
          {note !== undefined && <div className="plain-num text-xs text-ink-3">{note}</div>}
          {all.length > 1 && (
            <Legend
              entries={all}
              onPick={
                onPick === undefined ? undefined : (name) => onPick({ day: null, name: name === "" ? null : name })
              }
            />
          )}
        </>
      }
      table={{
        head: [t.day, ...(all.length > 1 ? all.map((one) => one.label) : []), t.total],
        rows: rows.map((row) => ({
          key: row.day,
          cells: [
            row.label,
            ...(all.length > 1 ? row.amounts.map((usd) => (isZeroUsd(usd) ? "–" : money(usd, "call"))) : []),
            money(row.total, "call"),
          ],
        })),
      }}
    >
      {rows.every((row) => isZeroUsd(row.total)) ? (
        <div className="flex h-full items-center justify-center rounded-card border border-dashed border-line px-4 text-center text-ink-3">
          {t.nothingSpent}
        </div>
      ) : (
        <Bars rows={rows} series={all} totalLabel={t.total} onPick={onPick} onZoom={onZoom} />
      )}
    </ChartFrame>
  );
}

export interface LatencyPoint {
  at: string;
  p50_ms: number | null;
  p95_ms: number | null;
}
export function LatencyLines({
  points,
  label,
  height = 200,
}: {
  points: readonly LatencyPoint[];
  label: string;
  height?: number;
}) {
  const t = useTexts(kitTexts);
  const lang = locale(useLanguage());
  const show = (ms: number | null) => (ms === null ? "–" : duration(ms, lang));
  return (
    <ChartFrame
      label={label}
      height={height}
      legend={
        <Legend
          entries={[
            { name: "p50", label: "p50", colour: "var(--series-1)" },
            { name: "p95", label: "p95", colour: "var(--series-3)" },
          ]}
        />
      }
      table={{
        head: [t.time, "p50", "p95"],
        rows: points.map((point) => ({
          key: point.at,
          cells: [moment(point.at, lang), show(point.p50_ms), show(point.p95_ms)],
        })),
      }}
    >
      <Lines
        points={points.map((point) => ({ ...point, label: moment(point.at, lang) }))}
        show={(ms) => duration(ms, lang)}
      />
    </ChartFrame>
  );
}

export interface RequestPoint {
  at: string;
  calls: number;
  failed: number;
}
export function RequestsArea(props: {
  points: readonly RequestPoint[];
  label: string;
  height?: number;
  onPick?: (at: string) => void;
  onZoom?: (from: string, to: string) => void;
}) {
  const t = useTexts(kitTexts);
  const lang = locale(useLanguage());
  return (
    <ChartFrame
      label={props.label}
      height={props.height ?? 200}
      legend={
        <Legend
          entries={[
            { name: "calls", label: t.calls, colour: "var(--series-1)" },
            { name: "failed", label: t.failed, colour: "var(--bad-line)" },
          ]}
        />
      }
      table={{
        head: [t.time, t.calls, t.failed],
        rows: props.points.map((point) => ({
          key: point.at,
          cells: [moment(point.at, lang), count(point.calls, lang), count(point.failed, lang)],
        })),
      }}
    >
      <Area
        points={props.points.map((point) => ({ ...point, label: moment(point.at, lang) }))}
        words={{ calls: t.calls, failed: t.failed }}
        locale={lang}
        onPick={props.onPick}
        onZoom={props.onZoom}
      />
    </ChartFrame>
  );
}

/** A day of the books stays a day; a moment is shown in the reader's zone. */
function moment(at: string, lang: string): string {
  return /^\d{4}-\d{2}-\d{2}$/.test(at) ? dayLabel(at, lang) : exactTime(at, lang);
}

export interface SparklineProps {
  values: readonly number[];
  /** What it shows, for those who do not see it. */
  label: string;
  tone?: "accent" | "bad" | "ok";
  width?: number;
  height?: number;
}
export function Sparkline({ values, label, tone = "accent", width = 96, height = 24 }: SparklineProps) {
  const most = Math.max(...values, 0);
  const step = values.length > 1 ? (width - 2) / (values.length - 1) : 0;
  const points = values.map((value, index) => {
    const y = most === 0 ? height - 2 : height - 2 - (value / most) * (height - 4);
    return `${(1 + index * step).toFixed(1)},${y.toFixed(1)}`;
  });
  const colour = { accent: "var(--accent)", bad: "var(--bad-line)", ok: "var(--ok-line)" }[tone];
  return (
    <svg
      role="img"
      aria-label={label}
      width={width}
      height={height}
      viewBox={`0 0 ${width} ${height}`}
      className="shrink-0"
    >
      <polyline
        points={points.join(" ")}
        fill="none"
        stroke={colour}
        strokeWidth="1.5"
        strokeLinejoin="round"
        strokeLinecap="round"
      />
    </svg>
  );
}
