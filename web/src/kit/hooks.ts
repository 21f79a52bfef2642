import { useEffect, useState, useSyncExternalStore } from "react";

/** Follows a media query; `useMedia(PHONE)` is true below 640 px. */
export const PHONE = "(max-width: 639.98px)";
export function useMedia(query: string): boolean {
  return useSyncExternalStore(
    (listener) => {
      const media = matchMedia(query);
      media.addEventListener("change", listener);
      return () => media.removeEventListener("change", listener);
    },
    () => matchMedia(query).matches,
    // Where there is no window, in tests of markup.
    () => false,
  );
}
export function usePhone(): boolean {
  return useMedia(PHONE);
}

/** One clock for all relative times on the page. */
const TICK_MS = 15_000;
let now = Date.now();
let timer: ReturnType<typeof setInterval> | undefined;
const watchers = new Set<() => void>();
// Both functions stand here, outside: a new one at each drawing would be subscribed anew each time, and with the last
// watcher gone for that moment the clock would be set again, which draws again, without end.
function watch(listener: () => void): () => void {
  watchers.add(listener);
  timer ??= setInterval(() => {
    now = Date.now();
    for (const watcher of watchers) watcher();
  }, TICK_MS);
  return () => {
    watchers.delete(listener);
    if (watchers.size === 0) {
      clearInterval(timer);
      timer = undefined;
    }
  };
}
function reading(): number {
  // Hidden for a while: the clock is set when the page is visible again.
  if (timer === undefined && Math.abs(Date.now() - now) > TICK_MS) now = Date.now();
  return now;
}
export function useNow(): number {
  return useSyncExternalStore(watch, reading);
}

/** The value once it has been still for `ms`: for filters one types into. */
export function useSettled<T>(value: T, ms = 250): T {
  const [settled, setSettled] = useState(value);
  useEffect(() => {
    const wait = setTimeout(() => setSettled(value), ms);
    return () => clearTimeout(wait);
  }, [value, ms]);
  return settled;
}

/** A choice this browser remembers. */
export function useRemembered<T>(name: string, first: T): [T, (next: T) => void] {
  const [value, setValue] = useState<T>(() => {
    try {
      const raw = localStorage.getItem(`trunkline.${name}`);
      return raw === null ? first : (JSON.parse(raw) as T);
    } catch {
      return first;
    }
  });
  return [
    value,
    (next) => {
      setValue(next);
      try {
        localStorage.setItem(`trunkline.${name}`, JSON.stringify(next));
      } catch {
        // A browser that keeps nothing forgets the choice with the page.
      }
    },
  ];
}
