/** Models: filters, cards or a table, and a tray for comparing. */
import { LayoutGrid, Rows3, Scale, X } from "lucide-react";
import { useMemo } from "react";
import {
  Button,
  Card,
  type Column,
  DataTable,
  Empty,
  format,
  IconButton,
  Problem,
  Segments,
  Skeleton,
  useRemembered,
  useSearch,
} from "@/kit";
import { locale, useLanguage, useTexts } from "@/text";
import { usePricing } from "./data";
import { FilterBar } from "./FilterBar";
import { CATALOG_SORTS, type CatalogFilter, filterModels, MOST_COMPARED, NO_FILTER, readCompared } from "./filter";
import { CompareBox, ModelCard } from "./ModelCard";
import { Headline, Health, kindName } from "./parts";
import { MODEL_KINDS, type Model } from "./record";
import { type CatalogTexts, catalogTexts } from "./texts";

/** Words of the address that are none of ours are as if they were not there. */
function readFilter(search: Record<string, string | undefined>): CatalogFilter {
  const kind = MODEL_KINDS.find((one) => one === search["kind"]) ?? "";
  return {
    q: search["q"] ?? "",
    kind,
    format: (search["format"] ?? "") as CatalogFilter["format"],
    vendor: search["vendor"] ?? "",
    health: (search["health"] ?? "") as CatalogFilter["health"],
    max: search["max"] ?? "",
    sort: CATALOG_SORTS.find((one) => one === search["sort"]) ?? "name",
  };
}

export function ModelsTab() {
  const t = useTexts(catalogTexts);
  const pricing = usePricing();
  const [search, setSearch] = useSearch();
  const [view, setView] = useRemembered<"cards" | "table">("catalog.view", "cards");
  const filter = readFilter(search);
  const picked = readCompared(search["pick"]);
  const models = pricing.data?.models;
  const shape = JSON.stringify(filter);
  const found = useMemo(
    () => (models === undefined ? undefined : filterModels(models, JSON.parse(shape) as CatalogFilter)),
    [models, shape],
  );
  const pick = (name: string) => {
    const next = picked.includes(name) ? picked.filter((one) => one !== name) : [...picked, name];
    if (next.length <= MOST_COMPARED) setSearch({ pick: next.join(",") });
  };
  const clear = () => setSearch({ ...NO_FILTER, sort: "" });
  if (pricing.error !== null && models === undefined)
    return <Problem error={pricing.error} retry={() => void pricing.refetch()} />;
  if (models !== undefined && models.length === 0) {
    return (
      <Card>
        <Empty title={t.noModels} text={t.noModelsText} />
      </Card>
    );
  }
  const nothing = <Empty title={t.none} text={t.noneText} action={<Button onClick={clear}>{t.clear}</Button>} />;
  return (
    <>
      <FilterBar models={models ?? []} filter={filter} onChange={(next) => setSearch(next)} onClear={clear} />
      <div className="mb-3 flex min-h-8 flex-wrap items-center justify-between gap-3">
        <p role="status" className="text-xs text-ink-3">
          {found === undefined || models === undefined ? "" : t.found(found.length, models.length)}
        </p>
        <Segments
          label={t.view}
          value={view}
          onChange={setView}
          options={[
            { value: "cards", label: <ViewName icon={<LayoutGrid aria-hidden />} name={t.cards} /> },
            { value: "table", label: <ViewName icon={<Rows3 aria-hidden />} name={t.table} /> },
          ]}
        />
      </div>
      {view === "table" ? (
        <ModelTable models={found} loading={pricing.isPending} picked={picked} onPick={pick} empty={nothing} />
      ) : (
        <ModelCards models={found} picked={picked} onPick={pick} empty={nothing} />
      )}
      <Tray picked={picked} onRemove={pick} onClear={() => setSearch({ pick: "" })} />
    </>
  );
}

function ViewName({ icon, name }: { icon: React.ReactNode; name: string }) {
  return (
    <span className="flex items-center gap-1.5 [&_svg]:size-4">
      {icon}
      {name}
    </span>
  );
}

interface ListProps {
  models: Model[] | undefined;
  picked: string[];
  onPick: (name: string) => void;
  empty: React.ReactNode;
}

function ModelCards({ models, picked, onPick, empty }: ListProps) {
  if (models !== undefined && models.length === 0) return <Card>{empty}</Card>;
  return (
    <ul className="grid grid-cols-[repeat(auto-fill,minmax(min(100%,300px),1fr))] gap-3">
      {models === undefined &&
        ["a", "b", "c", "d", "e", "f", "g", "h", "i"].map((name) => (
          <li key={name} aria-hidden className="h-[190px] rounded-card border border-line bg-surface p-4">
            <Skeleton className="w-1/2" />
            <Skeleton className="mt-3 h-3! w-full" />
            <Skeleton className="mt-2 h-3! w-2/3" />
            <Skeleton className="mt-8 w-1/3" />
          </li>
        ))}
      {models?.map((model) => (
        <ModelCard
          key={model.name}
          model={model}
          picked={picked.includes(model.name)}
          full={picked.length >= MOST_COMPARED}
          onPick={onPick}
        />
      ))}
    </ul>
  );
}

function columnsOf(
  t: CatalogTexts,
  picked: string[],
  onPick: (name: string) => void,
  short: (value: number) => string,
): Column<Model>[] {
  return [
    {
      id: "pick",
      head: <span className="sr-only">{t.compare}</span>,
      width: 32,
      cell: (model) => (
        <CompareBox
          name={model.name}
          picked={picked.includes(model.name)}
          full={picked.length >= MOST_COMPARED}
          onPick={onPick}
          bare
        />
      ),
    },
    {
      id: "name",
      head: t.model,
      primary: true,
      clip: true,
      cell: (model) => <span className="num">{model.name}</span>,
    },
    { id: "vendor", head: t.vendor, cell: (model) => model.vendor },
    { id: "kind", head: t.kind, cell: (model) => kindName(t, model) },
    { id: "price", head: t.price, cell: (model) => <Headline model={model} /> },
    {
      id: "context",
      head: t.context,
      align: "right",
      mono: true,
      cell: (model) => {
        const context = model.specs.context_window ?? model.specs.max_input_tokens;
        return context === undefined ? <span className="text-ink-3">–</span> : short(context);
      },
    },
    { id: "health", head: t.health, cell: (model) => <Health model={model} compact /> },
  ];
}

function ModelTable({ models, picked, onPick, empty, loading }: ListProps & { loading: boolean }) {
  const t = useTexts(catalogTexts);
  const language = useLanguage();
  const columns = columnsOf(t, picked, onPick, (value) => format.shortCount(value, locale(language)));
  return (
    <DataTable
      label={t.tabs.models}
      columns={columns}
      rows={models}
      rowKey={(model) => model.name}
      rowHref={(model) => `/catalog/${encodeURIComponent(model.name)}`}
      loading={loading}
      cardFields={["name", "price", "health"]}
      empty={empty}
      skeletonRows={12}
    />
  );
}

/** What was picked for comparing, at the foot of the page until it is used or cleared. */
function Tray({
  picked,
  onRemove,
  onClear,
}: {
  picked: string[];
  onRemove: (name: string) => void;
  onClear: () => void;
}) {
  const t = useTexts(catalogTexts);
  if (picked.length === 0) return null;
  return (
    <section
      aria-label={t.compare}
      className="anim-rise sticky bottom-16 z-20 mx-auto mt-4 flex max-w-3xl flex-wrap items-center gap-2 rounded-card border border-line-strong bg-surface p-2 shadow-raised sm:bottom-4"
    >
      <ul className="flex min-w-0 flex-1 basis-full flex-wrap gap-1.5 sm:basis-0">
        {picked.map((name) => (
          <li
            key={name}
            className="flex max-w-full items-center gap-1 rounded-md bg-sunken py-0.5 pr-0.5 pl-2 text-[13px]"
          >
            <span className="num min-w-0 truncate">{name}</span>
            <IconButton
              label={t.compareRemove(name)}
              icon={<X aria-hidden />}
              className="size-6! [&_svg]:size-3.5"
              onClick={() => onRemove(name)}
            />
          </li>
        ))}
      </ul>
      <Button size="small" variant="link" onClick={onClear}>
        {t.compareClear}
      </Button>
      {picked.length < 2 ? (
        <span className="text-xs text-ink-3">{t.comparePick}</span>
      ) : (
        <Button
          size="small"
          variant="primary"
          icon={<Scale aria-hidden />}
          href={`/catalog/compare?models=${encodeURIComponent(picked.join(","))}`}
        >
          {t.compareCount(picked.length)}
        </Button>
      )}
    </section>
  );
}
