import { useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { Outlet } from "@tanstack/react-router";
import { CreditCard, Gavel } from "lucide-react";
import { useState } from "react";
import { api, type Dispute, type OperatorPayment, type ReversalState } from "@/api";
import {
  Badge,
  Button,
  type Column,
  DataTable,
  Empty,
  Money,
  Select,
  Tabs,
  type Tone,
  toast,
  useParam,
  useSearch,
  When,
} from "@/kit";
import { isNothing } from "@/kit/records/money";
import { textOf, wordOf } from "@/kit/records/search";
import { wordIn } from "@/kit/records/texts";
import { useTexts } from "@/text";
import { ActDialog, OperatorPage, StateBadge, useIsAdmitted, useMay } from "../shared";
import { paymentsTexts } from "./texts";
import { disputeTones, paymentTones } from "./tones";

const TABS = ["payments", "disputes"] as const;

export default function PaymentsPage() {
  const t = useTexts(paymentsTexts);
  const may = useMay("money.write");
  const client = useQueryClient();
  const [search, setSearch] = useSearch();
  const reconcile = useMutation({
    mutationFn: () => api.post<{ events: number; missed: number }>("/api/operator/payments/reconcile"),
    onSuccess: (done) => {
      toast(t.reconciled(done.events, done.missed));
      void client.invalidateQueries({ queryKey: ["operator"] });
    },
    onError: (problem) => toast(problem.message, "bad"),
  });
  return (
    <OperatorPage
      title={t.title}
      lead={t.lead}
      action={
        may && (
          <Button busy={reconcile.isPending} onClick={() => reconcile.mutate()}>
            {t.reconcile}
          </Button>
        )
      }
    >
      <Tabs
        label={t.title}
        value={wordOf(search, "tab", TABS)}
        onChange={(tab) => setSearch({ tab: tab === "payments" ? undefined : tab }, { push: true })}
        tabs={[
          { value: "payments", label: t.tabs.payments, content: <Payments /> },
          { value: "disputes", label: t.tabs.disputes, content: <Disputes /> },
        ]}
      />
      <Outlet />
    </OperatorPage>
  );
}

function Payments() {
  const t = useTexts(paymentsTexts);
  const [search, setSearch] = useSearch();
  const state = textOf(search, "state");
  const open = useParam("id");
  const { data, error, refetch } = useQuery({
    queryKey: ["operator", "payments", state],
    queryFn: ({ signal }) =>
      api.get<{ is_available: boolean; data: OperatorPayment[] }>("/api/operator/payments", {
        query: { state, limit: 200 },
        signal,
      }),
    enabled: useIsAdmitted(),
  });
  const columns: Column<OperatorPayment>[] = [
    { id: "customer", head: t.columns.customer, primary: true, clip: true, cell: (row) => row.customer_name },
    {
      id: "state",
      head: t.columns.state,
      width: 110,
      bare: true,
      cell: (row) => <Badge tone={paymentTones[row.state]}>{t.states[row.state]}</Badge>,
    },
    { id: "kind", head: t.columns.kind, width: 150, cell: (row) => wordIn(t.kinds, row.kind) },
    {
      id: "amount",
      head: t.columns.amount,
      align: "right",
      width: 120,
      cell: (row) => <Money usd={row.amount_usd} kind="balance" />,
    },
    {
      id: "returned",
      head: t.columns.returned,
      align: "right",
      width: 120,
      cell: (row) => (isNothing(row.returned_usd) ? "–" : <Money usd={row.returned_usd} kind="balance" />),
    },
    { id: "created", head: t.columns.created, width: 150, cell: (row) => <When at={row.created_at} /> },
  ];
  return (
    <>
      {data !== undefined && !data.is_available && (
        <p className="mb-4 rounded-card border border-warn-line/40 bg-warn-soft px-4 py-2.5">{t.unavailable}</p>
      )}
      <Select
        aria-label={t.columns.state}
        className="mb-4 w-40!"
        value={state}
        onChange={(next) => setSearch({ state: next })}
        options={[
          { value: "", label: t.all },
          { value: "paid", label: t.states.paid },
          { value: "open", label: t.states.open },
          { value: "failed", label: t.states.failed },
        ]}
      />
      <DataTable
        label={t.tabs.payments}
        columns={columns}
        rows={data?.data}
        error={error}
        retry={() => void refetch()}
        rowKey={(row) => row.id}
        rowHref={(row) => `/operator/payments/${encodeURIComponent(row.id)}`}
        current={open === "" ? undefined : open}
        cardFields={["customer", "amount", "state", "created"]}
        empty={<Empty icon={<CreditCard aria-hidden />} title={t.empty} text={t.emptyText} />}
      />
    </>
  );
}

function Disputes() {
  const t = useTexts(paymentsTexts);
  const may = useMay("customers.write");
  const client = useQueryClient();
  const [resumed, setResumed] = useState<Dispute | null>(null);
  const { data, error, refetch } = useQuery({
    queryKey: ["operator", "disputes"],
    queryFn: ({ signal }) => api.get<{ data: Dispute[] }>("/api/operator/disputes", { signal }),
    enabled: useIsAdmitted(),
  });
  const tone = (state: ReversalState): Tone => disputeTones[state];
  const columns: Column<Dispute>[] = [
    {
      id: "customer",
      head: t.disputeColumns.customer,
      primary: true,
      clip: true,
      cell: (row) => (
        <span className="flex min-w-0 items-center gap-x-2 max-sm:flex-wrap">
          <span className="min-w-0 truncate">{row.customer_name ?? row.provider_payment}</span>
          {row.customer_state !== null && <StateBadge state={row.customer_state} />}
        </span>
      ),
    },
    {
      id: "state",
      head: t.disputeColumns.state,
      width: 120,
      bare: true,
      cell: (row) => (
        <span data-tip={t.next[row.state]}>
          <Badge tone={tone(row.state)}>{t.disputeStates[row.state]}</Badge>
        </span>
      ),
    },
    {
      id: "amount",
      head: t.disputeColumns.amount,
      align: "right",
      width: 110,
      cell: (row) => <Money usd={row.amount_usd} kind="balance" />,
    },
    {
      id: "taken",
      head: t.disputeColumns.taken,
      align: "right",
      width: 110,
      cell: (row) => <Money usd={row.taken_usd} kind="balance" />,
    },
    {
      id: "owed",
      head: t.disputeColumns.owed,
      align: "right",
      width: 110,
      cell: (row) => (isNothing(row.owed_usd) ? "–" : <Money usd={row.owed_usd} kind="balance" className="text-bad" />),
    },
    { id: "changed", head: t.disputeColumns.changed, width: 140, cell: (row) => <When at={row.changed_at} /> },
    {
      id: "act",
      head: "",
      align: "right",
      width: 170,
      cell: (row) => {
        const isOver = row.state === "won" || row.state === "lost";
        if (may && isOver && row.customer_state === "suspended")
          return (
            <Button size="small" onClick={() => setResumed(row)}>
              {t.resume}
            </Button>
          );
        return row.customer_id === null ? null : (
          <Button size="small" href={`/operator/customers/${row.customer_id}`}>
            {t.openCustomer}
          </Button>
        );
      },
    },
  ];
  return (
    <>
      <DataTable
        label={t.tabs.disputes}
        columns={columns}
        rows={data?.data}
        error={error}
        retry={() => void refetch()}
        rowKey={(row) => row.id}
        skeletonRows={4}
        cardFields={["customer", "state", "amount", "owed", "act"]}
        empty={<Empty icon={<Gavel aria-hidden />} title={t.noDisputes} text={t.noDisputesText} />}
      />
      <ActDialog
        open={resumed !== null}
        onClose={() => setResumed(null)}
        title={t.resumeTitle(resumed?.customer_name ?? "")}
        lead={t.resumeLead}
        consequence={t.resume}
        onAct={async (reason) => {
          await api.post(`/api/operator/customers/${resumed?.customer_id}/resume`, { reason });
          await client.invalidateQueries({ queryKey: ["operator"] });
          toast(t.resumed);
        }}
      />
    </>
  );
}
