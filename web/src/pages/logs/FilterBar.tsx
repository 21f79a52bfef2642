import { Search, SlidersHorizontal, X } from "lucide-react";
import { type ReactNode, useEffect, useState } from "react";
import type { Outcome } from "@/api";
import { Button, Dialog, Field, IconButton, Input, Select, usePhone, useSettled } from "@/kit";
import { useKeyOptions, useModelOptions } from "@/kit/records/filterOptions";
import { MultiSelect } from "@/kit/records/MultiSelect";
import { readTypedUsd } from "@/kit/records/money";
import { recordTexts, wordIn } from "@/kit/records/texts";
import { kitTexts } from "@/kit/texts";
import { useTexts } from "@/text";
import {
  countFilters,
  fromLocalField,
  type LogFilters,
  NO_FILTERS,
  OUTCOME_GROUPS,
  RANGES,
  SHORTEST_ID,
  toLocalField,
} from "./filters";
import { logTexts } from "./texts";
import { Views } from "./Views";

interface BarProps {
  filters: LogFilters;
  onChange: (filters: LogFilters) => void;
}

export function FilterBar({ filters, onChange }: BarProps) {
  const t = useTexts(logTexts);
  const phone = usePhone();
  const [open, setOpen] = useState(false);
  const count = countFilters(filters);
  const clear = (
    <Button
      variant="link"
      className="h-9 px-1 text-[13px]!"
      icon={<X aria-hidden />}
      onClick={() => onChange(NO_FILTERS)}
    >
      {t.clear}
    </Button>
  );
  if (phone) {
    return (
      <div className="mb-4 space-y-2">
        <IdSearch filters={filters} onChange={onChange} />
        <div className="flex items-center gap-2">
          <Button icon={<SlidersHorizontal aria-hidden />} onClick={() => setOpen(true)}>
            {count === 0 ? t.filters : t.filtersSet(count)}
          </Button>
          <Views filters={filters} onChange={onChange} />
          {count > 0 && clear}
        </div>
        <Dialog
          open={open}
          onClose={() => setOpen(false)}
          title={t.filters}
          footer={
            <>
              <Button onClick={() => onChange({ ...NO_FILTERS, q: filters.q })}>{t.clear}</Button>
              <Button variant="primary" onClick={() => setOpen(false)}>
                {t.show}
              </Button>
            </>
          }
        >
          <div className="space-y-4">
            <Controls filters={filters} onChange={onChange} labelled />
          </div>
        </Dialog>
      </div>
    );
  }
  return (
    <div className="mb-4 space-y-2">
      <div className="flex flex-wrap items-start gap-2">
        <div className="w-96">
          <IdSearch filters={filters} onChange={onChange} />
        </div>
        <Views filters={filters} onChange={onChange} />
        {(count > 0 || filters.q !== "") && clear}
      </div>
      <div className="grid grid-cols-3 gap-2 lg:grid-cols-6">
        <Controls filters={filters} onChange={onChange} labelled={false} />
      </div>
    </div>
  );
}

/** Waits until one stops typing, and follows the address when it changes from elsewhere. */
function useTyped(value: string, take: (typed: string) => void): [string, (typed: string) => void] {
  const [typed, setTyped] = useState(value);
  const settled = useSettled(typed, 300);
  useEffect(() => setTyped(value), [value]);
  // biome-ignore lint/correctness/useExhaustiveDependencies: only a pause in typing may change the address
  useEffect(() => {
    if (settled === typed && settled !== value) take(settled);
  }, [settled]);
  return [typed, setTyped];
}

function IdSearch({ filters, onChange }: BarProps) {
  const t = useTexts(logTexts);
  const [typed, setTyped] = useTyped(filters.q, (q) => onChange({ ...filters, q: q.trim() }));
  const short = typed.trim() !== "" && typed.trim().length < SHORTEST_ID;
  return (
    <div className="relative">
      <Input
        type="search"
        aria-label={t.searchLabel}
        aria-describedby={short ? "log-search-short" : undefined}
        placeholder={t.search}
        before={<Search aria-hidden />}
        value={typed}
        maxLength={80}
        spellCheck={false}
        onChange={(event) => setTyped(event.target.value)}
        {...(typed === ""
          ? {}
          : {
              after: (
                <IconButton
                  label={t.clearSearch}
                  icon={<X aria-hidden />}
                  className="size-7!"
                  onClick={() => onChange({ ...filters, q: "" })}
                />
              ),
            })}
        className="[&::-webkit-search-cancel-button]:hidden"
      />
      {short && (
        // Over what is below, so that typing moves nothing.
        <p
          id="log-search-short"
          className="absolute top-full left-0 z-10 mt-1 rounded-md border border-line bg-surface px-2 py-1 text-xs text-ink-2 shadow-raised"
        >
          {t.searchShort}
        </p>
      )}
    </div>
  );
}

function Controls({ filters, onChange, labelled }: BarProps & { labelled: boolean }) {
  const t = useTexts(logTexts);
  const r = useTexts(recordTexts);
  const k = useTexts(kitTexts);
  const keys = useKeyOptions(filters.key);
  const models = useModelOptions();
  const outcomes = Object.keys(k.outcome) as Outcome[];
  const set = (change: Partial<LogFilters>) => onChange({ ...filters, ...change });
  const endpoints = Object.keys(r.endpoints).map((value) => ({ value, label: wordIn(r.endpoints, value) }));
  const wrap = (label: string, control: ReactNode) =>
    labelled ? <Field label={label}>{control}</Field> : <div className="min-w-0">{control}</div>;
  const chosen = (value: string) => (value === "" ? "text-ink-2!" : "border-accent!");
  return (
    <>
      {wrap(
        t.key,
        <MultiSelect label={t.key} any={t.anyKey} value={filters.key} {...keys} onChange={(key) => set({ key })} />,
      )}
      {wrap(
        t.model,
        <MultiSelect
          label={t.model}
          any={t.anyModel}
          value={filters.model}
          options={models}
          free
          onChange={(model) => set({ model })}
        />,
      )}
      {wrap(
        t.outcome,
        <Select
          aria-label={t.outcome}
          className={chosen(filters.outcome)}
          value={filters.outcome}
          onChange={(outcome) => set({ outcome })}
          options={[
            { value: "", label: t.anyOutcome },
            ...OUTCOME_GROUPS.map((value) => ({ value, label: t[value] })),
            ...outcomes.map((value) => ({ value, label: k.outcome[value] })),
          ]}
        />,
      )}
      {wrap(
        t.endpoint,
        <MultiSelect
          label={t.endpoint}
          any={t.anyEndpoint}
          value={filters.endpoint}
          options={endpoints}
          free
          onChange={(endpoint) => set({ endpoint })}
        />,
      )}
      {wrap(
        t.time,
        <Select
          aria-label={t.time}
          className={chosen(filters.range === "any" ? "" : filters.range)}
          value={filters.range}
          onChange={(range) =>
            set(range === "custom" ? { range, from: filters.from || hourAgo(), to: "" } : { range, from: "", to: "" })
          }
          options={RANGES.map((value) => ({ value, label: t.ranges[value] }))}
        />,
      )}
      {wrap(t.min, <MinimumCost filters={filters} onChange={onChange} />)}
      {filters.range === "custom" && <Moments filters={filters} onChange={onChange} labelled={labelled} />}
    </>
  );
}

function hourAgo(): string {
  return `${new Date(Date.now() - 3_600_000).toISOString().slice(0, 17)}00Z`;
}

function Moments({ filters, onChange, labelled }: BarProps & { labelled: boolean }) {
  const t = useTexts(logTexts);
  const r = useTexts(recordTexts);
  const zone = Intl.DateTimeFormat().resolvedOptions().timeZone;
  const one = (name: "from" | "to") => {
    const input = (
      <Input
        type="datetime-local"
        aria-label={r[name]}
        data-tip={t.zone(zone)}
        value={toLocalField(filters[name])}
        onChange={(event) => onChange({ ...filters, [name]: fromLocalField(event.target.value) })}
      />
    );
    return labelled ? (
      <Field label={r[name]} hint={name === "to" ? t.zone(zone) : undefined}>
        {input}
      </Field>
    ) : (
      <div className="min-w-0 lg:col-span-2">{input}</div>
    );
  };
  return (
    <>
      {one("from")}
      {one("to")}
    </>
  );
}

function MinimumCost({ filters, onChange }: BarProps) {
  const t = useTexts(logTexts);
  const [typed, setTyped] = useTyped(filters.min, (text) => {
    const min = text.trim() === "" ? "" : readTypedUsd(text);
    if (min !== null) onChange({ ...filters, min });
  });
  const bad = typed.trim() !== "" && readTypedUsd(typed) === null;
  return (
    <Input
      aria-label={t.min}
      aria-invalid={bad || undefined}
      data-tip={bad ? t.minBad : t.minHint}
      inputMode="decimal"
      placeholder={t.min}
      before={typed === "" ? undefined : "$"}
      value={typed}
      maxLength={24}
      onChange={(event) => setTyped(event.target.value)}
      className={filters.min === "" ? "" : "border-accent!"}
    />
  );
}
