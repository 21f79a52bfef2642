import { clsx } from "clsx";
import type { TaskDetail } from "@/api";
import { Money, When } from "@/kit";
import { duration } from "@/kit/format";
import { locale, useLanguage, useTexts } from "@/text";
import { inOrder } from "./logic";
import { taskTexts } from "./texts";

type What = TaskDetail["timeline"][number]["what"];

const dots: Record<What, string> = {
  submitted: "bg-ink-3",
  held: "bg-warn-line",
  sent: "bg-info-line",
  started: "bg-info-line",
  finished: "bg-ok-line",
  failed: "bg-bad-line",
  cancelled: "bg-ink-3",
  charged: "bg-ok-line",
  refunded: "bg-refund-line",
  mirrored: "bg-ok-line",
  expired: "bg-ink-3",
};

/** What happened to a task, oldest first, and what comes next while it runs. */
export function Timeline({ task }: { task: TaskDetail }) {
  const t = useTexts(taskTexts);
  const lang = locale(useLanguage());
  const steps = inOrder(task.timeline);
  const first = steps[0];
  const next = task.state === "queued" || task.state === "in_progress" ? t.next[task.state] : null;
  return (
    <ol className="text-[13px]">
      {steps.map((step, at) => {
        const after = first === undefined ? 0 : Date.parse(step.at) - Date.parse(first.at);
        const isLast = at === steps.length - 1 && next === null;
        return (
          // biome-ignore lint/suspicious/noArrayIndexKey: steps never change places
          <li key={at} className="relative flex gap-3 pb-3 last:pb-0">
            {!isLast && <span aria-hidden className="absolute top-3 bottom-[-8px] left-[4.5px] w-px bg-line" />}
            <span
              aria-hidden
              className={clsx("relative mt-[5px] size-2.5 shrink-0 rounded-full ring-4 ring-surface", dots[step.what])}
            />
            <div className="min-w-0 flex-1">
              <div className="flex items-baseline gap-3">
                <span className="min-w-0 flex-1 text-ink">
                  {t.what[step.what]}
                  {step.amount_usd !== null && (
                    <>
                      {" "}
                      <Money usd={step.amount_usd} kind="call" />
                    </>
                  )}
                </span>
                <span className="shrink-0 text-xs text-ink-3">
                  {at === 0 ? (
                    <When at={step.at} />
                  ) : (
                    <span data-tip={step.at}>{after < 1000 ? t.atOnce : t.after(duration(after, lang))}</span>
                  )}
                </span>
              </div>
              {step.text !== null && step.text !== "" && (
                <p className="line-clamp-4 [overflow-wrap:anywhere] text-ink-2">{step.text}</p>
              )}
            </div>
          </li>
        );
      })}
      {next !== null && (
        <li className="flex gap-3">
          <span aria-hidden className="mt-[5px] size-2.5 shrink-0 rounded-full border-2 border-line-strong" />
          <span className="text-ink-3">{next}</span>
        </li>
      )}
    </ol>
  );
}
