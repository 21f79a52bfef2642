/** Lists that several pages choose from: the account's keys, and the models it has used. */
import { useQuery } from "@tanstack/react-query";
import { useMemo } from "react";
import { api, type Key, type PageOf, type UsageLine } from "@/api";
import { shortCount } from "@/kit/format";
import { locale, useLanguage } from "@/text";
import { addDays, dayOf } from "./days";
import type { PickOption } from "./Pick";

const FRESH_MS = 60_000;
/** The API's longest page. An account with more keys finds the others by their number in the address. */
const MOST_KEYS = 200;

export function useKeyOptions(): PickOption[] {
  const { data } = useQuery({
    queryKey: ["options", "keys"],
    queryFn: ({ signal }) => api.get<PageOf<Key>>("/api/keys", { query: { limit: MOST_KEYS }, signal }),
    staleTime: FRESH_MS,
  });
  return useMemo(() => (data?.data ?? []).map((key) => ({ value: String(key.id), label: key.name })), [data]);
}

/** Models of the last 30 days with how often they were called, most called first. */
export function useModelOptions(): PickOption[] {
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
