/** The last runs of this tab, with what was promised and what it cost. */
import { Ban, CircleAlert, CircleCheck, CircleDashed } from "lucide-react";
import { Badge, Button, Link, Money, When } from "@/kit";
import { useTexts } from "@/text";
import { type PastRun, useRuns } from "./sessionHistory";
import { playgroundTexts } from "./texts";

export function HistoryTab({ onUse }: { onUse: (run: PastRun) => void }) {
  const t = useTexts(playgroundTexts);
  const runs = useRuns();
  if (runs.length === 0) return <p className="py-6 text-center text-ink-3">{t.historyEmpty}</p>;
  return (
    <ul className="divide-y divide-line border-y border-line">
      {runs.map((run) => (
        <li key={run.id} className="flex flex-wrap items-center gap-x-4 gap-y-1.5 py-2.5">
          <State state={run.state} />
          <span className="min-w-0 flex-1 basis-40">
            <span className="block truncate text-ink">
              {t.tasks[run.task]} <span className="num text-ink-2">{run.name}</span>
            </span>
            <span className="text-xs text-ink-3">
              <When at={run.at} />
              {run.requestId !== null && (
                <>
                  {" · "}
                  <Link href={`/logs/${encodeURIComponent(run.requestId)}`} className="text-accent-ink hover:underline">
                    {t.receipt}
                  </Link>
                </>
              )}
            </span>
          </span>
          <span className="text-right">
            {run.costUsd !== null && <Money usd={run.costUsd} kind="call" className="block font-medium text-ink" />}
            {run.quotedUsd !== null && (
              <span className="block text-xs text-ink-3">
                {t.quoted} <Money usd={run.quotedUsd} kind="call" />
              </span>
            )}
          </span>
          <Button size="small" onClick={() => onUse(run)}>
            {t.historyUse}
          </Button>
        </li>
      ))}
    </ul>
  );
}

function State({ state }: { state: PastRun["state"] }) {
  const t = useTexts(playgroundTexts);
  const tone = { running: "info", done: "ok", failed: "bad", stopped: "neutral" } as const;
  const icon = {
    running: <CircleDashed aria-hidden />,
    done: <CircleCheck aria-hidden />,
    failed: <CircleAlert aria-hidden />,
    stopped: <Ban aria-hidden />,
  }[state];
  return (
    <Badge tone={tone[state]} icon={icon}>
      {t.historyOutcome[state]}
    </Badge>
  );
}
