/** Two to four models side by side. */
import { FlaskConical, X } from "lucide-react";
import type { ReactNode } from "react";
import {
  Button,
  Card,
  Combobox,
  Empty,
  format,
  IconButton,
  Link,
  Money,
  Page,
  Problem,
  SkeletonRows,
  useSearch,
} from "@/kit";
import { listed, locale, named, useLanguage, useTexts } from "@/text";
import { usePricing } from "./data";
import { MOST_COMPARED, readCompared } from "./filter";
import { Health, kindName, tierWords, useNumber } from "./parts";
import { basePrices, type PriceLine, tierPrices } from "./price";
import { type Face, type Model, playgroundTask } from "./record";
import { type CatalogTexts, catalogTexts } from "./texts";
import { type TrapTexts, trapTexts } from "./trap-texts";
import { trapsOf } from "./traps";

export default function ComparePage() {
  const t = useTexts(catalogTexts);
  const [search, setSearch] = useSearch();
  const pricing = usePricing();
  const names = readCompared(search["models"]);
  const models = names.flatMap((name) => pricing.data?.models.filter((one) => one.name === name) ?? []);
  const set = (next: string[]) => setSearch({ models: next.slice(0, MOST_COMPARED).join(",") });
  const above = (
    <Link href="/catalog" className="hover:text-ink hover:underline">
      {t.title}
    </Link>
  );
  return (
    <Page title={t.compareTitle} lead={t.compareLead} above={above} wide>
      {pricing.error !== null && pricing.data === undefined && (
        <Problem error={pricing.error} retry={() => void pricing.refetch()} />
      )}
      {pricing.isPending && (
        <Card flush>
          <SkeletonRows rows={10} height={44} />
        </Card>
      )}
      {pricing.data !== undefined && names.length < MOST_COMPARED && (
        <div className="mb-4 max-w-sm">
          <Combobox
            aria-label={t.compareAddModel}
            placeholder={t.compareAddModel}
            values={[]}
            onChange={(values) => set([...names, ...values])}
            options={pricing.data.models
              .filter((model) => !names.includes(model.name))
              .map((model) => ({ value: model.name, label: model.name, hint: model.vendor }))}
          />
        </div>
      )}
      {pricing.data !== undefined && models.length === 0 && (
        <Card>
          <Empty
            title={t.compareEmpty}
            text={t.compareEmptyText}
            action={<Button href="/catalog">{t.toCatalog}</Button>}
          />
        </Card>
      )}
      {models.length > 0 && <Grid models={models} onRemove={(name) => set(names.filter((one) => one !== name))} />}
    </Page>
  );
}

function Grid({ models, onRemove }: { models: Model[]; onRemove: (name: string) => void }) {
  const t = useTexts(catalogTexts);
  const rows = rowsOf(models, t, useTexts(trapTexts), useNumber(), locale(useLanguage()));
  return (
    <section
      // biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls must be reachable by keyboard
      tabIndex={0}
      aria-label={t.compareTitle}
      className="overflow-x-auto rounded-card border border-line bg-surface [font-variant-ligatures:no-contextual]"
    >
      <table className="w-full border-separate border-spacing-0">
        <thead>
          <tr>
            <th scope="col" className="sticky left-0 z-10 min-w-28 border-b border-line bg-surface sm:min-w-40">
              <span className="sr-only">{t.compare}</span>
            </th>
            {models.map((model) => (
              <th
                key={model.name}
                scope="col"
                className="min-w-56 border-b border-l border-line p-4 text-left align-top font-normal"
              >
                <Head model={model} onRemove={onRemove} />
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {rows.map((row) => (
            <tr key={row.name}>
              <th
                scope="row"
                className="sticky left-0 z-10 border-b border-line bg-surface px-4 py-2.5 text-left align-top text-[13px] font-medium text-ink-3"
              >
                {row.name}
              </th>
              {row.cells.map((cell, index) => (
                <td
                  key={models[index]?.name ?? index}
                  className="border-b border-l border-line px-4 py-2.5 align-top text-ink"
                >
                  {cell ?? <span className="text-ink-3">–</span>}
                </td>
              ))}
            </tr>
          ))}
        </tbody>
      </table>
    </section>
  );
}

function Head({ model, onRemove }: { model: Model; onRemove: (name: string) => void }) {
  const t = useTexts(catalogTexts);
  const task = playgroundTask(model);
  return (
    <>
      <div className="flex items-start justify-between gap-2">
        <Link
          href={`/catalog/${encodeURIComponent(model.name)}`}
          className="num min-w-0 font-semibold [overflow-wrap:anywhere] text-ink hover:underline"
        >
          {model.name}
        </Link>
        <IconButton
          label={t.compareRemove(model.name)}
          icon={<X aria-hidden />}
          className="-mt-1 -mr-2 size-7!"
          onClick={() => onRemove(model.name)}
        />
      </div>
      <p className="mt-0.5 text-xs text-ink-3">
        {[model.vendor, kindName(t, model)].filter((word) => word !== "").join(" · ")}
      </p>
      {task !== null && (
        <Button
          size="small"
          className="mt-3"
          icon={<FlaskConical aria-hidden />}
          href={`/playground/${task}?model=${encodeURIComponent(model.name)}`}
        >
          {t.try}
        </Button>
      )}
    </>
  );
}

interface Row {
  name: string;
  cells: (ReactNode | null)[];
}

function priceRows(models: Model[], t: CatalogTexts): Row[] {
  const prices = models.map(basePrices);
  const faces = [...new Set(prices.flatMap((lines) => lines.map((line) => line.face)))] as Face[];
  return faces.map((face) => ({
    name: face === "per_call" ? t.price : t.faces[face],
    cells: prices.map((lines) => {
      const line: PriceLine | undefined = lines.find((one) => one.face === face);
      return line === undefined ? null : <Money key={face} usd={line.usd} kind="price" unit={t.perUnit[line.unit]} />;
    }),
  }));
}

function rowsOf(
  models: Model[],
  t: CatalogTexts,
  traps: TrapTexts,
  number: (value: number) => string,
  where: string,
): Row[] {
  const each = (name: string, value: (model: Model) => ReactNode | null | undefined): Row => ({
    name,
    cells: models.map((model) => value(model) ?? null),
  });
  const list = (words: string[] | undefined) => (words === undefined || words.length === 0 ? null : listed(words));
  const translated = (words: string[] | undefined) => words?.map((word) => t.recordWords[word] ?? word);
  const rows = [
    each(t.health, (model) => <Health model={model} />),
    ...priceRows(models, t),
    each(t.tiers, (model) => {
      const tiers = tierPrices(model);
      if (tiers.length === 0) return null;
      return (
        <ul className="space-y-1 text-[13px]">
          {tiers.map((tier) => (
            <li key={tier.name}>
              <span className="text-ink-2">{named(tierWords(tier.when, t, number))}</span>
              {tier.lines.slice(0, 2).map((line, index) => (
                <span key={line.face}>
                  {index > 0 && " / "}
                  <Money usd={line.usd} kind="price" />
                </span>
              ))}
            </li>
          ))}
        </ul>
      );
    }),
    each(t.context, (model) => {
      const context = model.specs.context_window ?? model.specs.max_input_tokens;
      return context === undefined ? null : t.tokens(format.count(context, where));
    }),
    each(t.longest, (model) =>
      model.specs.max_output_tokens === undefined ? null : t.tokens(format.count(model.specs.max_output_tokens, where)),
    ),
    each(t.input, (model) => list(translated(model.specs.input_modalities))),
    each(t.output, (model) => list(translated(model.specs.output_modalities))),
    each(t.sizes, (model) => model.specs.resolutions?.join(", ")),
    each(t.length, (model) =>
      model.specs.max_duration_seconds === undefined
        ? null
        : t.secondsSpan(String(model.specs.min_duration_seconds ?? 1), String(model.specs.max_duration_seconds)),
    ),
    each(t.formats, (model) => list(model.record.supported_endpoint_types.map((end) => t.formatNames[end] ?? end))),
    each(t.tasksHead, (model) => list(translated(model.record.tasks))),
    each(t.traps, (model) => {
      const found = trapsOf(model, traps, number);
      if (found.length === 0) return null;
      return (
        <ul className="list-disc space-y-1 pl-4 text-[13px] text-ink-2">
          {found.map((trap) => (
            <li key={trap}>{trap}</li>
          ))}
        </ul>
      );
    }),
  ];
  return rows.filter((row) => row.cells.some((cell) => cell !== null));
}
