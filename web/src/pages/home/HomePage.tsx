import { useQuery } from "@tanstack/react-query";
import { CircleAlert, CircleCheck, Plus } from "lucide-react";
import { api, type Home, type LogRow } from "@/api";
import { useRight } from "@/app/session";
import {
  Button,
  Card,
  type Column,
  DataTable,
  Empty,
  format,
  Link,
  Money,
  Num,
  OutcomeBadge,
  Page,
  Problem,
  SkeletonChart,
  SkeletonStat,
  SkeletonText,
  SpendBars,
  Stat,
  Stats,
  When,
} from "@/kit";
import { minusUsd } from "@/kit/records/money";
import { locale, named, useLanguage, useTexts } from "@/text";
import { Steps } from "./Steps";
import { homeTexts } from "./texts";

/** The page is looked at while calls go on. */
const FRESH_MS = 20_000;
const CHART = 200;

export default function HomePage() {
  const t = useTexts(homeTexts);
  const mayKeys = useRight("keys.write");
  const { data, error, refetch } = useQuery({
    queryKey: ["home"],
    queryFn: ({ signal }) => api.get<Home>("/api/home", { signal }),
    refetchInterval: FRESH_MS,
  });
  return (
    <Page
      title={t.title}
      lead={t.lead}
      action={
        mayKeys && (
          <Button variant="primary" icon={<Plus aria-hidden />} href="/keys/new">
            {t.newKey}
          </Button>
        )
      }
    >
      {error !== null && <Problem error={error} retry={() => void refetch()} className="mb-6" />}
      {data !== undefined && <Low home={data} />}
      {data !== undefined && !data.has_called && <Steps home={data} />}
      {(data !== undefined || error === null) && (
        <>
          <Numbers home={data} />
          <div className="mt-6 grid gap-6 lg:grid-cols-3">
            <Spend home={data} />
            <Troubled home={data} />
          </div>
          <Errors rows={data?.last_errors} />
        </>
      )}
    </Page>
  );
}

function Low({ home }: { home: Home }) {
  const t = useTexts(homeTexts);
  const mark = home.low_balance_threshold_usd;
  if (mark === null || !home.balance.is_low) return null;
  return (
    <div
      role="status"
      className="mb-6 flex flex-wrap items-center gap-x-3 gap-y-2 rounded-card border border-warn-line/40 bg-warn-soft px-4 py-2.5"
    >
      <CircleAlert aria-hidden className="size-4 shrink-0 text-warn" />
      <span className="min-w-0 flex-1 basis-60">{t.low(format.money(mark, "balance"))}</span>
      <Button size="small" href="/wallet">
        {t.topUp}
      </Button>
    </div>
  );
}

function Numbers({ home }: { home: Home | undefined }) {
  const t = useTexts(homeTexts);
  const lang = locale(useLanguage());
  if (home === undefined) {
    return (
      <Stats>
        {["a", "b", "c", "d"].map((name) => (
          <div key={name}>
            <SkeletonStat />
          </div>
        ))}
      </Stats>
    );
  }
  const { balance } = home;
  const reserved = format.isZeroUsd(balance.reserved_usd)
    ? t.nothingReserved
    : t.reservedNow(format.money(balance.reserved_usd, "balance"));
  return (
    <Stats>
      <Stat
        label={t.available}
        value={<Money usd={balance.available_usd} kind="balance" />}
        hint={reserved}
        tone={balance.is_low ? "warn" : "neutral"}
      />
      <Stat
        label={t.spentToday}
        value={<Money usd={home.spent_today_usd} kind="balance" />}
        hint={t.yesterday(format.money(home.spent_yesterday_usd, "balance"))}
      />
      <Stat
        label={t.daysLeft}
        value={home.days_left === null ? "–" : t.days(format.count(home.days_left, lang))}
        hint={
          home.days_left === null ? (
            t.daysLeftNone
          ) : (
            <>
              <Money usd={home.burn_per_day_usd} kind="balance" /> {t.perDay} · {t.burnHint}
            </>
          )
        }
        tone={home.days_left !== null && home.days_left < 3 ? "warn" : "neutral"}
      />
      <Stat
        label={t.callsToday}
        value={<Num value={home.calls_today} short />}
        hint={
          home.failed_today === 0
            ? t.noneFailed
            : t.failedOf(
                format.count(home.failed_today, lang),
                format.percent(home.failed_today, home.calls_today, lang),
              )
        }
      />
    </Stats>
  );
}

function Spend({ home }: { home: Home | undefined }) {
  const t = useTexts(homeTexts);
  return (
    <Card
      className="lg:col-span-2"
      title={t.spend}
      action={
        <Link href="/usage" className="text-[13px] text-accent-ink hover:underline">
          {t.usage}
        </Link>
      }
    >
      {home === undefined ? (
        <div className="pt-10">
          <SkeletonChart height={CHART} />
        </div>
      ) : (
        <SpendBars
          whole
          height={CHART}
          label={t.spendLabel}
          days={home.days.map((day) => ({
            day: day.day,
            // A bar cannot show less than nothing.
            parts:
              format.compareUsd(day.spent_usd, "0") < 0
                ? []
                : [{ name: t.spentSeries, usd: day.spent_usd, calls: day.calls }],
          }))}
          note={
            <>
              {named(t.month)}
              <Money usd={home.spent_30_days_usd} kind="balance" /> · {t.utc}
            </>
          }
        />
      )}
    </Card>
  );
}

function Troubled({ home }: { home: Home | undefined }) {
  const t = useTexts(homeTexts);
  const lang = locale(useLanguage());
  return (
    <Card title={t.troubled} flush={home !== undefined && home.failing_models.length > 0}>
      {home === undefined && <SkeletonText lines={4} />}
      {home !== undefined && home.failing_models.length === 0 && (
        <p className="flex items-start gap-2 text-ink-2">
          <CircleCheck aria-hidden className="mt-0.5 size-4 shrink-0 text-ok" />
          {t.troubledNone}
        </p>
      )}
      {home !== undefined && home.failing_models.length > 0 && (
        <>
          <ul>
            {home.failing_models.slice(0, 5).map((one) => (
              <li key={one.model} className="border-b border-line">
                <Link
                  href={`/logs?model=${encodeURIComponent(one.model)}&outcome=failed`}
                  className="flex items-center justify-between gap-3 px-4 py-2.5 hover:bg-hover focus-visible:-outline-offset-2"
                >
                  <span className="min-w-0">
                    <span className="block truncate font-medium">{one.model}</span>
                    <span className="block text-xs text-ink-3">
                      {t.troubledLine(format.count(one.failed, lang), format.count(one.calls, lang))}
                    </span>
                  </span>
                  <span className="num shrink-0 font-medium text-bad">
                    {format.percent(one.failed, one.calls, lang)}
                  </span>
                </Link>
              </li>
            ))}
          </ul>
          <p className="px-4 py-3 text-xs text-ink-3">{t.troubledHint}</p>
        </>
      )}
    </Card>
  );
}

function Errors({ rows }: { rows: LogRow[] | undefined }) {
  const t = useTexts(homeTexts);
  const columns: Column<LogRow>[] = [
    { id: "what", head: t.columns.what, cell: (row) => <OutcomeBadge outcome={row.outcome} />, width: 190, bare: true },
    { id: "model", head: t.columns.model, cell: (row) => row.model, primary: true, clip: true },
    { id: "key", head: t.columns.key, cell: (row) => row.key_name ?? t.noKey, clip: true },
    { id: "when", head: t.columns.when, cell: (row) => <When at={row.at} />, width: 140, bare: true },
    {
      id: "cost",
      head: t.columns.cost,
      cell: (row) => <Money usd={minusUsd(row.cost_usd, row.refunded_usd)} kind="call" />,
      align: "right",
      width: 120,
    },
  ];
  return (
    <section className="mt-8">
      <div className="mb-3 flex items-center justify-between gap-4">
        <h2 className="font-semibold">{t.errors}</h2>
        <Link href="/logs?outcome=failed" className="text-[13px] text-accent-ink hover:underline">
          {t.errorsAll}
        </Link>
      </div>
      <DataTable
        label={t.errors}
        columns={columns}
        rows={rows}
        skeletonRows={3}
        rowKey={(row) => row.request_id}
        rowHref={(row) => `/logs/${encodeURIComponent(row.request_id)}`}
        cardFields={["model", "what", "when", "cost"]}
        empty={<Empty title={t.errorsNone} text={t.errorsNoneText} className="py-8!" />}
      />
    </section>
  );
}
