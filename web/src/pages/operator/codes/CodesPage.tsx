import { useQuery, useQueryClient } from "@tanstack/react-query";
import { Plus, Ticket } from "lucide-react";
import { useRef, useState } from "react";
import { api, type Code as RedemptionCode, type TrialRules } from "@/api";
import {
  Badge,
  Button,
  Code,
  type Column,
  Confirm,
  DataTable,
  Dialog,
  Empty,
  Field,
  format,
  Input,
  Money,
  Num,
  Section,
  Segments,
  Stat,
  Stats,
  type Tone,
  toast,
  When,
} from "@/kit";
import { isNothing, readTypedUsd } from "@/kit/records/money";
import { useTexts } from "@/text";
import { ActDialog, OperatorPage, useIsAdmitted, useMay } from "../shared";
import { operatorTexts } from "../texts";
import { codesTexts } from "./texts";

const tones: Record<RedemptionCode["state"], Tone> = {
  open: "info",
  redeemed: "ok",
  revoked: "neutral",
  expired: "neutral",
};

export default function CodesPage() {
  const t = useTexts(codesTexts);
  const o = useTexts(operatorTexts);
  const may = useMay("money.write");
  const client = useQueryClient();
  const [isMaking, setMaking] = useState(false);
  const [revoked, setRevoked] = useState<RedemptionCode | null>(null);
  const { data, error, refetch } = useQuery({
    queryKey: ["operator", "codes"],
    queryFn: ({ signal }) =>
      api.get<{ data: RedemptionCode[] }>("/api/operator/codes", { query: { limit: 200 }, signal }),
    enabled: useIsAdmitted(),
  });
  const columns: Column<RedemptionCode>[] = [
    { id: "hint", head: t.columns.hint, primary: true, mono: true, cell: (row) => row.hint },
    { id: "batch", head: t.columns.batch, clip: true, cell: (row) => row.batch },
    {
      id: "amount",
      head: t.columns.amount,
      align: "right",
      width: 110,
      cell: (row) => <Money usd={row.amount_usd} kind="balance" />,
    },
    { id: "wallet", head: t.columns.wallet, width: 90, cell: (row) => o.wallets[row.wallet] },
    {
      id: "state",
      head: t.columns.state,
      width: 120,
      bare: true,
      cell: (row) => <Badge tone={tones[row.state]}>{t.states[row.state]}</Badge>,
    },
    {
      id: "used",
      head: t.columns.used,
      width: 130,
      cell: (row) => (row.redeemed_by === null ? "–" : `#${row.redeemed_by}`),
    },
    { id: "created", head: t.columns.created, width: 140, cell: (row) => <When at={row.created_at} /> },
    {
      id: "act",
      head: "",
      align: "right",
      width: 90,
      cell: (row) =>
        may && row.state === "open" ? (
          <Button size="small" aria-label={`${t.revoke} ${row.hint}`} onClick={() => setRevoked(row)}>
            {t.revoke}
          </Button>
        ) : null,
    },
  ];
  return (
    <OperatorPage
      title={t.title}
      lead={t.lead}
      action={
        may && (
          <Button variant="primary" icon={<Plus aria-hidden />} onClick={() => setMaking(true)}>
            {t.create}
          </Button>
        )
      }
    >
      <Trial />
      <Section title={t.list}>
        <DataTable
          label={t.title}
          columns={columns}
          rows={data?.data}
          error={error}
          retry={() => void refetch()}
          rowKey={(row) => row.id}
          cardFields={["hint", "amount", "state", "batch", "act"]}
          empty={<Empty icon={<Ticket aria-hidden />} title={t.empty} text={t.emptyText} />}
        />
      </Section>
      {isMaking && <NewCodes onClose={() => setMaking(false)} />}
      <Confirm
        open={revoked !== null}
        onClose={() => setRevoked(null)}
        title={t.revokeTitle}
        consequence={t.revokeDo}
        onConfirm={async () => {
          await api.post("/api/operator/codes/revoke", { id: revoked?.id });
          await client.invalidateQueries({ queryKey: ["operator", "codes"] });
          toast(t.revoked);
        }}
      >
        {t.revokeText}
      </Confirm>
    </OperatorPage>
  );
}

function Trial() {
  const t = useTexts(codesTexts);
  const { data } = useQuery({
    queryKey: ["operator", "trial"],
    queryFn: ({ signal }) => api.get<TrialRules>("/api/operator/trial", { signal }),
    enabled: useIsAdmitted(),
  });
  if (data === undefined) return null;
  return (
    <Section title={t.trial}>
      {data.trial === null ? (
        <p className="text-ink-2">{t.trialOff}</p>
      ) : (
        <Stats>
          <Stat
            label={t.trialAmount}
            value={<Money usd={data.trial.amount_usd} kind="balance" />}
            hint={t.trialDays(data.trial.days)}
          />
          <Stat
            label={t.perDay}
            value={data.trial.per_day === 0 ? t.noLimit : <Num value={data.trial.per_day} />}
            hint=""
          />
          <Stat label={t.today} value={<Num value={data.granted_today} />} hint="" />
          <Stat
            label={t.month}
            value={<Num value={data.granted_30_days} />}
            hint={format.money(data.granted_30_days_usd, "balance")}
          />
        </Stats>
      )}
    </Section>
  );
}

function NewCodes({ onClose }: { onClose: () => void }) {
  const t = useTexts(codesTexts).dialog;
  const o = useTexts(operatorTexts);
  const client = useQueryClient();
  const [typed, setTyped] = useState("");
  const [wallet, setWallet] = useState<"paid" | "trial">("trial");
  const [count, setCount] = useState("1");
  const [batch, setBatch] = useState("");
  const [made, setMade] = useState<string[] | null>(null);
  const isMade = useRef(false);
  const amount = readTypedUsd(typed);
  const number = /^[1-9]\d{0,3}$/.test(count.trim()) ? Number(count.trim()) : 0;
  const isReady = amount !== null && !isNothing(amount) && number >= 1 && number <= 1_000;
  if (made !== null) {
    return (
      <Dialog
        open
        modal
        onClose={onClose}
        title={t.made}
        lead={t.madeLead}
        footer={
          <Button variant="primary" onClick={onClose}>
            {t.done}
          </Button>
        }
      >
        <Code tall text={made.join("\n")} />
      </Dialog>
    );
  }
  return (
    <ActDialog
      open
      // Once they are made the codes are shown in its place.
      onClose={() => !isMade.current && onClose()}
      title={t.title}
      hasReason={false}
      ready={isReady}
      consequence={t.act(number)}
      onAct={async () => {
        const named = batch.trim() === "" ? {} : { batch: batch.trim() };
        const body = { amount_usd: amount, wallet, count: number, ...named };
        const answer = await api.post<{ codes: { code: string }[] }>("/api/operator/codes", body);
        await client.invalidateQueries({ queryKey: ["operator", "codes"] });
        isMade.current = true;
        setMade(answer.codes.map((one) => one.code));
      }}
    >
      <Field label={t.amount} error={typed !== "" && amount === null ? t.wrong : undefined}>
        <Input before="$" inputMode="decimal" mono value={typed} onChange={(event) => setTyped(event.target.value)} />
      </Field>
      <Segments
        label={t.wallet}
        value={wallet}
        onChange={setWallet}
        options={[
          { value: "trial", label: o.wallets.trial },
          { value: "paid", label: o.wallets.paid },
        ]}
      />
      <Field label={t.count}>
        <Input inputMode="numeric" mono value={count} onChange={(event) => setCount(event.target.value)} />
      </Field>
      <Field label={t.batch} hint={t.batchHint}>
        <Input value={batch} maxLength={100} onChange={(event) => setBatch(event.target.value)} />
      </Field>
    </ActDialog>
  );
}
