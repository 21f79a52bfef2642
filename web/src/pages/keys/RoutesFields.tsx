/** Order of routes, highest prices and demands: the fields that keys and organisations share. */
import { Field, Input, Segments, Switch } from "@/kit";
import { useTexts } from "@/text";
import { type PriceField, ROUTE_POLICIES, type RoutesDraft } from "./routes";
import { keysTexts } from "./texts";

interface Props {
  draft: RoutesDraft;
  onChange: (next: Partial<RoutesDraft>) => void;
  faults: PriceField[];
  disabled?: boolean;
}

export function RoutesFields({ draft, onChange, faults, disabled = false }: Props) {
  const t = useTexts(keysTexts);
  const price = (field: PriceField, label: string, hint: string) => (
    <Field label={label} hint={hint} error={faults.includes(field) ? t.priceWrong : undefined}>
      <Input
        mono
        before="$"
        inputMode="decimal"
        placeholder={t.anyPrice}
        value={draft[field]}
        disabled={disabled}
        onChange={(event) => onChange({ [field]: event.target.value })}
      />
    </Field>
  );
  return (
    <div className="space-y-4">
      <div>
        <div className="mb-1.5 font-medium">{t.routePolicy}</div>
        <Segments
          label={t.routePolicy}
          value={draft.policy}
          onChange={(policy) => {
            if (!disabled) onChange({ policy });
          }}
          options={ROUTE_POLICIES.map((value) => ({ value, label: t.routePolicies[value] }))}
        />
        <p className="mt-1.5 text-xs text-ink-3">{t.routePolicyHint}</p>
      </div>
      <div className="grid gap-4 sm:grid-cols-3">
        {price("maxInput", t.maxInput, t.maxTokensHint)}
        {price("maxOutput", t.maxOutput, t.maxTokensHint)}
        {price("maxUnit", t.maxUnit, t.maxUnitHint)}
      </div>
      <Field label={t.residencies} hint={t.residenciesHint}>
        <Input
          mono
          value={draft.residencies}
          disabled={disabled}
          onChange={(event) => onChange({ residencies: event.target.value })}
        />
      </Field>
      <Switch
        checked={draft.upstreamZeroRetention}
        onChange={(upstreamZeroRetention) => {
          if (!disabled) onChange({ upstreamZeroRetention });
        }}
        label={t.upstreamZeroRetention}
        hint={t.upstreamZeroRetentionHint}
      />
    </div>
  );
}
