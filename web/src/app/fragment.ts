/**
 * Links in mails carry their token behind the `#`, which no server and no log ever sees. It is taken out of the address
 * before anything else runs, so that it is in no history entry, no screenshot and no referrer either.
 */
import { useSyncExternalStore } from "react";

const PAGES = ["/setup", "/dev", "/verify", "/reset", "/invitation"];
let token: string | null = null;
const listeners = new Set<() => void>();

function take(): void {
  if (!PAGES.includes(location.pathname) || location.hash.length < 2) return;
  token = decodeURIComponent(location.hash.slice(1));
  history.replaceState(history.state, "", location.pathname + location.search);
  for (const listener of listeners) listener();
}

/** Called once, before the router looks at the address. A second link opened in the same tab is taken too. */
export function takeFragment(): void {
  take();
  addEventListener("hashchange", take);
}
export function useFragmentToken(): string | null {
  return useSyncExternalStore(
    (listener) => {
      listeners.add(listener);
      return () => listeners.delete(listener);
    },
    () => token,
  );
}
/** A token works once; afterwards it is only a secret lying around. */
export function forgetToken(): void {
  token = null;
}
