import { useQuery } from "@tanstack/react-query";
import { Ban, CircleAlert, CircleCheck, Clock, Play, Undo2 } from "lucide-react";
import type { ReactNode } from "react";
import { api, type LogDetail } from "@/api";
import {
  Button,
  Copy,
  Duration,
  Id,
  Link,
  OutcomeBadge,
  outcomeTone,
  Problem,
  SidePanel,
  useGo,
  useParam,
  useSearch,
  When,
} from "@/kit";
import { money } from "@/kit/format";
import { isNothing } from "@/kit/records/money";
import { Facts, PanelSkeleton, Verdict } from "@/kit/records/parts";
import { recordTexts, wordIn } from "@/kit/records/texts";
import { listed, useTexts } from "@/text";
import { moneyEnd, playgroundOf } from "./receipt";
import { Attempts, Movements, PriceLines, UsageParts, Warnings } from "./receiptParts";
import { logTexts } from "./texts";

/** The receipt of one call, beside the log. */
export default function LogPanel() {
  const t = useTexts(logTexts);
  const go = useGo();
  const id = useParam("requestId");
  const [search] = useSearch();
  const { data, error, refetch } = useQuery({
    queryKey: ["logs", "call", id],
    queryFn: ({ signal }) => api.get<LogDetail>(`/api/logs/${encodeURIComponent(id)}`, { signal }),
  });
  const task = data === undefined ? null : playgroundOf(data.endpoint);
  return (
    <SidePanel
      title={t.receipt}
      onClose={() => go("/logs", search)}
      lead={
        <>
          <Id value={id} head={16} tail={6} />
          {data !== undefined && <OutcomeBadge outcome={data.outcome} />}
        </>
      }
      footer={
        data !== undefined && (
          <>
            <Copy word text={JSON.stringify(data, null, 2)} label={t.json} className="h-9! text-sm!" />
            {task !== null && (
              <Button icon={<Play aria-hidden />} href={`/playground/${task}?model=${encodeURIComponent(data.model)}`}>
                {t.again}
              </Button>
            )}
          </>
        )
      }
    >
      {error !== null && data === undefined ? (
        <Problem error={error} retry={() => void refetch()} />
      ) : data === undefined ? (
        <PanelSkeleton />
      ) : (
        <Receipt detail={data} />
      )}
    </SidePanel>
  );
}

function Receipt({ detail }: { detail: LogDetail }) {
  return (
    <>
      <Said detail={detail} />
      <CallFacts detail={detail} />
      <Warnings detail={detail} />
      <Attempts detail={detail} />
      <PriceLines detail={detail} />
      <Movements detail={detail} />
      <UsageParts detail={detail} />
    </>
  );
}

function Said({ detail }: { detail: LogDetail }) {
  const t = useTexts(logTexts);
  const amount = money(detail.cost_usd, "price");
  const back = money(detail.refunded_usd, "price");
  const end = moneyEnd(detail);
  const paid = {
    free: t.paid.free,
    charged: t.paid.charged(amount),
    refunded: t.paid.refunded(amount),
    partly_refunded: t.paid.partly(amount, back),
  }[end];
  const tone = end === "refunded" ? "refund" : outcomeTone(detail.outcome);
  const icons: Record<typeof tone, ReactNode> = {
    ok: <CircleCheck aria-hidden />,
    bad: <CircleAlert aria-hidden />,
    warn: <CircleAlert aria-hidden />,
    info: <Clock aria-hidden />,
    refund: <Undo2 aria-hidden />,
    neutral: <Ban aria-hidden />,
  };
  return <Verdict icon={icons[tone]} tone={tone} said={t.said[detail.outcome]} money={paid} />;
}

function CallFacts({ detail }: { detail: LogDetail }) {
  const t = useTexts(logTexts);
  const r = useTexts(recordTexts);
  const from = [
    isNothing(detail.paid_usd) ? null : t.walletsPaid(money(detail.paid_usd, "price")),
    isNothing(detail.trial_usd) ? null : t.walletsTrial(money(detail.trial_usd, "price")),
  ].filter((part) => part !== null);
  const link = "text-accent-ink hover:underline";
  const facts = [
    {
      name: t.facts.model,
      value: (
        <Link className={link} href={`/catalog/${encodeURIComponent(detail.model)}`}>
          {detail.model}
        </Link>
      ),
    },
    { name: t.facts.endpoint, value: wordIn(r.endpoints, detail.endpoint) },
    {
      name: t.facts.key,
      value:
        detail.key_id === null ? (
          r.noKey
        ) : (
          <Link className={link} href={`/keys/${detail.key_id}`}>
            {detail.key_name ?? `#${detail.key_id}`}
          </Link>
        ),
    },
    { name: t.facts.group, value: detail.group },
    { name: t.facts.began, value: <When at={detail.at} /> },
    { name: t.facts.ended, value: <When at={detail.settled_at} /> },
    { name: t.facts.took, value: <Duration ms={detail.latency_ms} /> },
    ...(from.length === 0 ? [] : [{ name: t.facts.wallets, value: listed(from) }]),
    ...(detail.task_id === null
      ? []
      : [
          {
            name: t.facts.task,
            value: (
              <Link className={link} href={`/tasks/${encodeURIComponent(detail.task_id)}`}>
                {t.seeTask}
              </Link>
            ),
          },
        ]),
  ];
  return <Facts facts={facts} className="pb-5" />;
}
