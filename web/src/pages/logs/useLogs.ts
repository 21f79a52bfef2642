/** The log as pages, and the calls that end while one reads. */
import { useInfiniteQuery, useQuery } from "@tanstack/react-query";
import { useCallback, useEffect, useMemo, useState } from "react";
import { api, type LogRow, type PageOf } from "@/api";
import { askFor, type LogFilters, SHORTEST_ID } from "./filters";
import { arrived, joined, leavesGap, MOST_WAITING } from "./tail";

interface LogPage extends PageOf<LogRow> {
  /** How far back a bounded search came; absent or null when it came to its end. */
  searched_to?: string | null;
}

const PAGE = 50;
const TAIL_MS = 5_000;
/** Nearer to the top than this, new rows simply appear; further down they wait for a click. */
const AT_TOP_PX = 80;

function fetchLogs(filters: LogFilters, after: string | null, signal: AbortSignal): Promise<LogPage> {
  return api.get<LogPage>("/api/logs", { query: { ...askFor(filters, new Date()), limit: PAGE, after }, signal });
}

export function useLogs(filters: LogFilters, live: boolean, panelOpen: boolean) {
  // A search that is too short yet changes nothing.
  const asked = useMemo(() => (filters.q.length >= SHORTEST_ID ? filters : { ...filters, q: "" }), [filters]);
  const query = useInfiniteQuery({
    queryKey: ["logs", "list", asked],
    queryFn: ({ pageParam, signal }) => fetchLogs(asked, pageParam, signal),
    initialPageParam: null as string | null,
    getNextPageParam: (last) => last.next,
    // Coming back to the window must not ask for every page again; Live and Try again do so when wanted.
    refetchOnWindowFocus: false,
    refetchOnReconnect: false,
  });
  const pages = query.data?.pages;
  const listed = useMemo(() => (pages === undefined ? undefined : joined(pages.map((page) => page.data))), [pages]);
  const tail = useTail(asked, live && asked.q === "", listed, panelOpen);
  const rows = useMemo(() => (listed === undefined ? undefined : joined([tail.taken, listed])), [listed, tail.taken]);
  const last = pages?.[pages.length - 1];
  const { refetch } = query;
  const { clear } = tail;
  const again = useCallback(() => {
    clear();
    void refetch();
  }, [clear, refetch]);
  return { query, rows, searchedTo: last?.next ? (last.searched_to ?? null) : null, tail, again };
}

interface Tail {
  taken: LogRow[];
  waiting: LogRow[];
  /** More calls came than one page holds: only asking anew shows them all. */
  gap: boolean;
}
const QUIET: Tail = { taken: [], waiting: [], gap: false };

function useTail(filters: LogFilters, on: boolean, listed: LogRow[] | undefined, panelOpen: boolean) {
  const [tail, setTail] = useState<Tail>(QUIET);
  const name = JSON.stringify(filters);
  // biome-ignore lint/correctness/useExhaustiveDependencies: other filters, another tail
  useEffect(() => setTail(QUIET), [name]);
  const { data } = useQuery({
    queryKey: ["logs", "tail", filters],
    queryFn: ({ signal }) => fetchLogs(filters, null, signal),
    enabled: on && listed !== undefined,
    refetchInterval: TAIL_MS,
    gcTime: 0,
  });
  useEffect(() => {
    if (!on || data === undefined || listed === undefined) return;
    const atTop = window.scrollY < AT_TOP_PX && !panelOpen;
    setTail((now) => {
      const shown = [...now.taken, ...listed];
      const fresh = arrived(data.data, shown);
      if (fresh.length === 0 && now.waiting.length === 0) return now;
      const waiting = joined([fresh, now.waiting]);
      if (leavesGap(data.data, [...now.waiting, ...shown], data.next !== null) || waiting.length > MOST_WAITING) {
        return { ...now, waiting: [], gap: true };
      }
      return atTop ? { ...now, taken: joined([waiting, now.taken]), waiting: [] } : { ...now, waiting };
    });
  }, [data, on, listed, panelOpen]);
  const take = useCallback(
    () => setTail((now) => ({ ...now, taken: joined([now.waiting, now.taken]), waiting: [] })),
    [],
  );
  const clear = useCallback(() => setTail(QUIET), []);
  return { ...tail, take, clear };
}
