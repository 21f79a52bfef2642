/** Who is looking, at which account, with which rights. Asked once and kept fresh. */
import { useQuery, useQueryClient } from "@tanstack/react-query";
import { createContext, type ReactNode, useCallback, useContext } from "react";
import { api, type Right, type Session } from "@/api";

export const SESSION_KEY = ["session"] as const;

export function useSessionQuery() {
  return useQuery({
    queryKey: SESSION_KEY,
    queryFn: ({ signal }) => api.get<Session>("/api/session", { signal }),
    staleTime: 60_000,
  });
}

const SessionContext = createContext<Session | null>(null);
export function SessionProvider({ session, children }: { session: Session; children: ReactNode }) {
  return <SessionContext value={session}>{children}</SessionContext>;
}

/** The session; only below the provider, which every page is. */
export function useSession(): Session {
  const session = useContext(SessionContext);
  if (session === null) throw new Error("useSession needs the provider above it");
  return session;
}
export function useRight(right: Right): boolean {
  return useSession().rights.includes(right);
}

/** Puts the answer of a call that changed the sign-in in place, and forgets what another person or account saw. */
export function useTakeSession(): (session: Session) => void {
  const client = useQueryClient();
  return useCallback(
    (session) => {
      client.removeQueries({ predicate: (query) => query.queryKey[0] !== SESSION_KEY[0] });
      client.setQueryData(SESSION_KEY, session);
    },
    [client],
  );
}
