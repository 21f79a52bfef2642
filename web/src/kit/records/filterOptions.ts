/** Lists that several pages choose from: the account's keys, and the models it has used. */
import { useQuery } from "@tanstack/react-query";
import { useMemo, useState } from "react";
import { api, type Key, type PageOf, type UsageLine } from "@/api";
import { useSettled } from "@/kit";
import { shortCount } from "@/kit/format";
import { locale, useLanguage } from "@/text";
import { addDays, dayOf } from "./days";
import type { SelectOption } from "./MultiSelect";

const FRESH_MS = 60_000;
/** The API's longest page. Keys of an account with more are asked for by what is typed. */
const MOST_KEYS = 200;

export interface KeyOptions {
  options: SelectOption[];
  /** Hears what is typed. */
  onSearch: (word: string) => void;
}

/** The newest keys; of an account with more also those that fit what is typed, and the chosen one. */
export function useKeyOptions(chosen: string): KeyOptions {
  const [word, onSearch] = useState("");
  const typed = useSettled(word.trim(), 300);
  const newest = useQuery({
    queryKey: ["options", "keys"],
    queryFn: ({ signal }) => api.get<PageOf<Key>>("/api/keys", { query: { limit: MOST_KEYS }, signal }),
    staleTime: FRESH_MS,
  });
  const isPart = newest.data !== undefined && newest.data.next !== null;
  const found = useQuery({
    queryKey: ["options", "keys", typed],
    queryFn: ({ signal }) => api.get<PageOf<Key>>("/api/keys", { query: { limit: MOST_KEYS, q: typed }, signal }),
    staleTime: FRESH_MS,
    enabled: isPart && typed !== "",
  });
  const one = useQuery({
    queryKey: ["options", "key", chosen],
    queryFn: ({ signal }) => api.get<Key>(`/api/keys/${encodeURIComponent(chosen)}`, { signal }),
    staleTime: FRESH_MS,
    enabled: isPart && chosen !== "" && !newest.data.data.some((key) => String(key.id) === chosen),
  });
  const options = useMemo(
    () => keyOptions([...(newest.data?.data ?? []), ...(found.data?.data ?? []), ...(one.data ? [one.data] : [])]),
    [newest.data, found.data, one.data],
  );
  return { options, onSearch };
}

/** Each key once, in the order they came. */
export function keyOptions(keys: readonly Pick<Key, "id" | "name" | "hint">[]): SelectOption[] {
  const known = new Map(keys.map((key) => [String(key.id), key]));
  return [...known].map(([value, key]) => ({ value, label: key.name, hint: key.hint }));
}

/** Models of the last 30 days with how often they were called, most called first. */
export function useModelOptions(): SelectOption[] {
  const language = useLanguage();
  const today = dayOf(new Date());
  const { data } = useQuery({
    queryKey: ["usage", "models", today],
    queryFn: ({ signal }) =>
      api.get<{ data: UsageLine[] }>("/api/usage", {
        query: { from: addDays(today, -29), to: today, group_by: "model" },
        signal,
      }),
    staleTime: FRESH_MS,
  });
  return useMemo(
    () =>
      [...(data?.data ?? [])]
        .sort((one, other) => other.calls - one.calls)
        .flatMap((line) =>
          line.model === undefined
            ? []
            : [{ value: line.model, label: line.model, hint: shortCount(line.calls, locale(language)) }],
        ),
    [data, language],
  );
}
