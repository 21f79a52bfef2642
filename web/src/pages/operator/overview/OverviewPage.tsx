import { useQuery } from "@tanstack/react-query";
import { BellRing, CircleCheck, Gavel, KeyRound, Mails, Route, TrendingDown, UserX } from "lucide-react";
import type { ReactNode } from "react";
import { api, type Overview } from "@/api";
import {
  Card,
  Empty,
  format,
  Link,
  Money,
  Num,
  Problem,
  Segments,
  SkeletonChart,
  SkeletonStat,
  SpendBars,
  Stat,
  Stats,
  useSearch,
} from "@/kit";
import { isNothing } from "@/kit/records/money";
import { wordOf } from "@/kit/records/search";
import { locale, useLanguage, useTexts } from "@/text";
import { OperatorPage, percentText, useIsAdmitted } from "../shared";
import { operatorTexts } from "../texts";
import { overviewTexts } from "./texts";

const PERIODS = ["30", "1", "7", "90"] as const;

export default function OverviewPage() {
  const t = useTexts(overviewTexts);
  const o = useTexts(operatorTexts);
  const [search, setSearch] = useSearch();
  const days = wordOf(search, "days", PERIODS);
  const { data, error, refetch } = useQuery({
    queryKey: ["operator", "overview", days],
    queryFn: ({ signal }) => api.get<Overview>("/api/operator/overview", { query: { days }, signal }),
    enabled: useIsAdmitted(),
    refetchInterval: 60_000,
  });
  return (
    <OperatorPage
      title={t.title}
      lead={t.lead}
      action={
        <Segments
          label={o.period}
          value={days}
          onChange={(next) => setSearch({ days: next === "30" ? undefined : next })}
          options={[
            { value: "1", label: o.days.d1 },
            { value: "7", label: o.days.d7 },
            { value: "30", label: o.days.d30 },
            { value: "90", label: o.days.d90 },
          ]}
        />
      }
    >
      {error !== null && data === undefined ? (
        <Problem error={error} retry={() => void refetch()} />
      ) : (
        <div className="space-y-6">
          <Figures data={data} />
          <Attention data={data} />
          <Card title={t.perDay}>
            {data === undefined ? (
              <SkeletonChart />
            ) : (
              <SpendBars
                label={t.perDay}
                whole
                days={data.days.map((day) => ({
                  day: day.day,
                  parts: isNothing(day.revenue_usd)
                    ? []
                    : [{ name: o.revenue, usd: day.revenue_usd, calls: day.calls }],
                }))}
              />
            )}
          </Card>
        </div>
      )}
    </OperatorPage>
  );
}

function Figures({ data }: { data: Overview | undefined }) {
  const t = useTexts(overviewTexts);
  const o = useTexts(operatorTexts);
  const lang = locale(useLanguage());
  if (data === undefined) {
    return (
      <Stats>
        {["a", "b", "c", "d", "e"].map((name) => (
          <SkeletonStat key={name} />
        ))}
      </Stats>
    );
  }
  const sums = data.totals;
  const isLoss = sums.margin_usd.startsWith("-");
  return (
    <Stats>
      <Stat
        label={o.revenue}
        value={<Money usd={sums.revenue_usd} kind="balance" />}
        hint={t.refundedHint(format.money(sums.refunded_usd, "balance"))}
      />
      <Stat label={o.cost} value={<Money usd={sums.cost_usd} kind="balance" />} hint="" />
      <Stat
        label={o.margin}
        tone={isLoss ? "bad" : "neutral"}
        value={<Money usd={sums.margin_usd} kind="balance" />}
        hint={sums.margin_percent === null ? "" : o.marginOf(sums.margin_percent)}
      />
      <Stat
        label={o.errorRate}
        value={percentText(sums.error_percent)}
        hint={t.ofCalls(format.count(sums.calls, lang))}
      />
      <Stat label={t.moneyIn} value={<Money usd={data.money_in_usd} kind="balance" />} hint={t.moneyInHint} />
    </Stats>
  );
}

function Attention({ data }: { data: Overview | undefined }) {
  const t = useTexts(overviewTexts);
  if (data === undefined) return null;
  const needs = data.needs_attention;
  const below = needs.below_cost;
  const lines: { count: number; text: string; href: string; icon: ReactNode }[] = [
    { count: needs.alarms, text: t.alarms(needs.alarms), href: "/operator/alarms", icon: <BellRing aria-hidden /> },
    {
      count: below.calls,
      text: t.belowCost(below.calls, format.money(below.loss_usd, "call")),
      href: "/operator/margins?below_cost=true",
      icon: <TrendingDown aria-hidden />,
    },
    {
      count: needs.open_disputes,
      text: t.disputes(needs.open_disputes),
      href: "/operator/payments?tab=disputes",
      icon: <Gavel aria-hidden />,
    },
    {
      count: needs.paused_credentials,
      text: t.credentials(needs.paused_credentials),
      href: "/operator/channels",
      icon: <KeyRound aria-hidden />,
    },
    {
      count: needs.draining_channels,
      text: t.draining(needs.draining_channels),
      href: "/operator/channels",
      icon: <Route aria-hidden />,
    },
    {
      count: needs.suspended_customers,
      text: t.suspended(needs.suspended_customers),
      href: "/operator/customers?state=suspended",
      icon: <UserX aria-hidden />,
    },
    {
      count: needs.unsent_emails,
      text: t.emails(needs.unsent_emails),
      href: "/operator/emails",
      icon: <Mails aria-hidden />,
    },
  ];
  const shown = lines.filter((line) => line.count > 0);
  return (
    <Card title={t.attention} flush {...(shown.length === 0 ? {} : { action: <Num value={shown.length} /> })}>
      {shown.length === 0 ? (
        <Empty icon={<CircleCheck aria-hidden />} title={t.nothing} text={t.nothingText} className="py-8!" />
      ) : (
        <ul>
          {shown.map((line) => (
            <li key={line.href + line.text} className="border-b border-line last:border-b-0">
              <Link
                href={line.href}
                className="flex min-h-11 items-center gap-3 px-4 py-2 hover:bg-hover focus-visible:-outline-offset-2"
              >
                <span className="text-warn [&_svg]:size-4">{line.icon}</span>
                <span className="min-w-0 flex-1">{line.text}</span>
                <span className="text-xs text-accent-ink">{t.open}</span>
              </Link>
            </li>
          ))}
        </ul>
      )}
    </Card>
  );
}
