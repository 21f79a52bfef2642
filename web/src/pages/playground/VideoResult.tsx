/** A video on its way: where the money is, how far it is, and the video itself. */
import { useQuery } from "@tanstack/react-query";
import { Ban, CircleAlert, CircleCheck, CircleDashed, Clock, Coins, Download, Undo2 } from "lucide-react";
import type { ReactNode } from "react";
import { api, problemOf, type TaskDetail } from "@/api";
import { Badge, Button, format, Money, Problem, Progress, type Tone, When } from "@/kit";
import { locale, useLanguage, useTexts } from "@/text";
import { withDocs } from "./dataPlaneClient";
import { savingUrl } from "./links";
import type { VideoTask } from "./run";
import { playgroundTexts } from "./texts";

type Step = TaskDetail["timeline"][number];

const STEP_TONE: Record<Step["what"], string> = {
  submitted: "text-ink-3",
  held: "text-warn",
  sent: "text-info",
  started: "text-info",
  finished: "text-ok",
  failed: "text-bad",
  cancelled: "text-ink-3",
  charged: "text-ok",
  refunded: "text-refund",
  mirrored: "text-ok",
  expired: "text-warn",
};
const STEP_ICON: Record<Step["what"], ReactNode> = {
  submitted: <CircleDashed aria-hidden />,
  held: <Coins aria-hidden />,
  sent: <CircleDashed aria-hidden />,
  started: <CircleDashed aria-hidden />,
  finished: <CircleCheck aria-hidden />,
  failed: <CircleAlert aria-hidden />,
  cancelled: <Ban aria-hidden />,
  charged: <Coins aria-hidden />,
  refunded: <Undo2 aria-hidden />,
  mirrored: <Download aria-hidden />,
  expired: <Clock aria-hidden />,
};
const STATE_TONE: Record<VideoTask["status"], Tone> = {
  queued: "warn",
  in_progress: "info",
  completed: "ok",
  failed: "bad",
  cancelled: "neutral",
};

/** What this page saw itself, where the task's own history cannot be had. */
export function seenSteps(task: VideoTask): Step[] {
  const at = new Date(task.created_at * 1000).toISOString();
  const cost = task.metadata?.cost_usd ?? null;
  const steps: Step[] = [{ at, what: "held", amount_usd: cost, text: null }];
  if (task.status === "queued") return steps;
  steps.push({ at, what: "started", amount_usd: null, text: null });
  const end = new Date((task.completed_at ?? task.created_at) * 1000).toISOString();
  if (task.status === "completed") {
    steps.push(
      { at: end, what: "finished", amount_usd: null, text: null },
      { at: end, what: "charged", amount_usd: cost, text: null },
    );
  } else if (task.status !== "in_progress") {
    steps.push(
      { at: end, what: task.status, amount_usd: null, text: null },
      { at: end, what: "refunded", amount_usd: cost, text: null },
    );
  }
  return steps;
}

export function VideoResult({ task, prompt, running }: { task: VideoTask; prompt: string; running: boolean }) {
  const t = useTexts(playgroundTexts);
  const language = useLanguage();
  const detail = useQuery({
    queryKey: ["task", task.id, task.status],
    queryFn: ({ signal }) => api.get<TaskDetail>(`/api/tasks/${encodeURIComponent(task.id)}`, { signal }),
    refetchInterval: running ? 2_000 : false,
    retry: false,
  });
  const steps = detail.data?.timeline ?? seenSteps(task);
  const url = task.metadata?.url;
  const percent = format.count(task.progress, locale(language));
  const estimate = detail.data?.progress_is_estimate === true;
  return (
    <div className="space-y-4">
      {task.status === "completed" && url !== undefined && (
        // biome-ignore lint/a11y/useMediaCaption: a video that was just made has none
        <video
          controls
          playsInline
          src={url}
          aria-label={t.videoAlt(prompt)}
          className="max-h-[480px] w-full rounded-card bg-sunken"
        />
      )}
      <div className="flex flex-wrap items-center gap-3">
        <Badge tone={STATE_TONE[task.status]}>{t.states[task.status]}</Badge>
        {running && (
          <span className="flex min-w-40 flex-1 items-center gap-3">
            <Progress value={task.progress / 100} label={t.progress(percent)} />
            <span className="num shrink-0 text-xs text-ink-2">
              {estimate ? t.progressEstimate(percent) : t.progress(percent)}
            </span>
          </span>
        )}
        {url !== undefined && task.status === "completed" && (
          <a
            href={savingUrl(url)}
            download
            rel="noreferrer"
            className="inline-flex items-center gap-1.5 text-accent-ink hover:underline"
          >
            <Download aria-hidden className="size-4" />
            {t.download}
          </a>
        )}
        <Button size="small" href={`/tasks/${encodeURIComponent(task.id)}`} className="ml-auto">
          {t.openTask}
        </Button>
      </div>
      {running && <p className="text-ink-2">{t.leave}</p>}
      {task.error != null && (
        <Problem error={withDocs(problemOf(502, { error: { ...task.error, charged: false, retryable: true } }))} />
      )}
      <Timeline steps={steps} />
    </div>
  );
}

function Timeline({ steps }: { steps: Step[] }) {
  const t = useTexts(playgroundTexts);
  return (
    <section aria-label={t.timeline}>
      <h3 className="mb-2 text-xs font-medium text-ink-3">{t.timeline}</h3>
      <ol className="space-y-2">
        {steps.map((step, index) => (
          // biome-ignore lint/suspicious/noArrayIndexKey: steps are only ever added at the end
          <li key={index} className="flex flex-wrap items-center gap-x-3 gap-y-0.5">
            <span className={`[&_svg]:size-4 ${STEP_TONE[step.what]}`}>{STEP_ICON[step.what]}</span>
            <span className="min-w-36 text-ink">{t.timelineSteps[step.what]}</span>
            {step.amount_usd !== null && <Money usd={step.amount_usd} kind="call" />}
            <span className="text-xs text-ink-3">
              <When at={step.at} />
            </span>
            {step.text !== null && (
              <span className="basis-full pl-7 text-[13px] [overflow-wrap:anywhere] text-ink-2">{step.text}</span>
            )}
          </li>
        ))}
      </ol>
    </section>
  );
}
