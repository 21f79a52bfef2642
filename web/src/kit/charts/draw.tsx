/** The drawing of the three charts, in plain SVG. Only loaded where a chart is on the page. */
import type { ReactNode } from "react";
import { approximate, isZeroUsd, money, shortCount } from "../format";
import { Plot } from "./Plot";
import { marks, runs } from "./scale";

const WIDEST_BAR = 36;

interface BubbleLine {
  name: string;
  colour: string;
  value: string;
}
function Bubble({ title, lines, total }: { title: string; lines: readonly BubbleLine[]; total?: ReactNode }) {
  return (
    <div className="min-w-40 rounded-card border border-line bg-surface px-3 py-2 text-xs shadow-raised">
      <div className="mb-1 font-medium text-ink">{title}</div>
      {lines.map((line) => (
        <div key={line.name} className="flex items-center gap-2 py-0.5 text-ink-2">
          <span aria-hidden className="size-2 shrink-0 rounded-[2px]" style={{ background: line.colour }} />
          <span className="min-w-0 flex-1 truncate">{line.name}</span>
          <span className="num text-ink">{line.value}</span>
        </div>
      ))}
      {total !== undefined && (
        <div
          className={`flex justify-between gap-4 text-ink ${lines.length > 0 ? "mt-1 border-t border-line pt-1" : ""}`}
        >
          {total}
        </div>
      )}
    </div>
  );
}

/** Money on an axis: few digits, never two marks that read the same because both were rounded to zero. */
function axisMoney(value: number): string {
  if (value === 0) return "$0";
  if (value >= 10_000) return `$${shortCount(value, "en-US")}`;
  const short = Number(value.toPrecision(3));
  return `$${short < 1e-6 ? short.toFixed(9).replace(/0+$/, "") : short.toString()}`;
}

/** A column with rounded upper corners. */
function column(x: number, y: number, width: number, height: number, round: number): string {
  const r = Math.max(0, Math.min(round, width / 2, height));
  return `M${x},${y + height}V${y + r}Q${x},${y} ${x + r},${y}H${x + width - r}Q${x + width},${y} ${x + width},${y + r}V${y + height}Z`;
}

export interface DrawSpendBarsProps {
  rows: readonly { day: string; label: string; amounts: readonly string[]; total: string }[];
  series: readonly { name: string; label: string; colour: string }[];
  totalLabel: string;
  onPick?: ((pick: { day: string | null; name: string | null }) => void) | undefined;
  onZoom?: ((from: string, to: string) => void) | undefined;
}
export function DrawSpendBars({ rows, series, totalLabel, onPick, onZoom }: DrawSpendBarsProps) {
  // From the bottom of each bar: where a series begins and ends.
  const stacks = rows.map((row) => {
    let sum = 0;
    return row.amounts.map((usd) => {
      const from = sum;
      sum += Math.max(0, approximate(usd));
      return { from, to: sum };
    });
  });
  const pick = (index: number, value: number) => {
    const row = rows[index];
    if (row === undefined || onPick === undefined) return;
    const hit = stacks[index]?.findIndex((part) => value >= part.from && value < part.to) ?? -1;
    const name = series[hit]?.name ?? "";
    onPick({ day: row.day, name: name === "" ? null : name });
  };
  return (
    <Plot
      columns
      keys={rows.map((row) => row.day)}
      labels={rows.map((row) => row.label)}
      marks={marks(Math.max(...stacks.map((stack) => stack.at(-1)?.to ?? 0), 0))}
      showMark={axisMoney}
      onPick={onPick === undefined ? undefined : pick}
      onZoom={onZoom}
      draw={(frame, active) =>
        rows.map((row, index) => {
          const width = Math.max(1, Math.min(WIDEST_BAR, frame.band * 0.68));
          const x = frame.middle(index) - width / 2;
          const last = stacks[index]?.findLastIndex((part) => part.to > part.from);
          return (
            <g key={row.day} opacity={active === null || active === index ? 1 : 0.55}>
              {stacks[index]?.map((part, which) => {
                if (part.to <= part.from) return null;
                const y = frame.y(part.to);
                // What was spent is seen, however little beside the rest.
                const height = Math.max(1, frame.y(part.from) - y);
                const one = series[which];
                return (
                  <path
                    key={one?.name}
                    d={column(x, Math.min(y, frame.bottom - 1), width, height, which === last ? 2 : 0)}
                    fill={one?.colour ?? "var(--series-other)"}
                  />
                );
              })}
            </g>
          );
        })
      }
      bubble={(index) => {
        const row = rows[index];
        if (row === undefined) return null;
        const lines = series
          .map((one, which) => ({ name: one.label, colour: one.colour, usd: row.amounts[which] ?? "0" }))
          .filter((line) => !isZeroUsd(line.usd))
          .map((line) => ({ name: line.name, colour: line.colour, value: money(line.usd, "call") }));
        return (
          <Bubble
            title={row.label}
            lines={series.length > 1 ? lines : []}
            total={
              <>
                <span>{totalLabel}</span>
                <span className="num">{money(row.total, "call")}</span>
              </>
            }
          />
        );
      }}
    />
  );
}

type Labelled<T> = T & { at: string; label: string };

export interface DrawLatencyProps {
  points: readonly Labelled<{ p50_ms: number | null; p95_ms: number | null }>[];
  show: (ms: number) => string;
}
export function DrawLatency({ points, show }: DrawLatencyProps) {
  const lines = [
    { name: "p50", colour: "var(--series-1)", values: points.map((point) => point.p50_ms) },
    { name: "p95", colour: "var(--series-3)", values: points.map((point) => point.p95_ms) },
  ];
  const largest = Math.max(...lines.flatMap((line) => line.values.map((value) => value ?? 0)), 0);
  return (
    <Plot
      columns={false}
      keys={points.map((point) => point.at)}
      labels={points.map((point) => point.label)}
      marks={marks(largest)}
      showMark={show}
      draw={(frame, active) => (
        <>
          {active !== null && <Rule x={frame.middle(active)} bottom={frame.bottom} />}
          {lines.map((line) =>
            runs(line.values).map((run) => (
              <polyline
                key={`${line.name}-${run[0]}`}
                points={run.map((index) => `${frame.middle(index)},${frame.y(line.values[index] ?? 0)}`).join(" ")}
                fill="none"
                stroke={line.colour}
                strokeWidth={1.5}
                strokeLinejoin="round"
                strokeLinecap="round"
              />
            )),
          )}
        </>
      )}
      bubble={(index) => (
        <Bubble
          title={points[index]?.label ?? ""}
          lines={lines.map((line) => {
            const value = line.values[index] ?? null;
            return { name: line.name, colour: line.colour, value: value === null ? "–" : show(value) };
          })}
        />
      )}
    />
  );
}

export interface DrawRequestsProps {
  points: readonly Labelled<{ calls: number; failed: number }>[];
  words: { calls: string; failed: string };
  locale: string;
  onPick?: ((at: string) => void) | undefined;
  onZoom?: ((from: string, to: string) => void) | undefined;
}
export function DrawRequests({ points, words, locale, onPick, onZoom }: DrawRequestsProps) {
  const fine = points.map((point) => Math.max(0, point.calls - point.failed));
  const all = points.map((point) => point.calls);
  const exact = new Intl.NumberFormat(locale);
  return (
    <Plot
      columns={false}
      keys={points.map((point) => point.at)}
      labels={points.map((point) => point.label)}
      marks={marks(Math.max(...all, 0), 4, true)}
      showMark={(value) => shortCount(value, locale)}
      onPick={
        onPick === undefined
          ? undefined
          : (index) => {
              const point = points[index];
              if (point !== undefined) onPick(point.at);
            }
      }
      onZoom={onZoom}
      draw={(frame, active) => {
        const line = (values: readonly number[]) =>
          values.map((value, index) => `${frame.middle(index)},${frame.y(value)}`);
        const under = (upper: readonly string[], lower: readonly string[]) =>
          [...upper, ...[...lower].reverse()].join(" ");
        const ground = all.map((_, index) => `${frame.middle(index)},${frame.bottom}`);
        const [calls, good] = [line(all), line(fine)];
        return (
          <>
            {active !== null && <Rule x={frame.middle(active)} bottom={frame.bottom} />}
            <polygon points={under(good, ground)} fill="var(--series-1)" opacity={0.16} />
            <polygon points={under(calls, good)} fill="var(--bad-line)" opacity={0.4} />
            {points.some((point) => point.failed > 0) && (
              <polyline
                points={calls.join(" ")}
                fill="none"
                stroke="var(--bad-line)"
                strokeWidth={1.5}
                strokeLinejoin="round"
              />
            )}
            <polyline
              points={good.join(" ")}
              fill="none"
              stroke="var(--series-1)"
              strokeWidth={1.5}
              strokeLinejoin="round"
            />
          </>
        );
      }}
      bubble={(index) => (
        <Bubble
          title={points[index]?.label ?? ""}
          lines={[
            { name: words.calls, colour: "var(--series-1)", value: exact.format(points[index]?.calls ?? 0) },
            { name: words.failed, colour: "var(--bad-line)", value: exact.format(points[index]?.failed ?? 0) },
          ]}
        />
      )}
    />
  );
}

function Rule({ x, bottom }: { x: number; bottom: number }) {
  return <line x1={x} x2={x} y1={8} y2={bottom} stroke="var(--line-strong)" />;
}
