/** Filters of the catalog, each choice with how many models it leaves. */
import { Search, SlidersHorizontal } from "lucide-react";
import { useMemo, useState } from "react";
import { Button, Input, Select, useMedia } from "@/kit";
import { useTexts } from "@/text";
import { CATALOG_SORTS, type CatalogFilter, type CatalogSort, countBy, isPrice, NO_FILTER } from "./filter";
import type { Model } from "./record";
import { catalogTexts } from "./texts";

interface Props {
  models: Model[];
  filter: CatalogFilter;
  onChange: (next: Partial<CatalogFilter>) => void;
  onClear: () => void;
}

function isFiltered(filter: CatalogFilter): boolean {
  return (Object.keys(NO_FILTER) as (keyof CatalogFilter)[]).some(
    (name) => name !== "sort" && filter[name] !== NO_FILTER[name],
  );
}

export function FilterBar({ models, filter, onChange, onClear }: Props) {
  const t = useTexts(catalogTexts);
  const narrow = useMedia("(max-width: 1023.98px)");
  const [open, setOpen] = useState(false);
  const [typed, setTyped] = useState(filter.q);
  const shown = !narrow || open;
  return (
    <div className="mb-4 flex flex-wrap items-center gap-2">
      <div className="min-w-40 flex-1 basis-52 lg:max-w-72">
        <Input
          type="search"
          aria-label={t.search}
          placeholder={t.searchPlaceholder}
          before={<Search aria-hidden />}
          value={filter.q === "" && typed !== "" && !shown ? "" : typed}
          onChange={(event) => {
            setTyped(event.target.value);
            onChange({ q: event.target.value });
          }}
        />
      </div>
      {narrow && (
        <Button icon={<SlidersHorizontal aria-hidden />} aria-expanded={open} onClick={() => setOpen(!open)}>
          {t.filters}
        </Button>
      )}
      {shown && <Choices models={models} filter={filter} onChange={onChange} />}
      {shown && <MaxPrice max={filter.max} onChange={(max) => onChange({ max })} />}
      {shown && (
        <Labelled label={t.sort}>
          <Select
            aria-label={t.sort}
            value={filter.sort}
            onChange={(sort: CatalogSort) => onChange({ sort })}
            options={CATALOG_SORTS.map((sort) => ({ value: sort, label: t.sorts[sort] }))}
          />
        </Labelled>
      )}
      {isFiltered(filter) && (
        <Button
          variant="link"
          className="h-9 px-1"
          onClick={() => {
            setTyped("");
            onClear();
          }}
        >
          {t.clear}
        </Button>
      )}
    </div>
  );
}

function Labelled({ label, children }: { label: string; children: React.ReactNode }) {
  return (
    <div className="w-[calc(50%-4px)] sm:w-auto sm:min-w-36" title={label}>
      {children}
    </div>
  );
}

function Choices({ models, filter, onChange }: Omit<Props, "onClear">) {
  const t = useTexts(catalogTexts);
  const shape = JSON.stringify(filter);
  const counts = useMemo(() => {
    const now = JSON.parse(shape) as CatalogFilter;
    return {
      kind: countBy(models, now, "kind"),
      format: countBy(models, now, "format"),
      vendor: countBy(models, now, "vendor"),
      health: countBy(models, now, "health"),
    };
  }, [models, shape]);
  const names: Record<"kind" | "format" | "vendor" | "health", (word: string) => string> = {
    kind: (word) => (t.kinds as Record<string, string>)[word] ?? word,
    format: (word) => (t.formatNames as Record<string, string>)[word] ?? word,
    vendor: (word) => word,
    health: (word) => (t.healthWord as Record<string, string>)[word] ?? word,
  };
  const labels = { kind: t.kind, format: t.format, vendor: t.vendor, health: t.health };
  return (["kind", "format", "vendor", "health"] as const).map((what) => {
    const words = [...counts[what]].sort((a, b) => b[1] - a[1] || a[0].localeCompare(b[0]));
    const chosen = filter[what];
    // A choice that leaves nothing stays in the list, so that it can be seen and taken back.
    if (chosen !== "" && !counts[what].has(chosen)) words.push([chosen, 0]);
    return (
      <Labelled key={what} label={labels[what]}>
        <Select
          aria-label={labels[what]}
          value={chosen as string}
          onChange={(word) => onChange({ [what]: word })}
          options={[
            { value: "", label: t.anyOf(labels[what]) },
            ...words.map(([word, count]) => ({ value: word, label: `${names[what](word)} (${count})` })),
          ]}
        />
      </Labelled>
    );
  });
}

function MaxPrice({ max, onChange }: { max: string; onChange: (max: string) => void }) {
  const t = useTexts(catalogTexts);
  const [typed, setTyped] = useState(max);
  const value = max === "" && isPrice(typed) ? "" : typed;
  return (
    <div className="w-[calc(50%-4px)] sm:w-36" title={t.maxPriceHint}>
      <Input
        mono
        inputMode="decimal"
        before="$"
        aria-label={`${t.maxPrice}, ${t.maxPriceHint}`}
        placeholder={t.maxPrice}
        value={value}
        aria-invalid={typed !== "" && !isPrice(typed) ? true : undefined}
        onChange={(event) => {
          setTyped(event.target.value);
          onChange(isPrice(event.target.value) ? event.target.value : "");
        }}
      />
    </div>
  );
}
