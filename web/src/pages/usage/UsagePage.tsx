import { keepPreviousData, useQuery } from "@tanstack/react-query";
import { ChartColumn, Download, Undo2, X } from "lucide-react";
import { useMemo } from "react";
import { api, type UsageLine, withQuery } from "@/api";
import {
  Button,
  Card,
  Empty,
  Money,
  Num,
  Page,
  Problem,
  RequestsArea,
  Segments,
  Select,
  SkeletonChart,
  SkeletonRows,
  SkeletonStat,
  SpendBars,
  Stat,
  Stats,
  useSearch,
} from "@/kit";
import { money, percent } from "@/kit/format";
import { DayRange } from "@/kit/records/DayRange";
import { countDays, DAY_PRESETS, type DayPreset, dayOf } from "@/kit/records/days";
import { useKeyOptions } from "@/kit/records/filterOptions";
import { recordTexts, wordIn } from "@/kit/records/texts";
import { locale, useLanguage, useTexts } from "@/text";
import { Breakdown } from "./Breakdown";
import { readUsageFilters, USUAL_PRESET, type UsageFilters, usageQuery, writeUsageFilters } from "./filters";
import { GROUPS, meanUsd, namesOf, requestDays, spendDays, sumBy } from "./series";
import { usageTexts } from "./texts";

interface Report {
  from: string;
  to: string;
  data: UsageLine[];
  totals: UsageLine;
  truncated: boolean;
}
const EVERY_FILTER = ["from", "to", "range", "by", "key", "model"];
/** Tall enough to read, the same while loading and after. */
const CHART = 240;

export default function UsagePage() {
  const t = useTexts(usageTexts);
  const [search, change] = useSearch();
  const today = dayOf(new Date());
  const filters = useMemo(() => readUsageFilters(search, today), [search, today]);
  const query = useQuery({
    queryKey: ["usage", "report", usageQuery(filters)],
    queryFn: ({ signal }) => api.get<Report>("/api/usage", { query: usageQuery(filters), signal }),
    placeholderData: keepPreviousData,
  });
  const set = (next: UsageFilters, push = false) => {
    const written = writeUsageFilters(next);
    change(Object.fromEntries(EVERY_FILTER.map((name) => [name, written[name]])), { push });
  };
  return (
    <Page
      title={t.title}
      lead={t.lead}
      action={
        <Button icon={<Download aria-hidden />} href={withQuery("/api/usage.csv", usageQuery(filters))}>
          {t.csv}
        </Button>
      }
    >
      <Bar filters={filters} onChange={set} today={today} />
      {query.error !== null && query.data === undefined ? (
        <Problem error={query.error} retry={() => void query.refetch()} />
      ) : query.data === undefined ? (
        <Waiting filters={filters} />
      ) : (
        <Shown report={query.data} filters={filters} onChange={set} today={today} />
      )}
    </Page>
  );
}

interface WithFilters {
  filters: UsageFilters;
  onChange: (filters: UsageFilters, push?: boolean) => void;
  today: string;
}

function Bar({ filters, onChange, today }: WithFilters) {
  const t = useTexts(usageTexts);
  const { options: keys } = useKeyOptions(filters.key);
  const names = new Map(keys.map((key) => [key.value, key.label]));
  const chips = [
    ...(filters.key === ""
      ? []
      : [{ name: t.filterKey(names.get(filters.key) ?? `#${filters.key}`), clear: { key: "" } }]),
    ...(filters.model === "" ? [] : [{ name: t.filterModel(filters.model), clear: { model: "" } }]),
  ];
  return (
    <div className="mb-4 flex flex-wrap items-center gap-2">
      <div className="w-40">
        <Select<DayPreset | "custom">
          aria-label={t.range}
          value={filters.preset}
          onChange={(preset) => {
            if (preset !== "custom") onChange({ ...filters, preset });
          }}
          options={[
            ...DAY_PRESETS.map((value) => ({ value, label: t.presets[value] })),
            ...(filters.preset === "custom" ? [{ value: "custom" as const, label: t.presets.custom }] : []),
          ]}
        />
      </div>
      <DayRange
        days={filters}
        word={t.choose}
        hint={t.chooseHint}
        today={today}
        chosen={filters.preset === "custom"}
        onChange={(days) => onChange({ ...filters, preset: "custom", ...days })}
      />
      <Segments
        label={t.by}
        value={filters.by}
        onChange={(by) => onChange({ ...filters, by })}
        options={GROUPS.map((value) => ({ value, label: t.groups[value] }))}
      />
      {filters.preset === "custom" && (
        <Button
          variant="link"
          className="h-9 px-1 text-[13px]!"
          icon={<Undo2 aria-hidden />}
          onClick={() => onChange({ ...filters, preset: USUAL_PRESET })}
        >
          {t.zoomOut}
        </Button>
      )}
      {chips.map((chip) => (
        <button
          key={chip.name}
          type="button"
          aria-label={t.filterRemove(chip.name)}
          onClick={() => onChange({ ...filters, ...chip.clear })}
          className="flex h-8 max-w-72 min-w-0 items-center gap-1.5 rounded-card border border-accent bg-accent-soft pr-2 pl-2.5 text-[13px] text-accent-ink hover:border-accent-hover"
        >
          <span className="min-w-0 truncate">{chip.name}</span>
          <X aria-hidden className="size-3.5 shrink-0" />
        </button>
      ))}
    </div>
  );
}

function Shown({ report, filters, onChange, today }: WithFilters & { report: Report }) {
  const t = useTexts(usageTexts);
  const r = useTexts(recordTexts);
  // What is on the page may still be the answer for the filters before; its own days go with it.
  const days = useMemo(() => ({ from: report.from || filters.from, to: report.to || filters.to }), [report, filters]);
  const names = useMemo(
    () => namesOf(report.data, filters.by, { noKey: t.noKey, endpoint: (word) => wordIn(r.endpoints, word) }),
    [report, filters.by, t, r],
  );
  const ids = useMemo(() => new Map([...names].map(([id, name]) => [name, id])), [names]);
  const spend = useMemo(() => spendDays(report.data, filters.by, names, days), [report, filters.by, names, days]);
  const calls = useMemo(() => requestDays(report.data, days), [report, days]);
  const sums = useMemo(() => sumBy(report.data, filters.by, names), [report, filters.by, names]);
  const zoom = (from: string, to: string) => onChange({ ...filters, preset: "custom", from, to }, true);
  const only = (id: string) => {
    if (id === "") return;
    if (filters.by === "model") onChange({ ...filters, model: id }, true);
    if (filters.by === "key") onChange({ ...filters, key: id }, true);
  };
  if (report.data.length === 0) return <Nothing filters={filters} onChange={onChange} today={today} />;
  return (
    <div className="space-y-4">
      {report.truncated && (
        <p
          role="status"
          className="rounded-card border border-warn-line/40 bg-warn-soft px-4 py-2.5 text-[13px] text-ink"
        >
          {t.truncated}
        </p>
      )}
      <Totals report={report} days={countDays(days)} />
      <Card title={t.spend} action={<span className="text-xs text-ink-3 max-sm:hidden">{t.spendHint}</span>}>
        <SpendBars
          days={spend}
          label={`${t.spend}, ${t.spendBy[filters.by]}`}
          height={CHART}
          onZoom={zoom}
          onPick={({ day, name }) => {
            if (name !== null && filters.by !== "endpoint") only(ids.get(name) ?? "");
            else if (day !== null) zoom(day, day);
          }}
        />
      </Card>
      {/* One day is one point, of which no line is drawn; the numbers above say it. */}
      {calls.length > 1 && (
        <Card title={t.requests} action={<span className="text-xs text-ink-3 max-sm:hidden">{t.requestsHint}</span>}>
          <RequestsArea points={calls} label={t.requests} height={180} onZoom={zoom} onPick={(day) => zoom(day, day)} />
        </Card>
      )}
      <Breakdown sums={sums} total={report.totals.spent_usd} filters={filters} onOnly={only} />
    </div>
  );
}

function Totals({ report, days }: { report: Report; days: number }) {
  const t = useTexts(usageTexts);
  const lang = locale(useLanguage());
  const totals = report.totals;
  const perDay = Math.round(totals.calls / Math.max(days, 1));
  return (
    <Stats>
      <Stat
        label={t.totals.spent}
        value={<Money usd={totals.spent_usd} kind="balance" className="whitespace-normal!" />}
        hint={t.totals.spentHint(t.days(days), money(meanUsd(totals.spent_usd, days), "balance"))}
      />
      <Stat
        label={t.totals.refunded}
        value={<Money usd={totals.refunded_usd} kind="balance" className="whitespace-normal!" />}
        hint={t.totals.refundedHint(money(totals.charged_usd, "balance"))}
      />
      <Stat
        label={t.totals.calls}
        value={<Num value={totals.calls} short />}
        hint={t.totals.callsHint(new Intl.NumberFormat(lang, { notation: "compact" }).format(perDay))}
      />
      <Stat
        label={t.totals.failed}
        value={<Num value={totals.failed_calls} short />}
        hint={t.totals.failedHint(percent(totals.failed_calls, totals.calls, lang))}
      />
    </Stats>
  );
}

function Nothing({ filters, onChange }: WithFilters) {
  const t = useTexts(usageTexts);
  const wide = filters.preset === "90d";
  return (
    <Card flush>
      <Empty
        icon={<ChartColumn aria-hidden />}
        title={t.emptyTitle}
        text={t.emptyText}
        action={
          <>
            {!wide && (
              <Button onClick={() => onChange({ ...filters, preset: "90d", key: "", model: "" })}>
                {t.emptyWider}
              </Button>
            )}
            <Button variant="primary" href="/keys">
              {t.emptyAction}
            </Button>
          </>
        }
      />
    </Card>
  );
}

function Waiting({ filters }: { filters: UsageFilters }) {
  const t = useTexts(usageTexts);
  return (
    <div className="space-y-4" aria-busy="true">
      <Stats>
        <SkeletonStat />
        <SkeletonStat />
        <SkeletonStat />
        <SkeletonStat />
      </Stats>
      <Card title={t.spend}>
        <div className="pt-10">
          <SkeletonChart height={CHART} />
        </div>
      </Card>
      <Card title={t.requests}>
        <div className="pt-10">
          <SkeletonChart height={180} />
        </div>
      </Card>
      <Card title={t.breakdown[filters.by]} flush>
        <SkeletonRows rows={6} />
      </Card>
    </div>
  );
}
