/** The calls behind the lines, newest first. */
import { useInfiniteQuery } from "@tanstack/react-query";
import { clsx } from "clsx";
import { Activity } from "lucide-react";
import { api, type MarginCall, type MarginCalls } from "@/api";
import { Badge, type Column, DataTable, Empty, Money, Section, Switch, useSearch, When } from "@/kit";
import { useTexts } from "@/text";
import { type MarginFilters, queryOf } from "./filters";
import { marginsTexts } from "./texts";

export function MarginCallList({
  filters,
  onBelowCost,
}: {
  filters: MarginFilters;
  onBelowCost: (only: boolean) => void;
}) {
  const t = useTexts(marginsTexts);
  const [search] = useSearch();
  const only = filters.isBelowCost;
  const list = useInfiniteQuery({
    queryKey: ["operator", "margin-calls", queryOf(filters), only],
    initialPageParam: undefined as string | undefined,
    queryFn: ({ signal, pageParam }) =>
      api.get<MarginCalls>("/api/operator/margins/calls", {
        query: { ...queryOf(filters), below_cost: only ? true : undefined, after: pageParam, limit: 50 },
        signal,
      }),
    getNextPageParam: (page) => page.next ?? undefined,
  });
  const columns: Column<MarginCall>[] = [
    { id: "time", head: t.callColumns.time, width: 130, primary: true, cell: (row) => <When at={row.settled_at} /> },
    { id: "customer", head: t.callColumns.customer, clip: true, cell: (row) => row.customer ?? `#${row.customer_id}` },
    { id: "model", head: t.callColumns.model, clip: true, cell: (row) => row.model },
    {
      id: "channel",
      head: t.callColumns.channel,
      width: 150,
      cell: (row) => row.channel ?? (row.channel_id === 0 ? t.noChannel : `#${row.channel_id}`),
    },
    {
      id: "revenue",
      head: t.callColumns.revenue,
      align: "right",
      width: 130,
      cell: (row) => <Money usd={row.revenue_usd} kind="call" />,
    },
    {
      id: "cost",
      head: t.callColumns.cost,
      align: "right",
      width: 150,
      cell: (row) =>
        row.cost_usd === null ? (
          "–"
        ) : (
          <span className="inline-flex items-center gap-1.5">
            {row.is_estimated && <Badge tone="warn">{t.estimatedMark}</Badge>}
            <Money usd={row.cost_usd} kind="call" />
          </span>
        ),
    },
    {
      id: "margin",
      head: t.callColumns.margin,
      align: "right",
      width: 130,
      cell: (row) =>
        row.margin_usd === null ? (
          "–"
        ) : (
          <Money usd={row.margin_usd} kind="call" className={clsx(row.is_below_cost && "font-medium text-bad")} />
        ),
    },
  ];
  const last = list.data?.pages[list.data.pages.length - 1];
  const query = new URLSearchParams(
    Object.entries(search).flatMap(([name, value]) => (value === undefined ? [] : [[name, value]])),
  ).toString();
  return (
    <Section title={t.calls} action={<Switch checked={only} onChange={onBelowCost} label={t.onlyBelow} />}>
      <DataTable
        label={t.calls}
        columns={columns}
        rows={list.data?.pages.flatMap((page) => page.data)}
        error={list.error}
        retry={() => void list.refetch()}
        rowKey={(row) => row.request_id}
        rowHref={(row) => `/operator/margins/${encodeURIComponent(row.request_id)}${query === "" ? "" : `?${query}`}`}
        hasMore={list.hasNextPage}
        loadingMore={list.isFetchingNextPage}
        onMore={() => void list.fetchNextPage()}
        skeletonRows={5}
        cardFields={["model", "margin", "cost", "time"]}
        empty={<Empty icon={<Activity aria-hidden />} title={t.noCalls} text={t.noCallsText} className="py-8!" />}
      />
      {last?.searched_to != null && (
        <p className="mt-2 text-xs text-ink-3">
          {t.searchedTo} <When at={last.searched_to} />
        </p>
      )}
    </Section>
  );
}
