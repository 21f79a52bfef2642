/** The lists of a customer's page: members, keys, calls, transactions, notes. */
import { useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { Activity, KeyRound, ReceiptText, Users } from "lucide-react";
import { useState } from "react";
import {
  api,
  type CustomerDetail,
  type CustomerKey,
  type Note,
  type OperatorCall,
  type Outcome,
  type StatementLine,
} from "@/api";
import { appTexts } from "@/app/texts";
import {
  Badge,
  Button,
  Card,
  type Column,
  DataTable,
  Empty,
  format,
  Id,
  Link,
  Money,
  OutcomeBadge,
  Section,
  Textarea,
  type Tone,
  toast,
  When,
} from "@/kit";
import { isNothing } from "@/kit/records/money";
import { wordIn } from "@/kit/records/texts";
import { useTexts } from "@/text";
import { ActDialog, useMay } from "../shared";
import { customersTexts } from "./texts";

export function CustomerMembers({ customer }: { customer: CustomerDetail }) {
  const t = useTexts(customersTexts).one;
  const roles = useTexts(appTexts).roles;
  return (
    <Section title={t.members}>
      <ul className="rounded-card border border-line bg-surface">
        {customer.members.map((member) => (
          <li
            key={member.id}
            className="flex flex-wrap items-center gap-x-3 gap-y-1 border-b border-line px-4 py-2 last:border-b-0"
          >
            <span className="min-w-0 flex-1 max-sm:basis-full">
              <span className="block truncate font-medium">{member.name === "" ? member.email : member.name}</span>
              {member.name !== "" && <span className="block truncate text-xs text-ink-3">{member.email}</span>}
            </span>
            <Badge>{wordIn(roles, member.role)}</Badge>
            <span className="shrink-0 text-xs text-ink-3 sm:w-40 sm:text-right">
              {member.last_seen_at === null ? (
                t.never
              ) : (
                <>
                  {t.lastSeen} <When at={member.last_seen_at} />
                </>
              )}
            </span>
          </li>
        ))}
        {customer.members.length === 0 && (
          <li>
            <Empty icon={<Users aria-hidden />} title={t.noMembers} text={t.noMembersText} className="py-8!" />
          </li>
        )}
      </ul>
    </Section>
  );
}

const keyTones: Record<CustomerKey["state"], Tone> = {
  active: "ok",
  disabled: "warn",
  expired: "neutral",
  revoked: "neutral",
};

export function CustomerKeys({ id }: { id: number }) {
  const t = useTexts(customersTexts).one;
  const may = useMay("customers.write");
  const client = useQueryClient();
  const [turning, setTurning] = useState<CustomerKey | null>(null);
  const { data, error, refetch } = useQuery({
    queryKey: ["operator", "customer", String(id), "keys"],
    queryFn: ({ signal }) => api.get<{ data: CustomerKey[] }>(`/api/operator/customers/${id}/keys`, { signal }),
  });
  const columns: Column<CustomerKey>[] = [
    {
      id: "name",
      head: t.keyColumns.name,
      primary: true,
      clip: true,
      cell: (row) => (
        <span className="flex min-w-0 items-center gap-2">
          <span className="min-w-0 truncate">{row.name}</span>
          <span className="num shrink-0 text-xs font-normal whitespace-nowrap text-ink-3">{row.hint}</span>
        </span>
      ),
    },
    {
      id: "state",
      head: t.keyColumns.state,
      width: 110,
      bare: true,
      cell: (row) => <Badge tone={keyTones[row.state]}>{t.keyStates[row.state]}</Badge>,
    },
    {
      id: "used",
      head: t.keyColumns.used,
      width: 140,
      cell: (row) => (row.last_used_at === null ? t.never : <When at={row.last_used_at} />),
    },
    {
      id: "spent",
      head: t.keyColumns.spent,
      align: "right",
      width: 130,
      cell: (row) => <Money usd={row.spent_30_days_usd} kind="balance" />,
    },
    { id: "created", head: t.keyColumns.created, width: 140, cell: (row) => <When at={row.created_at} /> },
    {
      id: "act",
      head: "",
      align: "right",
      width: 100,
      cell: (row) =>
        may && (row.state === "active" || row.state === "disabled") ? (
          <Button
            size="small"
            aria-label={`${row.state === "active" ? t.disableKey : t.enableKey} ${row.name}`}
            onClick={() => setTurning(row)}
          >
            {row.state === "active" ? t.disableKey : t.enableKey}
          </Button>
        ) : null,
    },
  ];
  const isOn = turning?.state === "active";
  return (
    <Section title={t.keys}>
      <DataTable
        label={t.keys}
        columns={columns}
        rows={data?.data}
        error={error}
        retry={() => void refetch()}
        rowKey={(row) => row.id}
        skeletonRows={3}
        cardFields={["name", "state", "used", "spent", "act"]}
        empty={<Empty icon={<KeyRound aria-hidden />} title={t.noKeys} text={t.noKeysText} className="py-8!" />}
      />
      <ActDialog
        open={turning !== null}
        onClose={() => setTurning(null)}
        title={isOn ? t.disableKeyTitle(turning?.name ?? "") : t.enableKeyTitle(turning?.name ?? "")}
        {...(isOn ? { lead: t.disableKeyLead } : {})}
        tone={isOn ? "danger" : "primary"}
        consequence={isOn ? t.disableKeyDo(format.money(turning?.spent_30_days_usd ?? "0", "balance")) : t.enableKeyDo}
        onAct={async (reason) => {
          if (turning === null) return;
          const word = isOn ? "disable" : "enable";
          await api.post(`/api/operator/customers/${id}/keys/${turning.id}/${word}`, { reason });
          await client.invalidateQueries({ queryKey: ["operator", "customer", String(id)] });
        }}
      />
    </Section>
  );
}

export function CustomerCalls({ id }: { id: number }) {
  const t = useTexts(customersTexts).one;
  const { data, error, refetch } = useQuery({
    queryKey: ["operator", "customer", String(id), "calls"],
    queryFn: ({ signal }) =>
      api.get<{ data: OperatorCall[] }>("/api/operator/calls", { query: { customer: id, limit: 20 }, signal }),
  });
  const columns: Column<OperatorCall>[] = [
    { id: "time", head: t.callColumns.time, width: 130, primary: true, cell: (row) => <When at={row.started_at} /> },
    { id: "model", head: t.callColumns.model, clip: true, cell: (row) => row.model },
    {
      id: "outcome",
      head: t.callColumns.outcome,
      width: 150,
      bare: true,
      cell: (row) => <OutcomeBadge outcome={row.outcome as Outcome} />,
    },
    {
      id: "charged",
      head: t.callColumns.charged,
      align: "right",
      width: 120,
      cell: (row) => <Money usd={row.charged_usd} kind="call" />,
    },
    {
      id: "margin",
      head: t.callColumns.margin,
      align: "right",
      width: 120,
      cell: (row) => (row.margin_usd === null ? "–" : <Money usd={row.margin_usd} kind="call" />),
    },
  ];
  return (
    <Section
      title={t.calls}
      action={
        <Link href={`/operator/margins?customer=${id}&by=model`} className="text-xs text-accent-ink hover:underline">
          {t.allMargins}
        </Link>
      }
    >
      <DataTable
        label={t.calls}
        columns={columns}
        rows={data?.data}
        error={error}
        retry={() => void refetch()}
        rowKey={(row) => row.request_id}
        rowHref={(row) => `/operator/calls/${encodeURIComponent(row.request_id)}`}
        skeletonRows={4}
        cardFields={["model", "outcome", "charged", "time"]}
        empty={<Empty icon={<Activity aria-hidden />} title={t.noCalls} text={t.noCallsText} className="py-8!" />}
      />
    </Section>
  );
}

export function CustomerStatement({ id }: { id: number }) {
  const t = useTexts(customersTexts).one;
  const { data, error, refetch } = useQuery({
    queryKey: ["operator", "customer", String(id), "statement"],
    queryFn: ({ signal }) =>
      api.get<{ data: StatementLine[] }>(`/api/operator/customers/${id}/statement`, { query: { limit: 50 }, signal }),
  });
  const amount = (usd: string) => (isNothing(usd) ? "–" : <Money usd={usd} kind="call" />);
  const columns: Column<StatementLine>[] = [
    { id: "time", head: t.statementColumns.time, width: 130, cell: (row) => <When at={row.at} /> },
    {
      id: "kind",
      head: t.statementColumns.kind,
      primary: true,
      cell: (row) => (
        <span className="flex min-w-0 items-center gap-2">
          {wordIn(t.kinds, row.kind)}
          {row.details === "" ? (
            <Id value={row.request_id} />
          ) : (
            <span className="truncate font-normal text-ink-3">{row.details}</span>
          )}
        </span>
      ),
    },
    { id: "paid", head: t.statementColumns.paid, align: "right", width: 130, cell: (row) => amount(row.paid_usd) },
    { id: "trial", head: t.statementColumns.trial, align: "right", width: 130, cell: (row) => amount(row.trial_usd) },
    {
      id: "after",
      head: t.statementColumns.after,
      align: "right",
      width: 140,
      cell: (row) => <Money usd={row.paid_after_usd} kind="balance" />,
    },
  ];
  const rows = data?.data.map((line, index) => ({ ...line, key: `${line.at}-${line.kind}-${index}` }));
  return (
    <Section title={t.statement}>
      <DataTable
        label={t.statement}
        columns={columns}
        rows={rows}
        error={error}
        retry={() => void refetch()}
        rowKey={(row) => (row as StatementLine & { key: string }).key}
        skeletonRows={4}
        cardFields={["kind", "paid", "trial", "time"]}
        empty={
          <Empty icon={<ReceiptText aria-hidden />} title={t.noStatement} text={t.noStatementText} className="py-8!" />
        }
      />
    </Section>
  );
}

export function CustomerNotes({ customer }: { customer: CustomerDetail }) {
  const t = useTexts(customersTexts).one;
  const may = useMay("customers.write");
  const client = useQueryClient();
  const [text, setText] = useState("");
  const add = useMutation({
    mutationFn: () => api.post<Note>(`/api/operator/customers/${customer.id}/notes`, { text: text.trim() }),
    onSuccess: () => {
      setText("");
      toast(t.noted);
      void client.invalidateQueries({ queryKey: ["operator", "customer", String(customer.id)] });
    },
    onError: (problem) => toast(problem.message, "bad"),
  });
  return (
    <Card title={t.notes}>
      {may && (
        <form
          className="mb-4"
          onSubmit={(event) => {
            event.preventDefault();
            add.mutate();
          }}
        >
          <Textarea
            rows={2}
            aria-label={t.notes}
            placeholder={t.notePlaceholder}
            maxLength={2000}
            value={text}
            onChange={(event) => setText(event.target.value)}
          />
          <div className="mt-2 flex justify-end">
            <Button size="small" type="submit" busy={add.isPending} disabled={text.trim() === ""}>
              {t.addNote}
            </Button>
          </div>
        </form>
      )}
      {customer.notes.length === 0 ? (
        <p className="text-ink-3">{t.noNotes}</p>
      ) : (
        <ul className="max-h-64 space-y-3 overflow-y-auto">
          {customer.notes.map((note) => (
            <li key={note.id}>
              <p className="[overflow-wrap:anywhere] whitespace-pre-wrap">{note.text}</p>
              <p className="text-xs text-ink-3">
                {note.author} · <When at={note.created_at} />
              </p>
            </li>
          ))}
        </ul>
      )}
    </Card>
  );
}
