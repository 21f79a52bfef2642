/** Questions about keys, and what is forgotten when one changes. */
import { useInfiniteQuery, useQuery, useQueryClient } from "@tanstack/react-query";
import { useCallback } from "react";
import { api, type Key, type PageOf } from "@/api";

const PAGE = 50;

export function useKeys(q: string) {
  return useInfiniteQuery({
    queryKey: ["keys", q],
    queryFn: ({ pageParam, signal }) =>
      api.get<PageOf<Key>>("/api/keys", { query: { after: pageParam, limit: PAGE, q }, signal }),
    initialPageParam: null as string | null,
    getNextPageParam: (page) => page.next,
  });
}

export function useKey(id: string) {
  return useQuery({
    queryKey: ["key", id],
    queryFn: ({ signal }) => api.get<Key>(`/api/keys/${encodeURIComponent(id)}`, { signal }),
  });
}

/** Puts a changed key in place and asks for the lists anew. */
export function useTakeKey(): (key: Key | null) => void {
  const client = useQueryClient();
  return useCallback(
    (key) => {
      if (key !== null) client.setQueryData(["key", String(key.id)], key);
      void client.invalidateQueries({ queryKey: ["keys"] });
    },
    [client],
  );
}
