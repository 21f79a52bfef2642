/** One key beside the list: what it may, what it spent, and how to end it. */
import { useMutation } from "@tanstack/react-query";
import { Pencil, PlugZap, RotateCw } from "lucide-react";
import { type FormEvent, type ReactNode, useState } from "react";
import { ApiError, api, type Key } from "@/api";
import { useRight } from "@/app/session";
import {
  Button,
  Confirm,
  Dialog,
  Empty,
  Field,
  IconButton,
  Id,
  Input,
  Link,
  Money,
  Num,
  Problem,
  Section,
  SidePanel,
  SkeletonText,
  Stat,
  Stats,
  toast,
  useGo,
  useParam,
  When,
} from "@/kit";
import { wordIn } from "@/kit/records/texts";
import { listed, useTexts } from "@/text";
import { BudgetsForm, readerZone } from "./BudgetsForm";
import { useKey, useTakeKey } from "./data";
import { ExpiryDialog } from "./ExpiryForm";
import { type BudgetDraft, budgetFaults, type DraftFault, LONGEST_NAME, sentBudgets } from "./form";
import { BudgetBar, StateBadge } from "./parts";
import { RotateDialog } from "./RotateDialog";
import { forgetSecret } from "./secrets";
import { type KeysTexts, keysTexts } from "./texts";

export default function KeyPanel() {
  const t = useTexts(keysTexts);
  const id = useParam("id");
  const go = useGo();
  const mayWrite = useRight("keys.write");
  const found = useKey(id);
  const key = found.data;
  const gone = found.error instanceof ApiError && found.error.status === 404;
  const close = () => go("/keys");
  const lead =
    key === undefined ? undefined : (
      <>
        <StateBadge state={key.state} />
        <span className="num">{key.hint}</span>
      </>
    );
  return (
    <SidePanel
      title={key?.name ?? t.panelTitle}
      lead={lead}
      onClose={close}
      action={key !== undefined && mayWrite && key.state !== "revoked" ? <Rename keyRow={key} /> : undefined}
    >
      {gone && <Empty title={t.none} />}
      {found.error !== null && !gone && <Problem error={found.error} retry={() => void found.refetch()} />}
      {found.isPending && <SkeletonText lines={8} />}
      {key !== undefined && <Facts keyRow={key} mayWrite={mayWrite} />}
    </SidePanel>
  );
}

function Facts({ keyRow, mayWrite }: { keyRow: Key; mayWrite: boolean }) {
  const t = useTexts(keysTexts);
  const usable = mayWrite && keyRow.state !== "revoked";
  return (
    <>
      <Stats className="mb-6 lg:grid-flow-row! lg:grid-cols-3!">
        <Stat label={t.spent} value={<Money usd={keyRow.spent_30_days_usd} kind="balance" />} />
        <Stat label={t.callsHour} value={<Num value={keyRow.calls_last_hour} short />} />
        <div className="col-span-2 lg:col-span-1">
          <Stat label={t.used} value={keyRow.last_used_at === null ? t.never : <When at={keyRow.last_used_at} />} />
        </div>
      </Stats>
      <div className="mb-6 flex flex-wrap gap-2">
        {keyRow.state === "active" && (
          <Button variant="primary" icon={<PlugZap aria-hidden />} href={`/connect/${keyRow.id}`}>
            {t.connect}
          </Button>
        )}
        <Button href={`/logs?key=${keyRow.id}`}>{t.logs}</Button>
        <Button href={`/usage?key=${keyRow.id}`}>{t.usage}</Button>
      </div>
      <Budgets keyRow={keyRow} mayWrite={usable} />
      <Section title={t.rights}>
        <Policy keyRow={keyRow} t={t} mayWrite={usable} />
      </Section>
      {usable && <Ending keyRow={keyRow} />}
    </>
  );
}

function Row({ name, children }: { name: string; children: ReactNode }) {
  return (
    <div className="grid grid-cols-[minmax(7rem,2fr)_5fr] gap-x-4 border-b border-line py-2 last:border-b-0">
      <dt className="text-ink-3">{name}</dt>
      <dd className="min-w-0 [overflow-wrap:anywhere] text-ink">{children}</dd>
    </div>
  );
}

function Policy({ keyRow, t, mayWrite }: { keyRow: Key; t: KeysTexts; mayWrite: boolean }) {
  const words = (list: string[] | null) =>
    list === null ? <span className="text-ink-3">{t.all}</span> : list.join(", ");
  const limit = (value: number | null) =>
    value === null ? <span className="text-ink-3">{t.unlimited}</span> : <Num value={value} />;
  return (
    <dl>
      <Row name={t.models}>{words(keyRow.models)}</Row>
      <Row name={t.endpoints}>
        {keyRow.endpoints === null ? words(null) : listed(keyRow.endpoints.map((one) => wordIn(t.endpointNames, one)))}
      </Row>
      <Row name={t.platforms}>{words(keyRow.platforms)}</Row>
      <Row name={t.addresses}>{words(keyRow.addresses)}</Row>
      {keyRow.regions !== null && <Row name={t.regions}>{words(keyRow.regions)}</Row>}
      <Row name={t.requests}>{limit(keyRow.requests_per_minute)}</Row>
      <Row name={t.tokens}>{limit(keyRow.tokens_per_minute)}</Row>
      <Row name={t.concurrent}>{limit(keyRow.concurrent_calls)}</Row>
      <Row name={t.strict}>{keyRow.strict ? t.yes : t.no}</Row>
      <Row name={t.zeroRetention}>{keyRow.zero_retention ? t.yes : t.no}</Row>
      <Row name={t.finishStreams}>{keyRow.on_disconnect === "finish" ? t.yes : t.no}</Row>
      {keyRow.fit_to_balance !== null && <Row name={t.fit}>{keyRow.fit_to_balance ? t.yes : t.no}</Row>}
      {keyRow.group !== null && <Row name={t.group}>{keyRow.group}</Row>}
      {keyRow.parent_id !== null && (
        <Row name={t.parent}>
          <Link href={`/keys/${keyRow.parent_id}`} className="num text-accent-ink hover:underline">
            {keyRow.parent_id}
          </Link>
        </Row>
      )}
      <Row name={t.expires}>
        <End keyRow={keyRow} mayWrite={mayWrite} />
      </Row>
      {keyRow.previous_until !== null && (
        <Row name={t.previousUntil}>
          <When at={keyRow.previous_until} />
        </Row>
      )}
      <Row name={t.created}>
        <When at={keyRow.created_at} />
      </Row>
      <Row name={t.id}>
        <Id value={String(keyRow.id)} />
      </Row>
    </dl>
  );
}

function End({ keyRow, mayWrite }: { keyRow: Key; mayWrite: boolean }) {
  const t = useTexts(keysTexts);
  const [open, setOpen] = useState(false);
  return (
    <div className="flex flex-wrap items-center justify-between gap-x-4 gap-y-1">
      {keyRow.expires_at === null ? <span className="text-ink-3">{t.noEnd}</span> : <When at={keyRow.expires_at} />}
      {mayWrite && (
        <Button size="small" onClick={() => setOpen(true)}>
          {t.changeEnd}
        </Button>
      )}
      {open && <ExpiryDialog keyRow={keyRow} onClose={() => setOpen(false)} />}
    </div>
  );
}

function Budgets({ keyRow, mayWrite }: { keyRow: Key; mayWrite: boolean }) {
  const t = useTexts(keysTexts);
  const [open, setOpen] = useState(false);
  const edit = mayWrite ? (
    <Button size="small" onClick={() => setOpen(true)}>
      {t.editBudgets}
    </Button>
  ) : undefined;
  return (
    <Section title={t.budgets} lead={t.budgetsLead} action={edit}>
      {keyRow.budgets.length === 0 ? (
        <p className="rounded-card border border-line px-4 py-3 text-ink-2">{t.budgetsEmpty}</p>
      ) : (
        <ul className="divide-y divide-line rounded-card border border-line">
          {keyRow.budgets.map((budget) => (
            <li key={budget.id} className="px-4 py-3">
              <BudgetBar budget={budget} />
              {budget.ends_at !== null && (
                <p className="mt-1.5 text-xs text-ink-3">
                  {t.resets} <When at={budget.ends_at} /> · {budget.timezone}
                </p>
              )}
            </li>
          ))}
        </ul>
      )}
      {open && <BudgetsDialog keyRow={keyRow} onClose={() => setOpen(false)} />}
    </Section>
  );
}

function BudgetsDialog({ keyRow, onClose }: { keyRow: Key; onClose: () => void }) {
  const t = useTexts(keysTexts);
  const takeKey = useTakeKey();
  const [budgets, setBudgets] = useState<BudgetDraft[]>(() =>
    keyRow.budgets.length === 0
      ? [{ period: "monthly", timezone: readerZone(), limit: "" }]
      : keyRow.budgets.map(({ period, timezone, limit_usd }) => ({ period, timezone, limit: limit_usd })),
  );
  const [faults, setFaults] = useState<DraftFault[]>([]);
  const save = useMutation({
    mutationFn: () => api.put<Key>(`/api/keys/${keyRow.id}/budgets`, { budgets: sentBudgets(budgets) }),
    onSuccess: (key) => {
      takeKey(key);
      toast(t.done.budgets);
      onClose();
    },
  });
  const submit = () => {
    const found = budgetFaults(budgets);
    setFaults(found);
    if (found.length === 0) save.mutate();
  };
  return (
    <Dialog
      open
      wide
      onClose={onClose}
      title={t.editBudgets}
      lead={t.budgetHint}
      footer={
        <>
          <Button onClick={onClose}>{t.cancel}</Button>
          <Button variant="primary" busy={save.isPending} onClick={submit}>
            {t.save}
          </Button>
        </>
      }
    >
      <BudgetsForm budgets={budgets} onChange={setBudgets} faults={faults} />
      {save.error !== null && <Problem error={save.error} compact className="mt-4" />}
    </Dialog>
  );
}

function Rename({ keyRow }: { keyRow: Key }) {
  const t = useTexts(keysTexts);
  const takeKey = useTakeKey();
  const [open, setOpen] = useState(false);
  const [name, setName] = useState(keyRow.name);
  const rename = useMutation({
    mutationFn: () => api.patch<Key>(`/api/keys/${keyRow.id}`, { name: name.trim() }),
    onSuccess: (key) => {
      takeKey(key);
      toast(t.done.renamed);
      setOpen(false);
    },
  });
  const submit = (event: FormEvent) => {
    event.preventDefault();
    if (name.trim() !== "") rename.mutate();
  };
  return (
    <>
      <IconButton
        label={t.rename}
        icon={<Pencil aria-hidden />}
        onClick={() => {
          setName(keyRow.name);
          setOpen(true);
        }}
      />
      <Dialog
        open={open}
        onClose={() => setOpen(false)}
        title={t.rename}
        footer={
          <>
            <Button onClick={() => setOpen(false)}>{t.cancel}</Button>
            <Button variant="primary" type="submit" form="rename-key" busy={rename.isPending}>
              {t.save}
            </Button>
          </>
        }
      >
        <form id="rename-key" onSubmit={submit}>
          <Field label={t.nameLabel} hint={t.nameHint}>
            <Input value={name} maxLength={LONGEST_NAME} onChange={(event) => setName(event.target.value)} />
          </Field>
        </form>
        {rename.error !== null && <Problem error={rename.error} compact className="mt-4" />}
      </Dialog>
    </>
  );
}

function Ending({ keyRow }: { keyRow: Key }) {
  const t = useTexts(keysTexts);
  const go = useGo();
  const takeKey = useTakeKey();
  const [asking, setAsking] = useState<"rotate" | "disable" | "revoke" | null>(null);
  const enable = useMutation({
    mutationFn: () => api.post<Key>(`/api/keys/${keyRow.id}/enable`),
    onSuccess: (key) => {
      takeKey(key);
      toast(t.done.enabled);
    },
  });
  const disable = async () => {
    takeKey(await api.post<Key>(`/api/keys/${keyRow.id}/disable`));
    toast(t.done.disabled);
  };
  const revoke = async () => {
    await api.delete(`/api/keys/${keyRow.id}`);
    forgetSecret(keyRow.id);
    takeKey(null);
    toast(t.done.revoked);
    go("/keys");
  };
  const calls = keyRow.calls_last_hour;
  return (
    <Section title={t.danger} lead={t.dangerLead}>
      <div className="flex flex-wrap gap-2">
        <Button icon={<RotateCw aria-hidden />} onClick={() => setAsking("rotate")}>
          {t.rotate}
        </Button>
        {keyRow.state === "disabled" ? (
          <Button busy={enable.isPending} onClick={() => enable.mutate()}>
            {t.enable}
          </Button>
        ) : (
          keyRow.state === "active" && <Button onClick={() => setAsking("disable")}>{t.disable}</Button>
        )}
        <Button
          variant="danger"
          className="h-auto! min-h-9 py-1.5 whitespace-normal!"
          onClick={() => setAsking("revoke")}
        >
          {t.revokeDo(calls)}
        </Button>
      </div>
      {enable.error !== null && <Problem error={enable.error} compact className="mt-3" />}
      {asking === "rotate" && <RotateDialog keyRow={keyRow} onClose={() => setAsking(null)} />}
      <Confirm
        open={asking === "disable"}
        onClose={() => setAsking(null)}
        title={t.disableTitle}
        consequence={t.disableDo(calls)}
        onConfirm={disable}
      >
        {t.disableText}
      </Confirm>
      <Confirm
        open={asking === "revoke"}
        onClose={() => setAsking(null)}
        title={t.revokeTitle}
        consequence={t.revokeDo(calls)}
        onConfirm={revoke}
      >
        {t.revokeText}
      </Confirm>
    </Section>
  );
}
