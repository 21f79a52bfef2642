import { Outlet } from "@tanstack/react-router";
import { ArrowUp, ScrollText } from "lucide-react";
import { useMemo, useState } from "react";
import { withQuery } from "@/api";
import { useParam, useSearch } from "@/app/nav";
import { Button, DataTable, Empty, Page, Switch } from "@/kit";
import { exactTime } from "@/kit/format";
import { quietHeads } from "@/kit/records/parts";
import { recordTexts } from "@/kit/records/texts";
import { locale, useLanguage, useTexts } from "@/text";
import { logColumns } from "./columns";
import { FilterBar } from "./FilterBar";
import { countFilters, type LogFilters, NO_FILTERS, readFilters, SHORTEST_ID, writeFilters } from "./filters";
import { logTexts } from "./texts";
import { useLogs } from "./useLogs";

const EVERY_FILTER = ["q", "key", "model", "endpoint", "outcome", "range", "from", "to", "min"];

export default function LogsPage() {
  const t = useTexts(logTexts);
  const r = useTexts(recordTexts);
  const language = useLanguage();
  const open = useParam("requestId");
  const [search, change] = useSearch();
  const filters = useMemo(() => readFilters(search), [search]);
  const [live, setLive] = useState(false);
  const { query, rows, searchedTo, tail, again } = useLogs(filters, live, open !== "");
  const columns = useMemo(() => quietHeads(logColumns(t, r)), [t, r]);

  const set = (next: LogFilters) => {
    const written = writeFilters(next);
    change(Object.fromEntries(EVERY_FILTER.map((name) => [name, written[name]])));
  };
  const bounded = searchedTo !== null;
  const waiting = tail.gap || tail.waiting.length > 0;
  return (
    <Page
      title={t.title}
      lead={t.lead}
      wide
      action={
        <span data-tip={t.liveHint}>
          <Switch checked={live} onChange={setLive} label={t.live} />
        </span>
      }
    >
      <FilterBar filters={filters} onChange={set} />
      <div role="status" className="sr-only">
        {live ? t.liveOn : ""}
      </div>
      <div className="relative">
        {waiting && (
          <div className="pointer-events-none sticky top-16 z-20 h-0">
            <div className="flex justify-center pt-2">
              <Button
                variant="primary"
                size="small"
                className="pointer-events-auto rounded-full! shadow-raised"
                icon={<ArrowUp aria-hidden />}
                onClick={() => {
                  if (tail.gap) again();
                  else tail.take();
                  window.scrollTo({ top: 0 });
                }}
              >
                {tail.gap ? t.freshMany : t.fresh(tail.waiting.length)}
              </Button>
            </div>
          </div>
        )}
        <DataTable
          label={t.title}
          columns={columns}
          rows={rows}
          rowKey={(row) => row.request_id}
          rowHref={(row) => withQuery(`/logs/${row.request_id}`, writeFilters(filters))}
          current={open === "" ? undefined : open}
          loading={query.isPending}
          error={query.error}
          retry={again}
          hasMore={query.hasNextPage && !bounded}
          loadingMore={query.isFetchingNextPage}
          onMore={() => {
            if (!query.isFetchingNextPage) void query.fetchNextPage();
          }}
          skeletonRows={14}
          cardFields={["model", "outcome", "cost", "time"]}
          empty={<NoCalls filters={filters} bounded={bounded} onClear={() => set(NO_FILTERS)} />}
        />
        {bounded && (
          <div
            className="flex flex-wrap items-center justify-between gap-3 px-1 pt-3 text-[13px] text-ink-2"
            role="status"
          >
            <span>{r.searchedTo(exactTime(searchedTo, locale(language)))}</span>
            <Button size="small" busy={query.isFetchingNextPage} onClick={() => void query.fetchNextPage()}>
              {r.searchOn}
            </Button>
          </div>
        )}
      </div>
      <Outlet />
    </Page>
  );
}

function NoCalls({ filters, bounded, onClear }: { filters: LogFilters; bounded: boolean; onClear: () => void }) {
  const t = useTexts(logTexts);
  const searched = filters.q.length >= SHORTEST_ID;
  if (!searched && countFilters(filters) === 0) {
    return (
      <Empty
        icon={<ScrollText aria-hidden />}
        title={t.emptyTitle}
        text={t.emptyText}
        action={
          <Button variant="primary" href="/keys">
            {t.emptyAction}
          </Button>
        }
      />
    );
  }
  return (
    <Empty
      icon={<ScrollText aria-hidden />}
      title={bounded ? t.noneYet : t.noneTitle}
      text={searched ? t.noneSearch(filters.q) : t.noneText}
      action={<Button onClick={onClear}>{t.clear}</Button>}
    />
  );
}
