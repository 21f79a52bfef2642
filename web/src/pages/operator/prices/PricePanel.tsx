import { useQuery } from "@tanstack/react-query";
import { useState } from "react";
import { api, type OperatorCatalog, type PriceChange } from "@/api";
import { Badge, Button, Field, Input, Link, Problem, SidePanel, useGo, useParam } from "@/kit";
import { PanelSection, PanelSkeleton } from "@/kit/records/parts";
import { wordIn } from "@/kit/records/texts";
import { useTexts } from "@/text";
import { useIsAdmitted } from "../shared";
import { PreviewDialog } from "./PreviewDialog";
import { isEach, picoOfUsd, raised, usdOfPico } from "./pico";
import { pricesTexts } from "./texts";

interface ServingChannel {
  id: number;
  name: string;
  upstream_model: string;
  /** Its price list; null if it has none. */
  cost: { currency?: unknown; models?: Record<string, Record<string, number>> } | null;
}
interface ModelDetail {
  name: string;
  entry: Record<string, unknown>;
  channels: ServingChannel[];
}

/** The prices of one model, to be changed with a preview. */
export default function PricePanel() {
  const t = useTexts(pricesTexts);
  const name = useParam("model");
  const go = useGo();
  const admitted = useIsAdmitted();
  const catalog = useQuery({
    queryKey: ["operator", "catalog"],
    queryFn: ({ signal }) => api.get<OperatorCatalog>("/api/operator/catalog", { signal }),
    enabled: admitted,
  });
  const detail = useQuery({
    queryKey: ["operator", "catalog", name],
    queryFn: ({ signal }) =>
      api.get<ModelDetail>(`/api/operator/catalog/models/${encodeURIComponent(name)}`, { signal }),
    enabled: admitted,
  });
  const model = catalog.data?.models.find((one) => one.name === name);
  const error = catalog.error ?? detail.error;
  return (
    <SidePanel title={t.model.title(name)} onClose={() => go("/operator/prices")}>
      {error !== null ? (
        <Problem error={error} retry={() => void Promise.all([catalog.refetch(), detail.refetch()])} />
      ) : model === undefined || detail.data === undefined ? (
        <PanelSkeleton />
      ) : (
        <>
          <PriceForm key={catalog.data?.revision} model={name} prices={model.prices} />
          {model.tiers.length > 1 && (
            <PanelSection title={t.model.tiers}>
              <p className="mb-2 text-ink-2">{t.model.tiersText}</p>
              <div className="flex flex-wrap gap-1.5">
                {model.tiers.map((tier) => (
                  <Badge key={tier}>{tier}</Badge>
                ))}
              </div>
            </PanelSection>
          )}
          <Channels channels={detail.data.channels} />
        </>
      )}
    </SidePanel>
  );
}

function PriceForm({ model, prices }: { model: string; prices: Record<string, number> }) {
  const texts = useTexts(pricesTexts);
  const t = texts.model;
  const [typed, setTyped] = useState<Record<string, string>>(() =>
    Object.fromEntries(Object.entries(prices).map(([face, pico]) => [face, usdOfPico(pico, face)])),
  );
  const [percent, setPercent] = useState("");
  const [isShown, setShown] = useState(false);
  const read = Object.fromEntries(Object.entries(typed).map(([face, text]) => [face, picoOfUsd(text, face)]));
  const faces: Record<string, number> = {};
  for (const [face, pico] of Object.entries(read)) if (pico !== null && pico !== prices[face]) faces[face] = pico;
  const isWrong = Object.values(read).some((pico) => pico === null);
  const hasChanged = Object.keys(faces).length > 0;
  const change: PriceChange = { prices: [{ model, faces }] };
  const raiseAll = () => {
    const next = { ...typed };
    for (const [face, pico] of Object.entries(prices)) {
      const higher = raised(pico, Number(percent));
      if (higher !== null) next[face] = usdOfPico(higher, face);
    }
    setTyped(next);
  };
  return (
    <section className="pb-5">
      <form
        onSubmit={(event) => {
          event.preventDefault();
          setShown(true);
        }}
      >
        <h3 className="mb-3 font-semibold">{t.prices}</h3>
        <div className="grid gap-4 sm:grid-cols-2">
          {Object.keys(prices).map((face) => (
            <Field
              key={face}
              label={wordIn(texts.faces, face)}
              hint={isEach(face) ? t.unit.each : t.unit.million}
              error={read[face] === null ? t.wrong : undefined}
            >
              <Input
                before="$"
                inputMode="decimal"
                mono
                value={typed[face] ?? ""}
                onChange={(event) => setTyped({ ...typed, [face]: event.target.value })}
              />
            </Field>
          ))}
        </div>
        <div className="mt-4 flex flex-wrap items-end gap-2">
          <Field label={t.raise} className="w-40">
            <Input
              inputMode="decimal"
              mono
              after={<span className="pr-2 text-ink-3">%</span>}
              value={percent}
              onChange={(event) => setPercent(event.target.value)}
            />
          </Field>
          <Button disabled={percent.trim() === "" || Number.isNaN(Number(percent))} onClick={raiseAll}>
            {t.apply}
          </Button>
          <span className="flex-1" />
          <Button variant="primary" type="submit" disabled={!hasChanged || isWrong}>
            {t.preview}
          </Button>
        </div>
        {!hasChanged && <p className="mt-2 text-xs text-ink-3">{t.unchanged}</p>}
      </form>
      {isShown && <PreviewDialog asked={{ change }} onClose={() => setShown(false)} />}
    </section>
  );
}

function Channels({ channels }: { channels: ModelDetail["channels"] }) {
  const texts = useTexts(pricesTexts);
  const t = texts.model;
  return (
    <PanelSection title={t.channels}>
      <ul className="space-y-2">
        {channels.map((channel) => (
          <li key={channel.id}>
            <Link href={`/operator/channels/${channel.id}`} className="font-medium text-accent-ink hover:underline">
              {channel.name}
            </Link>
            <p className="text-xs text-ink-3">
              {costOf(channel, texts).length === 0
                ? t.noCost
                : costOf(channel, texts)
                    .map(({ face, text }) => `${wordIn(texts.faces, face)} ${text}`)
                    .join(" · ")}
            </p>
          </li>
        ))}
        {channels.length === 0 && <li className="text-ink-3">{texts.notServed}</li>}
      </ul>
    </PanelSection>
  );
}

/** What a channel's price list says of the model, in its own currency. */
function costOf(
  channel: ServingChannel,
  unit: { perUnit: string; perMillion: string },
): { face: string; text: string }[] {
  const prices = channel.cost?.models?.[channel.upstream_model] ?? {};
  const currency = String(channel.cost?.currency ?? "");
  return Object.entries(prices).map(([face, pico]) => ({
    face,
    text: `${usdOfPico(pico, face)} ${currency} ${isEach(face) ? unit.perUnit : unit.perMillion}`,
  }));
}
