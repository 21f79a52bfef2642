/** What a change of prices does, on the last 30 days' calls, and the button that publishes it. */
import { useQuery, useQueryClient } from "@tanstack/react-query";
import { clsx } from "clsx";
import { TriangleAlert } from "lucide-react";
import { type ReactNode, useState } from "react";
import { api, type PriceChange, type PriceDifference, type PricePreview } from "@/api";
import { Checkbox, Field, Input, Link, Money, Num, Problem, Segments, SkeletonRows, toast } from "@/kit";
import { minusUsd } from "@/kit/records/money";
import { wordIn } from "@/kit/records/texts";
import { useTexts } from "@/text";
import { ActDialog, useMay } from "../shared";
import { PriceText } from "./PriceText";
import { pricesTexts } from "./texts";

export type Asked = { change: PriceChange } | { revision: number };
const CUSTOMERS_SHOWN = 10;

export function PreviewDialog({ asked, onClose }: { asked: Asked; onClose: () => void }) {
  const texts = useTexts(pricesTexts);
  const t = texts.preview;
  const may = useMay("prices.write");
  const client = useQueryClient();
  const [note, setNote] = useState("");
  const [when, setWhen] = useState<"now" | "later">("now");
  const [at, setAt] = useState("");
  const [isAllowed, setAllowed] = useState(false);
  const { data, error } = useQuery({
    queryKey: ["operator", "preview", asked],
    queryFn: ({ signal }) => api.post<PricePreview>("/api/operator/catalog/preview", asked, { signal }),
    gcTime: 0,
  });
  const rollback = "revision" in asked ? asked.revision : null;
  const count = (data?.prices.length ?? 0) + (data?.groups.length ?? 0);
  const isLater = when === "later" && rollback === null;
  const isTimed = !isLater || !Number.isNaN(Date.parse(at));
  const act = async () => {
    const allow = isAllowed ? { allow_below_cost: true } : {};
    if (isLater && "change" in asked) {
      const body = { change: asked.change, note: note.trim(), at: new Date(at).toISOString(), ...allow };
      await api.post("/api/operator/catalog/schedule", body);
      toast(t.scheduled);
    } else {
      const path = rollback === null ? "publish" : "rollback";
      const body = { ...asked, note: note.trim(), ...allow };
      const based = rollback === null && data !== undefined ? { base_revision: data.base_revision } : {};
      const done = await api.post<{ revision: number }>(`/api/operator/catalog/${path}`, { ...body, ...based });
      toast(t.published(done.revision));
    }
    await client.invalidateQueries({ queryKey: ["operator"] });
  };
  const consequence = rollback !== null ? t.rollback(rollback) : isLater ? t.schedule(count) : t.publish(count);
  const isReady =
    may && data !== undefined && count > 0 && note.trim() !== "" && isTimed && (!data.is_stopped || isAllowed);
  return (
    <ActDialog
      open
      wide
      onClose={onClose}
      title={rollback === null ? t.title : t.rollbackTitle(rollback)}
      hasReason={false}
      consequence={consequence}
      tone={data?.is_stopped === true ? "danger" : "primary"}
      ready={isReady}
      onAct={act}
    >
      {error !== null ? (
        <Problem error={error} compact />
      ) : data === undefined ? (
        <SkeletonRows rows={6} />
      ) : (
        <>
          <PreviewBody preview={data} />
          {count > 0 &&
            (may ? (
              <div className="space-y-4 border-t border-line pt-4">
                {data.is_stopped && <Checkbox checked={isAllowed} onChange={setAllowed} label={t.allow} />}
                <Field label={t.note} hint={t.noteHint}>
                  <Input value={note} maxLength={500} onChange={(event) => setNote(event.target.value)} />
                </Field>
                {rollback === null && (
                  <div className="flex flex-wrap items-end gap-3">
                    <Segments
                      label={t.when}
                      value={when}
                      onChange={setWhen}
                      options={[
                        { value: "now", label: t.now },
                        { value: "later", label: t.later },
                      ]}
                    />
                    {isLater && (
                      <Field label={t.at}>
                        <Input type="datetime-local" value={at} onChange={(event) => setAt(event.target.value)} />
                      </Field>
                    )}
                  </div>
                )}
              </div>
            ) : (
              <p className="text-ink-3">{texts.model.noRight}</p>
            ))}
        </>
      )}
    </ActDialog>
  );
}

function PreviewBody({ preview }: { preview: PricePreview }) {
  const t = useTexts(pricesTexts).preview;
  if (preview.prices.length + preview.groups.length === 0) return <p className="text-ink-2">{t.same}</p>;
  return (
    <div className="space-y-5">
      <Warnings preview={preview} />
      <Block title={t.changes}>
        <Differences prices={preview.prices} />
        {preview.groups.map((group) => (
          <p key={group.name} className="num mt-2 text-[13px]">
            {group.name}: {JSON.stringify(group.before)} → {JSON.stringify(group.after)}
          </p>
        ))}
      </Block>
      <Effect preview={preview} />
    </div>
  );
}

function Block({ title, aside, children }: { title: string; aside?: ReactNode; children: ReactNode }) {
  return (
    <section>
      <div className="mb-2 flex items-center justify-between gap-3">
        <h3 className="font-semibold">{title}</h3>
        {aside !== undefined && <span className="text-xs text-ink-3">{aside}</span>}
      </div>
      {children}
    </section>
  );
}

function Table({ heads, rows }: { heads: string[]; rows: { key: string; cells: ReactNode[] }[] }) {
  return (
    <div className="overflow-x-auto">
      <table className="w-full">
        <thead>
          <tr>
            {heads.map((head, at) => (
              <th
                key={head}
                scope="col"
                className={clsx(
                  "border-b border-line pb-1 pl-2 align-bottom text-xs font-medium text-ink-3 first:pl-0",
                  at === 0 ? "text-left" : "text-right",
                )}
              >
                {head}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {rows.map((row) => (
            <tr key={row.key}>
              {row.cells.map((cell, at) => (
                <td
                  // biome-ignore lint/suspicious/noArrayIndexKey: the cells of a row never change places
                  key={at}
                  className={clsx(
                    "border-b border-line py-1.5 pl-2 first:pl-0",
                    at === 0 ? "text-left [overflow-wrap:anywhere]" : "text-right",
                  )}
                >
                  {cell}
                </td>
              ))}
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}

export function Differences({ prices }: { prices: readonly PriceDifference[] }) {
  const texts = useTexts(pricesTexts);
  const t = texts.preview;
  const shown = (pico: number | null, face: string) => (pico === null ? t.free : <PriceText pico={pico} face={face} />);
  return (
    <Table
      heads={[t.changeColumns.model, t.changeColumns.face, t.changeColumns.before, t.changeColumns.after]}
      rows={prices.map((one) => ({
        key: `${one.model} ${one.tier} ${one.column} ${one.face}`,
        cells: [
          <span key="model">
            {one.model}{" "}
            <span className="text-xs text-ink-3">
              {one.column === "paid" ? `${one.tier}, ${one.column}` : one.tier}
            </span>
          </span>,
          wordIn(texts.faces, one.face),
          shown(one.before, one.face),
          shown(one.after, one.face),
        ],
      }))}
    />
  );
}

function Warnings({ preview }: { preview: PricePreview }) {
  const texts = useTexts(pricesTexts);
  const t = texts.preview;
  const lines = [
    ...preview.below_cost.map((one) =>
      t.belowCostText(
        one.model,
        wordIn(texts.faces, one.face),
        one.group,
        one.sale_usd_per_million,
        one.cost_usd_per_million,
        one.channel,
      ),
    ),
    ...preview.last_30_days.filter((one) => one.is_below_cost).map((one) => t.belowCostModel(one.model)),
    ...preview.zero.map((one) => t.zero(one.model, wordIn(texts.faces, one.face))),
  ];
  if (lines.length === 0) return null;
  return (
    <div role="alert" className="rounded-card border border-bad-line/40 bg-bad-soft px-4 py-3">
      <p className="flex items-center gap-2 font-semibold">
        <TriangleAlert aria-hidden className="size-4 text-bad" /> {t.belowCost}
      </p>
      <ul className="mt-1 space-y-1">
        {lines.map((line) => (
          <li key={line} className="[overflow-wrap:anywhere]">
            {line}
          </li>
        ))}
      </ul>
    </div>
  );
}

function Effect({ preview }: { preview: PricePreview }) {
  const t = useTexts(pricesTexts).preview;
  const money = (usd: string) => <Money usd={usd} kind="balance" />;
  return (
    <>
      <Block title={t.effect}>
        {preview.last_30_days.length === 0 ? (
          <p className="text-ink-2">{t.none}</p>
        ) : (
          <Table
            heads={[
              t.effectColumns.model,
              t.effectColumns.calls,
              t.effectColumns.was,
              t.effectColumns.would,
              t.effectColumns.difference,
            ]}
            rows={preview.last_30_days.map((one) => ({
              key: one.model,
              cells: [
                one.model,
                <Num key="calls" value={one.calls} />,
                money(one.was_usd),
                money(one.would_be_usd),
                money(minusUsd(one.would_be_usd, one.was_usd)),
              ],
            }))}
          />
        )}
        {!preview.is_complete && <p className="mt-2 text-xs text-warn">{t.partial}</p>}
      </Block>
      {preview.customers.length > 0 && (
        <Block title={t.customers} aside={t.customersCount(preview.customers.length)}>
          <Table
            heads={[t.customerColumns.name, t.customerColumns.calls, t.customerColumns.was, t.customerColumns.would]}
            rows={preview.customers.slice(0, CUSTOMERS_SHOWN).map((one) => ({
              key: String(one.id),
              cells: [
                <Link key="name" href={`/operator/customers/${one.id}`} className="text-accent-ink hover:underline">
                  {one.name}
                </Link>,
                <Num key="calls" value={one.calls} />,
                money(one.was_usd),
                money(one.would_be_usd),
              ],
            }))}
          />
        </Block>
      )}
    </>
  );
}
