/** The settings of a new key that most people never open: lists, limits, end, behaviour. */
import { useMemo } from "react";
import { Card, Combobox, Field, Input, Switch, Textarea } from "@/kit";
import { usePricing, useSocialCatalog } from "@/pages/catalog/data";
import { useTexts } from "@/text";
import { ExpiryForm } from "./ExpiryForm";
import { type DraftFault, ENDPOINT_WORDS, type KeyDraft } from "./form";
import { RoutesFields } from "./RoutesFields";
import { PRICE_FIELDS } from "./routes";
import { keysTexts } from "./texts";

interface Props {
  draft: KeyDraft;
  onChange: (next: Partial<KeyDraft>) => void;
  faults: DraftFault[];
}

export function MoreSettings(props: Props) {
  return (
    <div className="space-y-4">
      <Lists {...props} />
      <Limits {...props} />
      <Routing {...props} />
      <Behaviour {...props} />
    </div>
  );
}

function Lists({ draft, onChange, faults }: Props) {
  const t = useTexts(keysTexts);
  const pricing = usePricing();
  const social = useSocialCatalog();
  const models = useMemo(
    () => (pricing.data?.models ?? []).map((model) => ({ value: model.name, label: model.name, hint: model.vendor })),
    [pricing.data],
  );
  const platforms = useMemo(() => {
    const names = new Map((social.data?.cells ?? []).map((cell) => [cell.platform, cell.name]));
    return [...names].map(([value, label]) => ({ value, label }));
  }, [social.data]);
  const fault = faults.find((one) => one.field === "addresses");
  return (
    <Card title={t.allow}>
      <p className="mb-4 text-xs text-ink-3">{t.allowLead}</p>
      <div className="space-y-4">
        <Field label={t.models}>
          <Combobox
            values={draft.models}
            onChange={(next) => onChange({ models: next })}
            options={models}
            placeholder={t.modelsPlaceholder}
          />
        </Field>
        <Field label={t.endpoints}>
          <Combobox
            values={draft.endpoints}
            onChange={(next) => onChange({ endpoints: next })}
            options={ENDPOINT_WORDS.map((word) => ({ value: word, label: t.endpointNames[word], hint: word }))}
            placeholder={t.endpointsPlaceholder}
          />
        </Field>
        <Field label={t.platforms}>
          <Combobox
            values={draft.platforms}
            onChange={(next) => onChange({ platforms: next })}
            options={platforms}
            placeholder={t.platformsPlaceholder}
          />
        </Field>
        <Field
          label={t.addresses}
          hint={t.addressesHint}
          error={fault?.field === "addresses" ? t.addressWrong(fault.text) : undefined}
        >
          <Textarea
            mono
            rows={2}
            value={draft.addresses}
            onChange={(event) => onChange({ addresses: event.target.value })}
          />
        </Field>
      </div>
    </Card>
  );
}

function Limits({ draft, onChange, faults }: Props) {
  const t = useTexts(keysTexts);
  const row = (field: "requests" | "tokens" | "concurrent", label: string) => (
    <Field label={label} error={faults.some((fault) => fault.field === field) ? t.countWrong : undefined}>
      <Input
        mono
        inputMode="numeric"
        placeholder={t.unlimited}
        value={draft[field]}
        onChange={(event) => onChange({ [field]: event.target.value })}
      />
    </Field>
  );
  return (
    <Card title={t.limits}>
      <p className="mb-4 text-xs text-ink-3">{t.limitsLead}</p>
      <div className="grid gap-4 sm:grid-cols-3">
        {row("requests", t.requests)}
        {row("tokens", t.tokens)}
        {row("concurrent", t.concurrent)}
      </div>
    </Card>
  );
}

function Routing({ draft, onChange, faults }: Props) {
  const t = useTexts(keysTexts);
  const wrong = PRICE_FIELDS.filter((field) => faults.some((fault) => fault.field === field));
  return (
    <Card title={t.routes}>
      <RoutesFields
        draft={draft.routes}
        onChange={(next) => onChange({ routes: { ...draft.routes, ...next } })}
        faults={wrong}
      />
    </Card>
  );
}

function Behaviour({ draft, onChange, faults }: Props) {
  const t = useTexts(keysTexts);
  return (
    <Card title={t.behaviour}>
      <div className="space-y-4">
        <ExpiryForm draft={draft} onChange={onChange} past={faults.some((fault) => fault.field === "endDate")} />
        <Switch
          checked={draft.strict}
          onChange={(strict) => onChange({ strict })}
          label={t.strict}
          hint={t.strictHint}
        />
        <Switch
          checked={draft.zeroRetention}
          onChange={(zeroRetention) => onChange({ zeroRetention })}
          label={t.zeroRetention}
          hint={t.zeroRetentionHint}
        />
        <Switch
          checked={draft.finishStreams}
          onChange={(finishStreams) => onChange({ finishStreams })}
          label={t.finishStreams}
          hint={t.finishStreamsHint}
        />
      </div>
    </Card>
  );
}
