import { clsx } from "clsx";
import { CircleAlert, CloudOff, RotateCw } from "lucide-react";
import type { ReactNode } from "react";
import { ApiError } from "@/api";
import { Link } from "@/app/nav";
import { useTexts } from "@/text";
import { Button } from "./Button";
import { sentence } from "./format";
import { kitTexts } from "./texts";
import { Id } from "./values";

export interface EmptyProps {
  title: ReactNode;
  /** What will appear here. */
  text?: ReactNode;
  /** The one action that makes it appear. */
  action?: ReactNode;
  icon?: ReactNode;
  className?: string;
}
export function Empty({ title, text, action, icon, className }: EmptyProps) {
  return (
    <div className={clsx("flex flex-col items-center px-6 py-12 text-center", className)}>
      {icon !== undefined && (
        <div className="mb-3 flex size-10 items-center justify-center rounded-card bg-sunken text-ink-3 [&_svg]:size-5">
          {icon}
        </div>
      )}
      <p className="font-semibold text-ink">{title}</p>
      {text !== undefined && <div className="mt-1 max-w-[52ch] text-ink-2">{text}</div>}
      {action !== undefined && <div className="mt-4 flex max-w-full flex-wrap justify-center gap-2">{action}</div>}
    </div>
  );
}

export interface ProblemProps {
  error: unknown;
  retry?: (() => void) | undefined;
  /** One line instead of a block: inside forms and panels. */
  compact?: boolean;
  className?: string;
}
/** What happened, whether anything was charged, the request id, a retry, and where it is explained. */
export function Problem({ error, retry, compact = false, className }: ProblemProps) {
  const t = useTexts(kitTexts);
  const known = error instanceof ApiError ? error : null;
  const away = known !== null && known.status === 0;
  const message = away ? t.offline : known === null ? t.unexpected : sentence(known.message);
  const charged = known === null || away ? null : known.charged;
  return (
    <div
      role="alert"
      className={clsx(
        "min-w-0 rounded-card border border-bad-line/40 bg-bad-soft text-ink",
        compact ? "px-3 py-2 text-[13px]" : "p-4",
        className,
      )}
    >
      <div className="flex items-start gap-2.5">
        <span className="mt-0.5 text-bad [&_svg]:size-4">
          {away ? <CloudOff aria-hidden /> : <CircleAlert aria-hidden />}
        </span>
        <div className="min-w-0 flex-1">
          <p className="font-medium [overflow-wrap:anywhere]">{message}</p>
          <div className="mt-1 flex flex-wrap items-center gap-x-3 gap-y-1 text-xs text-ink-2">
            {charged !== null && <span>{charged ? t.charged : t.notCharged}</span>}
            {known?.requestId != null && (
              <span className="inline-flex items-center gap-1">
                {t.requestId} <Id value={known.requestId} />
              </span>
            )}
            {known?.docUrl != null && (
              <Link href={known.docUrl} className="text-accent-ink underline underline-offset-2">
                {t.explain}
              </Link>
            )}
          </div>
          {retry !== undefined && (
            <Button size="small" className="mt-3" icon={<RotateCw aria-hidden />} onClick={retry}>
              {t.retry}
            </Button>
          )}
        </div>
      </div>
    </div>
  );
}

/** One line of text that is not here yet. */
export function Skeleton({ className }: { className?: string }) {
  return <div aria-hidden className={clsx("skeleton h-4", className)} />;
}
export function SkeletonText({ lines = 3 }: { lines?: number }) {
  const widths = ["w-full", "w-5/6", "w-2/3"];
  return (
    <div className="space-y-2" aria-hidden>
      {Array.from({ length: lines }, (_, index) => (
        // biome-ignore lint/suspicious/noArrayIndexKey: rows without anything in them have no other name
        <Skeleton key={index} className={widths[index % widths.length] ?? ""} />
      ))}
    </div>
  );
}
export function SkeletonStat() {
  return (
    <div aria-hidden>
      <Skeleton className="h-3! w-20" />
      <Skeleton className="mt-2.5 h-5! w-28" />
      <Skeleton className="mt-2.5 h-3! w-24" />
    </div>
  );
}
export function SkeletonRows({ rows = 8, height = 36 }: { rows?: number; height?: number }) {
  return (
    <div aria-hidden>
      {Array.from({ length: rows }, (_, index) => (
        // biome-ignore lint/suspicious/noArrayIndexKey: rows without anything in them have no other name
        <div key={index} style={{ height }} className="flex items-center gap-4 border-b border-line px-4 last:border-0">
          <Skeleton className="h-3.5! w-1/4" />
          <Skeleton className="h-3.5! w-1/3" />
          <Skeleton className="ml-auto h-3.5! w-16" />
        </div>
      ))}
    </div>
  );
}
export function SkeletonChart({ height = 220 }: { height?: number }) {
  return (
    <div aria-hidden style={{ height }} className="flex items-end gap-2">
      {Array.from({ length: 14 }, (_, index) => (
        // biome-ignore lint/suspicious/noArrayIndexKey: bars without anything in them have no other name
        <div key={index} className="skeleton flex-1" style={{ height: `${30 + ((index * 37) % 55)}%` }} />
      ))}
    </div>
  );
}

export interface ProgressProps {
  /** 0 to 1; null when progress is unknown. */
  value: number | null;
  label: string;
  tone?: "accent" | "ok" | "warn" | "bad";
  className?: string;
}
export function Progress({ value, label, tone = "accent", className }: ProgressProps) {
  const share = value === null ? null : Math.min(Math.max(value, 0), 1);
  const colour = { accent: "bg-accent", ok: "bg-ok-line", warn: "bg-warn-line", bad: "bg-bad-line" }[tone];
  return (
    <div
      role="progressbar"
      aria-label={label}
      aria-valuemin={0}
      aria-valuemax={100}
      aria-valuenow={share === null ? undefined : Math.round(share * 100)}
      className={clsx("h-1.5 w-full overflow-hidden rounded-full bg-sunken", className)}
    >
      <div
        className={clsx("h-full rounded-full", colour, share === null && "w-1/3 animate-pulse")}
        style={share === null ? undefined : { width: `${share * 100}%`, minWidth: share > 0 ? 3 : 0 }}
      />
    </div>
  );
}
