/** Small pieces of the panels that show one call or one task. */
import { clsx } from "clsx";
import type { ReactNode } from "react";
import { type Column, Skeleton } from "@/kit";

export function PanelSection({ title, aside, children }: { title: ReactNode; aside?: ReactNode; children: ReactNode }) {
  return (
    <section className="border-t border-line pt-4 pb-5 last:pb-0">
      <div className="mb-2.5 flex min-h-6 flex-wrap items-center justify-between gap-x-4 gap-y-0.5">
        <h3 className="font-semibold text-ink">{title}</h3>
        {aside !== undefined && <div className="min-w-0 text-xs [overflow-wrap:anywhere] text-ink-3">{aside}</div>}
      </div>
      {children}
    </section>
  );
}

export interface Fact {
  name: string;
  value: ReactNode;
}
export function Facts({ facts, className }: { facts: readonly Fact[]; className?: string }) {
  return (
    <dl className={clsx("grid grid-cols-1 gap-x-6 gap-y-1.5 sm:grid-cols-2", className)}>
      {facts.map((fact) => (
        <div key={fact.name} className="flex min-h-6 min-w-0 items-baseline gap-3">
          <dt className="w-28 shrink-0 text-xs leading-5 text-ink-3">{fact.name}</dt>
          <dd className="min-w-0 flex-1 [overflow-wrap:anywhere] text-ink">{fact.value}</dd>
        </div>
      ))}
    </dl>
  );
}

/** The sentence a panel begins with: what happened, then what became of the money. */
export function Verdict({
  icon,
  said,
  money,
  tone,
}: {
  icon: ReactNode;
  said: string;
  money: ReactNode;
  tone: "ok" | "bad" | "warn" | "info" | "refund" | "neutral";
}) {
  const colour = {
    ok: "text-ok",
    bad: "text-bad",
    warn: "text-warn",
    info: "text-info",
    refund: "text-refund",
    neutral: "text-ink-3",
  }[tone];
  return (
    <div className="mb-5 flex items-start gap-3">
      <span className={clsx("mt-0.5 [&_svg]:size-5", colour)}>{icon}</span>
      <p className="min-w-0 text-base leading-6 text-ink">
        <span className="font-semibold">{said}</span> <span className="text-ink-2">{money}</span>
      </p>
    </div>
  );
}

export function PanelSkeleton() {
  return (
    <div aria-hidden>
      <Skeleton className="h-6! w-3/4" />
      <div className="mt-6 grid grid-cols-1 gap-3 sm:grid-cols-2">
        {["a", "b", "c", "d", "e", "f"].map((name) => (
          <Skeleton key={name} className="w-5/6" />
        ))}
      </div>
      {["a", "b", "c"].map((name) => (
        <div key={name} className="mt-6 border-t border-line pt-4">
          <Skeleton className="w-24" />
          <Skeleton className="mt-4 w-full" />
          <Skeleton className="mt-2.5 w-full" />
          <Skeleton className="mt-2.5 w-2/3" />
        </div>
      ))}
    </div>
  );
}

/** A name that would be wider than this is cut off, and shown whole on hover. */
const TIP_FROM = 20;

/** Text that asks for no width of its own: its column gets what the others leave, and the end is dots. */
export function Clip({ text, className }: { text: string; className?: string }) {
  return (
    <span
      className={clsx("block w-0 min-w-full truncate", className)}
      data-tip={text.length > TIP_FROM ? text : undefined}
    >
      {text}
    </span>
  );
}

/** On a card the facts speak for themselves: a badge, an amount, a time. */
export function quietHeads<T>(columns: Column<T>[]): Column<T>[] {
  return columns.map((column) => ({ ...column, bare: true }));
}
