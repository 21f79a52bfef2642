import { clsx } from "clsx";
import { type ReactNode, useEffect } from "react";

export interface PageProps {
  title: ReactNode;
  /** One sentence: what the page is for. */
  lead?: ReactNode;
  action?: ReactNode;
  children: ReactNode;
  /** Tables may use the whole width. */
  wide?: boolean;
  /** The tab's title where `title` is not plain text. */
  name?: string;
  /** A link or trail above the title. */
  above?: ReactNode;
}
export function Page({ title, lead, action, children, wide = false, name, above }: PageProps) {
  useTitle(name ?? (typeof title === "string" ? title : undefined));
  return (
    <div className={clsx("mx-auto w-full px-4 py-6 sm:px-8 sm:py-8", wide ? "max-w-none" : "max-w-[1280px]")}>
      {above !== undefined && <div className="mb-2 text-xs text-ink-3">{above}</div>}
      <header className="mb-6 flex flex-wrap items-start justify-between gap-x-6 gap-y-3">
        <div className="min-w-0 flex-1 basis-64">
          <h1 className="text-xl leading-7 font-semibold tracking-[-0.01em] text-ink [overflow-wrap:anywhere]">
            {title}
          </h1>
          {lead !== undefined && lead !== "" && <p className="mt-1 max-w-[68ch] text-ink-2">{lead}</p>}
        </div>
        {action !== undefined && <div className="flex flex-wrap items-center gap-2">{action}</div>}
      </header>
      {children}
    </div>
  );
}

/** The tab's title: the page first, so that many tabs can be told apart. */
export function useTitle(title: string | undefined): void {
  useEffect(() => {
    if (title === undefined) return;
    const before = document.title;
    document.title = title;
    return () => {
      document.title = before;
    };
  }, [title]);
}

/** A part of a page with a heading of its own. */
export function Section({
  title,
  lead,
  action,
  children,
  className,
}: Omit<PageProps, "wide"> & { className?: string }) {
  return (
    <section className={clsx("mt-8 first:mt-0", className)}>
      <div className="mb-3 flex flex-wrap items-center justify-between gap-x-4 gap-y-2">
        <div className="min-w-0">
          <h2 className="font-semibold text-ink">{title}</h2>
          {lead !== undefined && lead !== "" && <p className="mt-0.5 text-xs text-ink-3">{lead}</p>}
        </div>
        {action}
      </div>
      {children}
    </section>
  );
}

export interface CardProps {
  title?: ReactNode;
  action?: ReactNode;
  children?: ReactNode;
  className?: string | undefined;
  /** No inner space: for tables and lists that bring their own. */
  flush?: boolean;
}
export function Card({ title, action, children, className, flush = false }: CardProps) {
  return (
    <section className={clsx("min-w-0 rounded-card border border-line bg-surface", className)}>
      {title !== undefined && (
        <div className="flex min-h-12 flex-wrap items-center justify-between gap-x-4 gap-y-1 border-b border-line px-4 py-2">
          <h2 className="font-semibold text-ink">{title}</h2>
          {action}
        </div>
      )}
      <div className={clsx("min-w-0", !flush && "p-4")}>{children}</div>
    </section>
  );
}

export type Tone = "ok" | "warn" | "bad" | "info" | "refund" | "neutral";
export const toneText: Record<Tone, string> = {
  ok: "text-ok",
  warn: "text-warn",
  bad: "text-bad",
  info: "text-info",
  refund: "text-refund",
  neutral: "text-ink-3",
};

export interface StatProps {
  label: ReactNode;
  value: ReactNode;
  hint?: ReactNode;
  tone?: Tone;
}
/** A number with its name and what it means. */
export function Stat({ label, value, hint, tone = "neutral" }: StatProps) {
  return (
    <div className="plain-num @container min-w-0">
      <div className="text-xs text-ink-3">{label}</div>
      <div
        className={clsx(
          "mt-1 text-[clamp(13px,10.2cqi,20px)] leading-7 font-semibold max-sm:text-[clamp(13px,10.2cqi,16px)] [overflow-wrap:anywhere]",
          tone === "neutral" ? "text-ink" : toneText[tone],
        )}
      >
        {value}
      </div>
      {hint !== undefined && <div className="mt-0.5 min-h-5 text-xs leading-5 text-ink-3">{hint}</div>}
    </div>
  );
}
/** Stats side by side with hairlines between them. */
export function Stats({ children, className }: { children: ReactNode; className?: string }) {
  return (
    <div
      className={clsx(
        "grid grid-cols-2 gap-px overflow-hidden rounded-card border border-line bg-line max-lg:[&>*:last-child:nth-child(odd)]:col-span-2 lg:grid-flow-col lg:auto-cols-fr lg:grid-cols-none [&>*]:bg-surface [&>*]:p-4",
        className,
      )}
    >
      {children}
    </div>
  );
}
