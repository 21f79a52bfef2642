import { useInfiniteQuery } from "@tanstack/react-query";
import { Outlet } from "@tanstack/react-router";
import { clsx } from "clsx";
import { ChartNoAxesCombined, TriangleAlert, X } from "lucide-react";
import { api, type MarginRow, type Margins } from "@/api";
import {
  Badge,
  Button,
  type Column,
  DataTable,
  Empty,
  format,
  IconButton,
  Money,
  Num,
  Problem,
  Segments,
  SkeletonStat,
  Stat,
  Stats,
  useGo,
  useNow,
  useSearch,
} from "@/kit";
import { DayRange } from "@/kit/records/DayRange";
import { dayOf } from "@/kit/records/days";
import { isNothing } from "@/kit/records/money";
import { textOf } from "@/kit/records/search";
import { locale, useLanguage, useTexts } from "@/text";
import { OperatorPage, percentText, useIsAdmitted } from "../shared";
import { operatorTexts } from "../texts";
import { DIMENSIONS, intoLine, type MarginFilters, nameOf, PRESETS, queryOf, readFilters } from "./filters";
import { MarginCallList } from "./MarginCallList";
import { marginsTexts } from "./texts";

export default function MarginsPage() {
  const t = useTexts(marginsTexts);
  const [search, setSearch] = useSearch();
  const today = dayOf(new Date(useNow()));
  const filters = readFilters(search, today);
  const list = useInfiniteQuery({
    queryKey: ["operator", "margins", filters.by, queryOf(filters)],
    initialPageParam: undefined as string | undefined,
    queryFn: ({ signal, pageParam }) =>
      api.get<Margins>("/api/operator/margins", {
        query: { ...queryOf(filters), group_by: filters.by, after: pageParam, limit: 100 },
        signal,
      }),
    getNextPageParam: (page) => page.next ?? undefined,
    enabled: useIsAdmitted(),
  });
  const totals = list.data?.pages[0]?.totals;
  const hasCalls = textOf(search, "calls") !== "" || filters.isBelowCost;
  return (
    <OperatorPage title={t.title} lead={t.lead} wide>
      <FilterBar filters={filters} today={today} onChange={setSearch} />
      {list.error !== null && list.data === undefined ? (
        <Problem error={list.error} retry={() => void list.refetch()} />
      ) : (
        <div className="space-y-6">
          <Totals totals={totals} />
          <Lines filters={filters} list={list} />
          {hasCalls ? (
            <MarginCallList
              filters={filters}
              onBelowCost={(only) => setSearch({ below_cost: only ? "true" : undefined, calls: 1 })}
            />
          ) : (
            <Button onClick={() => setSearch({ calls: 1 })}>{t.showCalls}</Button>
          )}
        </div>
      )}
      <Outlet />
    </OperatorPage>
  );
}

interface BarProps {
  filters: MarginFilters;
  today: string;
  onChange: ReturnType<typeof useSearch>[1];
}
function FilterBar({ filters, today, onChange }: BarProps) {
  const t = useTexts(marginsTexts);
  const chosen = (["channel", "model", "customer", "group"] as const).filter((name) => filters[name] !== "");
  return (
    <div className="mb-4 flex flex-wrap items-center gap-2">
      <Segments
        label={t.by}
        value={filters.by}
        onChange={(by) => onChange({ by: by === "channel" ? undefined : by }, { push: true })}
        options={DIMENSIONS.map((value) => ({ value, label: t.byWords[value] }))}
      />
      <Segments
        label={t.daysHint}
        value={filters.preset ?? "other"}
        onChange={(next) => onChange({ days: next === "30d" ? undefined : next, from: undefined, to: undefined })}
        options={PRESETS.map((value) => ({ value: value as string, label: t.presets[value] }))}
      />
      <DayRange
        days={filters.days}
        onChange={(days) => onChange({ from: days.from, to: days.to, days: undefined })}
        word={t.other}
        hint={t.daysHint}
        today={today}
        chosen={filters.preset === null}
      />
      {chosen.map((name) => (
        <span
          key={name}
          className="inline-flex h-8 items-center gap-1 rounded-card bg-accent-soft pr-0.5 pl-2.5 text-[13px]"
        >
          <span className="text-ink-3">{t.byWords[name]}</span>
          <span className="max-w-48 truncate font-medium">{filters[name]}</span>
          <IconButton
            label={t.remove(t.byWords[name])}
            icon={<X aria-hidden />}
            className="size-6!"
            onClick={() => onChange({ [name]: undefined })}
          />
        </span>
      ))}
    </div>
  );
}

function Totals({ totals }: { totals: MarginRow | undefined }) {
  const t = useTexts(marginsTexts);
  const o = useTexts(operatorTexts);
  const lang = locale(useLanguage());
  if (totals === undefined) {
    return (
      <Stats>
        {["a", "b", "c", "d", "e"].map((name) => (
          <SkeletonStat key={name} />
        ))}
      </Stats>
    );
  }
  const below = totals.below_cost_calls;
  return (
    <Stats>
      <Stat
        label={o.revenue}
        value={<Money usd={totals.revenue_usd} kind="balance" />}
        hint={o.callCount(format.count(totals.calls, lang))}
      />
      <Stat
        label={o.cost}
        value={<Money usd={totals.cost_usd} kind="balance" />}
        hint={
          isNothing(totals.estimated_cost_usd) ? "" : t.estimated(format.money(totals.estimated_cost_usd, "balance"))
        }
      />
      <Stat
        label={o.margin}
        tone={totals.margin_usd.startsWith("-") ? "bad" : "neutral"}
        value={<Money usd={totals.margin_usd} kind="balance" />}
        hint={percentText(totals.margin_percent)}
      />
      <Stat
        label={t.belowCost}
        tone={below > 0 ? "bad" : "neutral"}
        value={below === 0 ? t.noneBelow : <Num value={below} />}
        hint={below === 0 ? "" : t.belowCostHint(format.money(totals.below_cost_loss_usd, "call"))}
      />
      <Stat
        label={t.uncosted}
        value={<Num value={totals.uncosted_calls} />}
        hint={totals.uncosted_calls === 0 ? "" : t.uncostedHint(format.money(totals.uncosted_revenue_usd, "balance"))}
      />
    </Stats>
  );
}

interface ListProps {
  filters: MarginFilters;
  list: {
    data: { pages: Margins[] } | undefined;
    error: Error | null;
    hasNextPage: boolean;
    isFetchingNextPage: boolean;
    refetch: () => Promise<unknown>;
    fetchNextPage: () => Promise<unknown>;
  };
}
function Lines({ filters, list }: ListProps) {
  const t = useTexts(marginsTexts);
  const go = useGo();
  const [search] = useSearch();
  const name = (row: MarginRow) => nameOf(row, filters.by, t.noChannel);
  const href = (row: MarginRow) => {
    const params = new URLSearchParams();
    for (const [key, value] of Object.entries({ ...search, ...intoLine(filters, row) })) {
      if (value !== undefined && value !== null && value !== "") params.set(key, String(value));
    }
    return `/operator/margins?${params}`;
  };
  const columns: Column<MarginRow>[] = [
    { id: "name", head: t.byWords[filters.by], primary: true, clip: true, cell: name },
    { id: "calls", head: t.columns.calls, align: "right", width: 110, cell: (row) => <Num value={row.calls} /> },
    {
      id: "revenue",
      head: t.columns.revenue,
      align: "right",
      width: 130,
      cell: (row) => <Money usd={row.revenue_usd} kind="balance" />,
    },
    {
      id: "cost",
      head: t.columns.cost,
      align: "right",
      width: 130,
      cell: (row) => (
        <span className="inline-flex items-center gap-1.5">
          {row.uncosted_calls > 0 && (
            <TriangleAlert
              aria-label={t.uncosted}
              className="size-3.5 text-warn"
              data-tip={t.uncostedHint(format.money(row.uncosted_revenue_usd, "balance"))}
            />
          )}
          <Money usd={row.cost_usd} kind="balance" />
        </span>
      ),
    },
    {
      id: "margin",
      head: t.columns.margin,
      align: "right",
      width: 130,
      cell: (row) => (
        <Money
          usd={row.margin_usd}
          kind="balance"
          className={clsx(row.margin_usd.startsWith("-") && "font-medium text-bad")}
        />
      ),
    },
    {
      id: "percent",
      head: t.columns.percent,
      align: "right",
      width: 100,
      cell: (row) => percentText(row.margin_percent),
    },
    {
      id: "below",
      head: t.columns.below,
      align: "right",
      width: 120,
      cell: (row) =>
        row.below_cost_calls === 0 ? (
          "–"
        ) : (
          <Badge tone="bad">
            <Num value={row.below_cost_calls} /> · {format.money(row.below_cost_loss_usd, "call")}
          </Badge>
        ),
    },
    {
      id: "open",
      head: "",
      align: "right",
      width: 140,
      cell: (row) =>
        filters.by === "customer" || (filters.by === "channel" && row.channel_id !== 0) ? (
          <Button
            size="small"
            aria-label={`${t.open[filters.by]} ${name(row)}`}
            onClick={() =>
              go(
                filters.by === "customer"
                  ? `/operator/customers/${row.customer_id}`
                  : `/operator/channels/${row.channel_id}`,
              )
            }
          >
            {t.open[filters.by]}
          </Button>
        ) : null,
    },
  ];
  return (
    <DataTable
      label={t.title}
      columns={columns}
      rows={list.data?.pages.flatMap((page) => page.data)}
      error={list.error}
      retry={() => void list.refetch()}
      rowKey={(row) => name(row)}
      rowHref={href}
      hasMore={list.hasNextPage}
      loadingMore={list.isFetchingNextPage}
      onMore={() => void list.fetchNextPage()}
      cardFields={["name", "margin", "percent", "below"]}
      empty={<Empty icon={<ChartNoAxesCombined aria-hidden />} title={t.empty} text={t.emptyText} />}
    />
  );
}
