import { TriangleAlert, Undo2 } from "lucide-react";
import type { LogRow } from "@/api";
import { type Column, Duration, Money, Num, OutcomeBadge, When } from "@/kit";
import { exactMoney } from "@/kit/format";
import { isNothing } from "@/kit/records/money";
import { Clip } from "@/kit/records/parts";
import { type recordTexts, wordIn } from "@/kit/records/texts";
import type { Texts } from "@/text";
import type { logTexts } from "./texts";

type LogWords = Texts<typeof logTexts.en>;
type RecordWords = Texts<typeof recordTexts.en>;

export function logColumns(t: LogWords, r: RecordWords): Column<LogRow>[] {
  return [
    { id: "time", head: t.cols.time, width: 122, cell: (row) => <When at={row.at} /> },
    { id: "outcome", head: t.cols.outcome, width: 150, cell: (row) => <OutcomeBadge outcome={row.outcome} /> },
    { id: "model", head: t.cols.model, primary: true, width: 190, cell: (row) => <Clip text={row.model} /> },
    {
      id: "key",
      head: t.cols.key,
      width: 200,
      cell: (row) =>
        row.key_id === null ? (
          <Clip text={r.noKey} className="text-ink-3" />
        ) : (
          <Clip text={row.key_name ?? `#${row.key_id}`} />
        ),
    },
    {
      id: "endpoint",
      head: t.cols.endpoint,
      width: 130,
      cell: (row) => <Clip text={wordIn(r.endpoints, row.endpoint)} />,
    },
    {
      id: "units",
      head: <span data-tip={t.unitsHint}>{t.cols.units}</span>,
      align: "right",
      width: 118,
      cell: (row) => (
        <span data-tip={row.estimated ? t.estimated : undefined}>
          {row.estimated && <span className="text-ink-3">≈ </span>}
          <Num value={row.input_units} short />
          <span className="text-ink-3"> / </span>
          <Num value={row.output_units} short />
        </span>
      ),
    },
    { id: "latency", head: t.cols.latency, align: "right", width: 86, cell: (row) => <Duration ms={row.latency_ms} /> },
    {
      id: "cost",
      head: t.cols.cost,
      align: "right",
      width: 106,
      cell: (row) => (
        <span className="inline-flex items-center justify-end gap-1.5">
          {!isNothing(row.refunded_usd) && (
            <span className="text-refund" data-tip={t.refundedOf(exactMoney(row.refunded_usd))}>
              <Undo2 aria-hidden className="size-3.5" />
              <span className="sr-only">{t.refundedOf(exactMoney(row.refunded_usd))}</span>
            </span>
          )}
          {isNothing(row.cost_usd) ? (
            <span className="text-ink-3">{t.free}</span>
          ) : (
            <Money usd={row.cost_usd} kind="call" />
          )}
        </span>
      ),
    },
    {
      id: "warnings",
      head: (
        <span data-tip={t.cols.warnings}>
          <TriangleAlert aria-hidden className="inline size-3.5" />
          <span className="sr-only">{t.cols.warnings}</span>
        </span>
      ),
      width: 52,
      cell: (row) =>
        row.warnings.length === 0 ? null : (
          <span className="inline-flex items-center gap-1 text-warn" data-tip={row.warnings.join(", ")}>
            <TriangleAlert aria-hidden className="size-3.5" />
            <span className="num">{row.warnings.length}</span>
            <span className="sr-only">{t.warningCount(row.warnings.length)}</span>
          </span>
        ),
    },
  ];
}
