/** A new key: a name is enough, everything else is behind one button. */
import { useMutation } from "@tanstack/react-query";
import { ArrowRight, ChevronDown, ShieldCheck } from "lucide-react";
import { type FormEvent, useRef, useState } from "react";
import { api, type KeyWithSecret } from "@/api";
import { useRight } from "@/app/session";
import { Button, Card, Empty, Field, Input, Link, Page, Problem, useGo } from "@/kit";
import { useTexts } from "@/text";
import { BudgetsForm, readerZone } from "./BudgetsForm";
import { useTakeKey } from "./data";
import { type DraftFault, draftFaults, emptyDraft, type KeyDraft, newKeyOf } from "./form";
import { MoreSettings } from "./MoreSettings";
import { SecretOnce } from "./parts";
import { rememberSecret } from "./secrets";
import { keysTexts } from "./texts";

export default function NewKeyPage() {
  const t = useTexts(keysTexts);
  const mayWrite = useRight("keys.write");
  const [made, setMade] = useState<KeyWithSecret | null>(null);
  const above = (
    <Link href="/keys" className="hover:text-ink hover:underline">
      {t.title}
    </Link>
  );
  return (
    <Page title={made === null ? t.newTitle : t.madeTitle} lead={made === null ? t.newLead : undefined} above={above}>
      <div className="max-w-2xl">
        {!mayWrite && <Empty title={t.noRight} />}
        {mayWrite && (made === null ? <KeyForm onMade={setMade} /> : <Made made={made} />)}
      </div>
    </Page>
  );
}

function Made({ made }: { made: KeyWithSecret }) {
  const t = useTexts(keysTexts);
  return (
    <Card>
      <div role="status" className="mb-3 flex items-center gap-2 font-medium text-ok [&_svg]:size-4">
        <ShieldCheck aria-hidden />
        {made.key.name}
      </div>
      <SecretOnce secret={made.secret} />
      <div className="mt-5 flex flex-wrap gap-2">
        <Button variant="primary" icon={<ArrowRight aria-hidden />} href={`/connect/${made.key.id}`}>
          {t.madeNext}
        </Button>
        <Button href="/keys">{t.madeDone}</Button>
      </div>
    </Card>
  );
}

function KeyForm({ onMade }: { onMade: (made: KeyWithSecret) => void }) {
  const t = useTexts(keysTexts);
  const go = useGo();
  const takeKey = useTakeKey();
  const [draft, setDraft] = useState<KeyDraft>(() => emptyDraft(readerZone()));
  const [faults, setFaults] = useState<DraftFault[]>([]);
  const [more, setMore] = useState(false);
  const form = useRef<HTMLFormElement>(null);
  const create = useMutation({
    mutationFn: () => api.post<KeyWithSecret>("/api/keys", newKeyOf(draft, new Date())),
    onSuccess: (made) => {
      rememberSecret(made.key.id, made.secret);
      takeKey(made.key);
      onMade(made);
    },
  });
  const change = (next: Partial<KeyDraft>) => {
    const changed = { ...draft, ...next };
    setDraft(changed);
    // What was called wrong is looked at again as it is mended; nothing new is called wrong while one types.
    if (faults.length > 0) setFaults(draftFaults(changed, new Date()));
  };
  const submit = (event: FormEvent) => {
    event.preventDefault();
    const found = draftFaults(draft, new Date());
    setFaults(found);
    if (found.length === 0) return create.mutate();
    if (found.some((fault) => fault.field !== "name" && fault.field !== "budget")) setMore(true);
    requestAnimationFrame(() => form.current?.querySelector<HTMLElement>("[aria-invalid]")?.focus());
  };
  const nameFault = faults.find((fault) => fault.field === "name");
  return (
    <form ref={form} onSubmit={submit} noValidate className="space-y-4">
      <Card>
        <Field
          label={t.nameLabel}
          hint={t.nameHint}
          error={nameFault === undefined ? undefined : nameFault.why === "missing" ? t.nameMissing : t.nameLong}
        >
          <Input
            autoFocus
            placeholder={t.namePlaceholder}
            value={draft.name}
            onChange={(event) => change({ name: event.target.value })}
          />
        </Field>
      </Card>
      <Card title={t.budgetLabel}>
        <BudgetsForm budgets={draft.budgets} onChange={(budgets) => change({ budgets })} faults={faults} />
        <p className="mt-4 text-xs text-ink-3">{t.budgetHint}</p>
      </Card>
      <Button
        variant="link"
        aria-expanded={more}
        icon={<ChevronDown aria-hidden className={more ? "rotate-180" : ""} />}
        onClick={() => setMore(!more)}
      >
        {more ? t.less : t.more}
      </Button>
      {more && <MoreSettings draft={draft} onChange={change} faults={faults} />}
      <p className="text-xs text-ink-3">{t.policyFixed}</p>
      {create.error !== null && <Problem error={create.error} compact />}
      <div className="flex flex-wrap gap-2">
        <Button type="submit" variant="primary" busy={create.isPending}>
          {t.submit}
        </Button>
        <Button onClick={() => go("/keys")}>{t.cancel}</Button>
      </div>
    </form>
  );
}
