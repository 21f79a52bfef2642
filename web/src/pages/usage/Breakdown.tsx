import { Filter, ScrollText } from "lucide-react";
import { useMemo } from "react";
import { withQuery } from "@/api";
import { type Column, DataTable, IconButton, Money, Num, Section, useGo } from "@/kit";
import { colours } from "@/kit/charts/series";
import { percent } from "@/kit/format";
import { isNothing, shareOf } from "@/kit/records/money";
import { locale, useLanguage, useTexts } from "@/text";
import type { UsageFilters } from "./filters";
import type { Sum } from "./series";
import { usageTexts } from "./texts";

interface BreakdownProps {
  sums: Sum[];
  total: string;
  filters: UsageFilters;
  onOnly: (id: string) => void;
}
/** As many as the chart draws: the others share one colour there and here. */
const COLOURED = 7;

/** The same numbers by model, key or endpoint, dearest first. */
export function Breakdown({ sums, total, filters, onOnly }: BreakdownProps) {
  const t = useTexts(usageTexts);
  const lang = locale(useLanguage());
  const go = useGo();
  const given = useMemo(
    () =>
      colours(
        sums
          .filter((sum) => !isNothing(sum.spent))
          .slice(0, COLOURED)
          .map((sum) => sum.name),
      ),
    [sums],
  );
  const logs = (id: string) =>
    withQuery("/logs", {
      from: `${filters.from}T00:00:00Z`,
      to: `${filters.to}T23:59:59Z`,
      key: filters.key,
      model: filters.model,
      [filters.by]: id,
    });
  const columns: Column<Sum>[] = [
    {
      id: "name",
      head: t.groups[filters.by],
      primary: true,
      clip: true,
      cell: (sum) => (
        <span className="flex min-w-0 items-center gap-2">
          <span
            aria-hidden
            className="size-2 shrink-0 rounded-[2px]"
            style={{ background: given.get(sum.name) ?? "var(--series-other)" }}
          />
          <span className="min-w-0 truncate">{sum.name}</span>
        </span>
      ),
    },
    { id: "calls", head: t.cols.calls, align: "right", cell: (sum) => <Num value={sum.calls} short /> },
    {
      id: "failed",
      head: t.cols.failed,
      align: "right",
      cell: (sum) =>
        sum.failed === 0 ? (
          <span className="text-ink-3">0</span>
        ) : (
          <Num value={sum.failed} short className="text-bad" />
        ),
    },
    {
      id: "input",
      head: <span data-tip={t.unitsHint}>{t.cols.input}</span>,
      align: "right",
      cell: (sum) => <Num value={sum.input} short />,
    },
    {
      id: "output",
      head: <span data-tip={t.unitsHint}>{t.cols.output}</span>,
      align: "right",
      cell: (sum) => <Num value={sum.output} short />,
    },
    {
      id: "refunded",
      head: t.cols.refunded,
      align: "right",
      cell: (sum) =>
        isNothing(sum.refunded) ? (
          <span className="text-ink-3">–</span>
        ) : (
          <Money usd={sum.refunded} kind="call" className="text-refund" />
        ),
    },
    {
      id: "spent",
      head: <span data-tip={t.spentHint}>{t.cols.spent}</span>,
      align: "right",
      cell: (sum) => <Money usd={sum.spent} kind="call" className="text-ink" />,
    },
    {
      id: "share",
      head: t.cols.share,
      width: 140,
      cell: (sum) => {
        const share = shareOf(sum.spent, total);
        return (
          <span className="flex items-center gap-2">
            <span aria-hidden className="h-1.5 w-16 shrink-0 overflow-hidden rounded-full bg-sunken">
              <span
                className="block h-full rounded-full"
                style={{ width: `${share * 100}%`, background: given.get(sum.name) ?? "var(--series-other)" }}
              />
            </span>
            <span className="num text-xs text-ink-3">
              {share === 0 && !isNothing(sum.spent) ? t.tiny : percent(share, 1, lang)}
            </span>
          </span>
        );
      },
    },
    {
      id: "act",
      head: "",
      align: "right",
      width: 84,
      cell: (sum) => (
        <span className="flex justify-end">
          {filters.by !== "endpoint" && sum.id !== "" && (
            <IconButton
              label={t.onlyThis}
              icon={<Filter aria-hidden />}
              className="size-7!"
              onClick={() => onOnly(sum.id)}
            />
          )}
          {sum.id !== "" && (
            <IconButton
              label={t.logs}
              icon={<ScrollText aria-hidden />}
              className="size-7!"
              onClick={() => go(logs(sum.id))}
            />
          )}
        </span>
      ),
    },
  ];
  return (
    <Section title={t.breakdown[filters.by]}>
      <DataTable
        label={t.breakdown[filters.by]}
        columns={columns}
        rows={sums}
        rowKey={(sum) => sum.id}
        cardFields={["name", "spent", "calls", "share", "act"]}
      />
    </Section>
  );
}
