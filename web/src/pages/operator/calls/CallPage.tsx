import { useQuery } from "@tanstack/react-query";
import { api, type OperatorCallDetail, type Outcome } from "@/api";
import {
  Badge,
  Button,
  Card,
  type Column,
  DataTable,
  Duration,
  Id,
  Link,
  Money,
  Num,
  OutcomeBadge,
  Problem,
  useParam,
  When,
} from "@/kit";
import { Facts, PanelSkeleton } from "@/kit/records/parts";
import { recordTexts, wordIn } from "@/kit/records/texts";
import { logTexts } from "@/pages/logs/texts";
import { useTexts } from "@/text";
import { OperatorPage, useIsAdmitted } from "../shared";
import { callTexts } from "./texts";

/** Why a call ended as it did: its attempts, its price and its money. */
export default function CallPage() {
  const t = useTexts(callTexts);
  const id = useParam("requestId");
  const { data, error, refetch } = useQuery({
    queryKey: ["operator", "call", id],
    queryFn: ({ signal }) => api.get<OperatorCallDetail>(`/api/operator/calls/${encodeURIComponent(id)}`, { signal }),
    enabled: useIsAdmitted(),
  });
  return (
    <OperatorPage
      name={t.title}
      title={
        <span className="flex flex-wrap items-center gap-2">
          {t.title}{" "}
          <span className="text-base font-normal">
            <Id value={id} head={16} tail={6} />
          </span>
          {data !== undefined && <OutcomeBadge outcome={data.outcome as Outcome} />}
        </span>
      }
      lead={t.lead}
      action={<Button href={`/operator/margins/${encodeURIComponent(id)}`}>{t.margin}</Button>}
    >
      {error !== null && data === undefined ? (
        <Problem error={error} retry={() => void refetch()} />
      ) : data === undefined ? (
        <PanelSkeleton />
      ) : (
        <div className="space-y-6">
          <CallFacts call={data} />
          <Attempts call={data} />
          <div className="grid gap-6 lg:grid-cols-2">
            <Units call={data} />
            <Transfers call={data} />
          </div>
        </div>
      )}
    </OperatorPage>
  );
}

function CallFacts({ call }: { call: OperatorCallDetail }) {
  const t = useTexts(callTexts);
  const r = useTexts(recordTexts);
  const money = (usd: string | null) => (usd === null ? t.unknown : <Money usd={usd} kind="price" />);
  return (
    <Card>
      <Facts
        facts={[
          {
            name: t.facts.customer,
            value: (
              <Link className="text-accent-ink hover:underline" href={`/operator/customers/${call.customer_id}`}>
                #{call.customer_id}
              </Link>
            ),
          },
          { name: t.facts.model, value: call.model },
          { name: t.facts.endpoint, value: wordIn(r.endpoints, call.endpoint) },
          { name: t.facts.group, value: call.group },
          { name: t.facts.tier, value: call.tier ?? "–" },
          { name: t.facts.key, value: call.key_id === null ? t.noKey : `#${call.key_id}` },
          { name: t.facts.started, value: <When at={call.started_at} /> },
          { name: t.facts.charged, value: money(call.charged_usd) },
          { name: t.facts.refunded, value: money(call.refunded_usd) },
          { name: t.facts.cost, value: money(call.cost_usd) },
          { name: t.facts.margin, value: money(call.margin_usd) },
          { name: t.facts.prices, value: <Id value={call.price_version} head={8} tail={4} /> },
        ]}
      />
      {call.warnings.length > 0 && (
        <div className="mt-4 flex flex-wrap items-center gap-1.5">
          <span className="text-xs text-ink-3">{t.warnings}</span>
          {call.warnings.map((one) => (
            <Badge key={one} tone="warn">
              {one}
            </Badge>
          ))}
        </div>
      )}
    </Card>
  );
}

type Attempt = OperatorCallDetail["attempts"][number] & { at: number };
function Attempts({ call }: { call: OperatorCallDetail }) {
  const t = useTexts(callTexts);
  const columns: Column<Attempt>[] = [
    {
      id: "channel",
      head: t.attemptColumns.channel,
      primary: true,
      cell: (row) =>
        row.channel_id === null ? (
          t.unknown
        ) : (
          <Link className="text-accent-ink hover:underline" href={`/operator/channels/${row.channel_id}`}>
            {row.channel ?? `#${row.channel_id}`}
          </Link>
        ),
    },
    {
      id: "status",
      head: t.attemptColumns.status,
      width: 110,
      cell: (row) => (row.status === null ? "–" : <span className="num">{row.status}</span>),
    },
    {
      id: "error",
      head: t.attemptColumns.error,
      bare: true,
      cell: (row) =>
        row.error === null ? <Badge tone="ok">{t.answered}</Badge> : <Badge tone="bad">{row.error}</Badge>,
    },
    {
      id: "took",
      head: t.attemptColumns.took,
      align: "right",
      width: 110,
      cell: (row) => (row.latency_ms === null ? "–" : <Duration ms={row.latency_ms} />),
    },
  ];
  return (
    <Card title={t.attempts} flush>
      {call.attempts.length === 0 ? (
        <p className="p-4 text-ink-3">{t.noAttempts}</p>
      ) : (
        <>
          <DataTable
            label={t.attempts}
            columns={columns}
            rows={call.attempts.map((one, at) => ({ ...one, at }))}
            rowKey={(row) => row.at}
            cardFields={["channel", "status", "error", "took"]}
            className="border-0!"
          />
          <p className="border-t border-line px-4 py-2 text-xs text-ink-3">{t.attemptsText}</p>
        </>
      )}
    </Card>
  );
}

function Units({ call }: { call: OperatorCallDetail }) {
  const t = useTexts(callTexts);
  const parts = useTexts(logTexts).parts;
  const list = (units: { name: string; count: number }[]) =>
    units.map((one) => ({ name: wordIn(parts, one.name), value: <Num value={one.count} /> }));
  return (
    <Card title={t.usage}>
      {call.units.length === 0 ? <p className="text-ink-3">{t.noUsage}</p> : <Facts facts={list(call.units)} />}
      {call.measured.length > 0 && (
        <>
          <h3 className="mt-4 mb-2 text-xs text-ink-3">{t.measured}</h3>
          <Facts facts={list(call.measured)} />
        </>
      )}
    </Card>
  );
}

function Transfers({ call }: { call: OperatorCallDetail }) {
  const t = useTexts(callTexts);
  const r = useTexts(recordTexts);
  return (
    <Card title={t.money}>
      {call.transfers.length === 0 ? (
        <p className="text-ink-3">{t.noMoney}</p>
      ) : (
        <ul className="space-y-2">
          {call.transfers.map((one) => (
            <li key={`${one.kind} ${one.wallet} ${one.at}`} className="flex flex-wrap items-center gap-x-2">
              <span className="font-medium">{wordIn(r.kinds, one.kind)}</span>
              <span className="text-ink-3">
                {wordIn(r.wallets, one.wallet)} · {t.directions[one.direction]}
              </span>
              <span className="flex-1" />
              <Money usd={one.amount_usd} kind="price" />
              <span className="text-xs text-ink-3">
                <When at={one.at} />
              </span>
            </li>
          ))}
        </ul>
      )}
    </Card>
  );
}
