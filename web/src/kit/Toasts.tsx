import { CircleAlert, CircleCheck, X } from "lucide-react";
import { useSyncExternalStore } from "react";
import { useTexts } from "@/text";
import { IconButton } from "./Button";
import { kitTexts } from "./texts";

interface Toast {
  id: number;
  text: string;
  tone: "ok" | "bad";
}
const SHOWN_MS = 5000;
const AT_ONCE = 4;
let toasts: readonly Toast[] = [];
let last = 0;
const listeners = new Set<() => void>();
function put(next: readonly Toast[]): void {
  toasts = next;
  for (const listener of listeners) listener();
}

/** A word about something that was done. Never for what must be read: that belongs on the page. */
export function toast(text: string, tone: "ok" | "bad" = "ok"): void {
  last += 1;
  const id = last;
  put([...toasts, { id, text, tone }].slice(-AT_ONCE));
  setTimeout(() => put(toasts.filter((one) => one.id !== id)), SHOWN_MS);
}

export function Toasts() {
  const t = useTexts(kitTexts);
  const shown = useSyncExternalStore(
    (listener) => {
      listeners.add(listener);
      return () => listeners.delete(listener);
    },
    () => toasts,
  );
  return (
    <section
      aria-label={t.notifications}
      aria-live="polite"
      className="pointer-events-none fixed inset-x-4 bottom-20 z-60 flex flex-col items-center gap-2 sm:bottom-6"
    >
      {shown.map((one) => (
        <div
          key={one.id}
          className="anim-rise pointer-events-auto flex max-w-md items-center gap-2.5 rounded-card border border-line bg-surface py-1.5 pr-1.5 pl-3 text-ink shadow-raised [&_svg]:size-4 [&_svg]:shrink-0"
        >
          {one.tone === "ok" ? (
            <CircleCheck aria-hidden className="text-ok" />
          ) : (
            <CircleAlert aria-hidden className="text-bad" />
          )}
          <span className="min-w-0 [overflow-wrap:anywhere]">{one.text}</span>
          <IconButton
            label={t.dismiss}
            icon={<X aria-hidden />}
            onClick={() => put(toasts.filter((other) => other.id !== one.id))}
            className="size-7!"
          />
        </div>
      ))}
    </section>
  );
}
