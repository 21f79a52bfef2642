/** Everything about one model: prices with their conditions, limits, traps, a call that works. */
import { FlaskConical, Scale, TriangleAlert } from "lucide-react";
import type { ReactNode } from "react";
import { useSession } from "@/app/session";
import {
  Badge,
  Button,
  Card,
  Code,
  Copy,
  Empty,
  format,
  Link,
  Money,
  Page,
  Problem,
  SkeletonText,
  useParam,
} from "@/kit";
import { listed, locale, useLanguage, useTexts } from "@/text";
import { usePricing } from "./data";
import { exampleCall } from "./example";
import { Health, kindName, Price, tierWords, useNumber } from "./parts";
import { basePrices, type PriceLine, tierPrices } from "./price";
import { type Model, playgroundTask } from "./record";
import { type CatalogTexts, catalogTexts } from "./texts";
import { trapTexts } from "./trap-texts";
import { trapsOf } from "./traps";

export default function ModelPage() {
  const t = useTexts(catalogTexts);
  const name = useParam("model");
  const pricing = usePricing();
  const model = pricing.data?.models.find((one) => one.name === name);
  const above = (
    <Link href="/catalog" className="hover:text-ink hover:underline">
      {t.title}
    </Link>
  );
  if (pricing.error !== null && pricing.data === undefined) {
    return (
      <Page title={name} above={above}>
        <Problem error={pricing.error} retry={() => void pricing.refetch()} />
      </Page>
    );
  }
  if (pricing.data !== undefined && model === undefined) {
    return (
      <Page title={name} above={above}>
        <Card>
          <Empty title={t.unknown} text={t.unknownText(name)} action={<Button href="/catalog">{t.toCatalog}</Button>} />
        </Card>
      </Page>
    );
  }
  return (
    <Page
      name={name}
      title={
        <span className="inline-flex max-w-full items-center gap-1">
          <span className="num min-w-0 text-lg!">{name}</span>
          <Copy text={name} label={t.copyName} />
        </span>
      }
      lead={model?.description}
      above={above}
      action={model === undefined ? undefined : <Actions model={model} />}
    >
      {model === undefined ? <SkeletonText lines={12} /> : <Facts model={model} />}
    </Page>
  );
}

function Actions({ model }: { model: Model }) {
  const t = useTexts(catalogTexts);
  const task = playgroundTask(model);
  return (
    <>
      <Button icon={<Scale aria-hidden />} href={`/catalog/compare?models=${encodeURIComponent(model.name)}`}>
        {t.compare}
      </Button>
      {task !== null && (
        <Button
          variant="primary"
          icon={<FlaskConical aria-hidden />}
          href={`/playground/${task}?model=${encodeURIComponent(model.name)}`}
        >
          {t.try}
        </Button>
      )}
    </>
  );
}

function Facts({ model }: { model: Model }) {
  const t = useTexts(catalogTexts);
  const number = useNumber();
  const { instance } = useSession();
  const traps = trapsOf(model, useTexts(trapTexts), number);
  const example = exampleCall(model, instance.base_url);
  return (
    <>
      <div className="mb-6 flex flex-wrap items-center gap-x-3 gap-y-2">
        {model.vendor !== "" && <Badge>{model.vendor}</Badge>}
        <Badge>{kindName(t, model)}</Badge>
        <Health model={model} />
      </div>
      {/* Sizes are written with an x or an asterisk, and which one it is matters: no pretty cross in its place. */}
      <div className="grid items-start gap-6 [font-variant-ligatures:no-contextual] xl:grid-cols-[minmax(0,1fr)_380px]">
        <div className="min-w-0 space-y-6">
          <Prices model={model} />
          {traps.length > 0 && (
            <Card title={t.traps}>
              <p className="mb-3 text-xs text-ink-3">{t.trapsLead}</p>
              <ul className="space-y-2.5">
                {traps.map((trap) => (
                  <li key={trap} className="flex gap-2.5 text-ink-2">
                    <TriangleAlert aria-hidden className="mt-0.5 size-4 shrink-0 text-warn" />
                    <span className="min-w-0">{trap}</span>
                  </li>
                ))}
              </ul>
            </Card>
          )}
          {example !== null && (
            <Card title={t.snippet}>
              <p className="mb-3 text-xs text-ink-3">{t.snippetLead}</p>
              <Code language="bash" text={example} />
            </Card>
          )}
        </div>
        <div className="min-w-0 space-y-6">
          <Limits model={model} />
          <Formats model={model} />
        </div>
      </div>
    </>
  );
}

function Prices({ model }: { model: Model }) {
  const t = useTexts(catalogTexts);
  const number = useNumber();
  const base = basePrices(model);
  const tiers = tierPrices(model);
  const list = model.record.vendor_list;
  const rate = model.record.billing_rate;
  // With one price only, what it is otherwise reads best below all the cases.
  const rest = tiers.length > 0 && base.length === 1 ? base[0] : undefined;
  const page = list?.list_source?.match(/https:\/\/[^\s;]+/)?.[0];
  return (
    <Card title={t.prices} flush>
      <p className="px-4 pt-3 text-xs text-ink-3">{t.pricesLead}</p>
      {rate !== 1 && (
        <p className="px-4 pt-1 text-xs text-ink-3">{t.groupRate(model.record.billing_rate_source, String(rate))}</p>
      )}
      {rest === undefined && (
        <dl className="grid gap-px px-4 py-2">
          {base.map((line) => (
            <PriceRow key={line.face} line={line} t={t} />
          ))}
        </dl>
      )}
      {tiers.length > 0 && (
        <div className={rest === undefined ? "border-t border-line" : "pt-2"}>
          {rest === undefined && <h3 className="px-4 pt-3 pb-1 font-medium text-ink">{t.tiers}</h3>}
          <ul className="divide-y divide-line">
            {tiers.map((tier) => (
              <li key={tier.name} className="grid gap-x-6 gap-y-1 px-4 py-2.5 sm:grid-cols-[minmax(0,1fr)_auto]">
                <span className="min-w-0 text-ink">{tierWords(tier.when, t, number)}</span>
                <TierLines lines={tier.lines} base={base} t={t} />
              </li>
            ))}
            {rest !== undefined && (
              <li className="grid gap-x-6 gap-y-1 px-4 py-2.5 sm:grid-cols-[minmax(0,1fr)_auto]">
                <span className="text-ink">{t.otherwise}</span>
                <TierLines lines={[rest]} base={base} t={t} />
              </li>
            )}
          </ul>
        </div>
      )}
      {(list !== undefined || model.specs.pricing_notes !== undefined) && (
        <div className="space-y-1.5 border-t border-line px-4 py-3 text-xs text-ink-3">
          {list !== undefined && (
            <p className="[overflow-wrap:anywhere]">
              {t.listVerdict[list.verdict]}
              {list.verified_at !== undefined && <> · {t.checkedOn(list.verified_at)}</>}
              {page !== undefined && (
                <>
                  {" · "}
                  <a
                    className="text-accent-ink underline underline-offset-2"
                    href={page}
                    target="_blank"
                    rel="noreferrer noopener"
                  >
                    {page.replace("https://", "")}
                  </a>
                </>
              )}
            </p>
          )}
          {model.specs.pricing_notes !== undefined && <p>{model.specs.pricing_notes}</p>}
        </div>
      )}
    </Card>
  );
}

function PriceRow({ line, t }: { line: PriceLine; t: CatalogTexts }) {
  const name = line.face === "per_call" ? t.usual : t.faces[line.face];
  return (
    <div className="flex flex-wrap items-baseline justify-between gap-x-4 border-b border-line py-2 last:border-b-0">
      <dt className="text-ink-2">{name}</dt>
      <dd className="text-right">
        <Price line={line} />
      </dd>
    </div>
  );
}

/** Only what differs from the usual price: the rest says nothing new. */
function TierLines({ lines, base, t }: { lines: PriceLine[]; base: PriceLine[]; t: CatalogTexts }) {
  const differing = lines.filter((line) => base.find((one) => one.face === line.face)?.usd !== line.usd);
  const shown = differing.length === 0 ? lines.slice(0, 1) : differing;
  const named = base.length > 1;
  return (
    <span className="flex flex-wrap gap-x-4 gap-y-0.5 sm:justify-end">
      {shown.map((line) => (
        <span key={line.face} className="whitespace-nowrap">
          {named && <span className="text-xs text-ink-3">{t.faces[line.face]} </span>}
          <Money usd={line.usd} kind="price" className="text-ink" />
          {!named && <span className="text-xs text-ink-3"> {t.perUnit[line.unit]}</span>}
        </span>
      ))}
    </span>
  );
}

function Limits({ model }: { model: Model }) {
  const t = useTexts(catalogTexts);
  const number = useNumber();
  const language = useLanguage();
  const { specs, record } = model;
  const rows: [string, ReactNode][] = [];
  const add = (name: string, value: ReactNode) => {
    if (value !== undefined) rows.push([name, value]);
  };
  const joined = (words: string[] | undefined) =>
    words === undefined || words.length === 0 ? undefined : words.join(", ");
  const translated = (words: string[] | undefined) =>
    words === undefined || words.length === 0 ? undefined : listed(words.map((word) => t.recordWords[word] ?? word));
  const context = specs.context_window ?? specs.max_input_tokens;
  add(t.context, context === undefined ? undefined : t.tokens(number(context)));
  add(t.longest, specs.max_output_tokens === undefined ? undefined : t.tokens(number(specs.max_output_tokens)));
  add(t.input, translated(specs.input_modalities));
  add(t.output, translated(specs.output_modalities));
  add(t.efforts, joined(specs.reasoning_efforts));
  add(t.sizes, joined(specs.resolutions));
  add(t.qualities, joined(specs.qualities));
  if (specs.durations !== undefined) add(t.length, t.seconds(specs.durations.join(", ")));
  else if (specs.max_duration_seconds !== undefined) {
    add(t.length, t.secondsSpan(String(specs.min_duration_seconds ?? 1), String(specs.max_duration_seconds)));
  }
  add(t.voices, joined(specs.voices));
  add(t.files, joined(record.accepted_upload_formats ?? specs.response_formats));
  add(t.maxImages, specs.max_images === undefined ? undefined : number(specs.max_images));
  add(
    t.maxCharacters,
    specs.max_input_characters === undefined ? undefined : t.characters(number(specs.max_input_characters)),
  );
  add(
    t.maxUpload,
    specs.max_upload_seconds === undefined
      ? undefined
      : `${t.seconds(number(specs.max_upload_seconds))}${specs.max_upload_bytes === undefined ? "" : `, ${format.bytes(specs.max_upload_bytes, locale(language))}`}`,
  );
  add(t.tasksHead, translated(record.tasks));
  add(t.groups, joined(record.enable_groups));
  return (
    <Card title={t.limits}>
      <dl className="-my-2">
        {rows.map(([name, value]) => (
          <div
            key={name}
            className="grid grid-cols-[8rem_minmax(0,1fr)] gap-x-4 border-b border-line py-2 last:border-b-0"
          >
            <dt className="text-ink-3">{name}</dt>
            <dd className="min-w-0 [overflow-wrap:anywhere] text-ink">{value}</dd>
          </div>
        ))}
      </dl>
    </Card>
  );
}

function Formats({ model }: { model: Model }) {
  const t = useTexts(catalogTexts);
  return (
    <Card title={t.formats}>
      <p className="mb-3 text-xs text-ink-3">{t.formatsLead}</p>
      <ul className="flex flex-wrap gap-1.5">
        {model.record.supported_endpoint_types.map((end) => (
          <li key={end}>
            <Badge>{t.formatNames[end] ?? end}</Badge>
          </li>
        ))}
      </ul>
      <p className="mt-4">
        <Link href="/docs/formats" className="text-accent-ink underline-offset-2 hover:underline">
          {t.docs}
        </Link>
      </p>
    </Card>
  );
}
