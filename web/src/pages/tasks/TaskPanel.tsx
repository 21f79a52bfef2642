import { useQuery, useQueryClient } from "@tanstack/react-query";
import { Ban, CircleAlert, Download, Play } from "lucide-react";
import { useState } from "react";
import { api, type TaskDetail } from "@/api";
import { useRight } from "@/app/session";
import { Button, Confirm, Copy, Id, Link, Problem, SidePanel, toast, useGo, useParam, useSearch, When } from "@/kit";
import { bytes, exactTime, money } from "@/kit/format";
import { isNothing } from "@/kit/records/money";
import { Facts, PanelSection, PanelSkeleton, Verdict } from "@/kit/records/parts";
import { recordTexts } from "@/kit/records/texts";
import { locale, useLanguage, useTexts } from "@/text";
import { fileName, isRunning, moneyState, reservedUsd, waitBeforeAsking, wouldGoBack } from "./logic";
import { StateBadge, stateLook, TaskProgress } from "./pieces";
import { Timeline } from "./Timeline";
import { taskTexts } from "./texts";

/** One task from asked to charged or refunded, beside the others. */
export default function TaskPanel() {
  const t = useTexts(taskTexts);
  const go = useGo();
  const id = useParam("id");
  const [search] = useSearch();
  const { data, error, refetch } = useQuery({
    queryKey: ["tasks", "one", id],
    queryFn: ({ signal }) => api.get<TaskDetail>(`/api/tasks/${encodeURIComponent(id)}`, { signal }),
    refetchInterval: (query) => {
      const task = query.state.data;
      return waitBeforeAsking(task !== undefined && isRunning(task), query.state.dataUpdateCount);
    },
  });
  return (
    <SidePanel
      title={t.panel}
      onClose={() => go("/tasks", search)}
      lead={
        <>
          <Id value={id} head={14} tail={6} />
          {data !== undefined && <StateBadge state={data.state} />}
        </>
      }
      footer={data !== undefined && <Footer task={data} />}
    >
      {error !== null && data === undefined ? (
        <Problem error={error} retry={() => void refetch()} />
      ) : data === undefined ? (
        <PanelSkeleton />
      ) : (
        <Whole task={data} />
      )}
    </SidePanel>
  );
}

function Whole({ task }: { task: TaskDetail }) {
  const t = useTexts(taskTexts);
  return (
    <>
      <Said task={task} />
      {isRunning(task) && (
        <div className="mb-5">
          <TaskProgress task={task} />
          <p className="mt-1 text-xs text-ink-3">{t.leave}</p>
        </div>
      )}
      {task.error !== null && <Failure task={task} />}
      {task.media !== null && <VideoPlayer task={task} />}
      <TaskFacts task={task} />
      <PanelSection title={t.timeline}>
        <Timeline task={task} />
      </PanelSection>
      <PanelSection title={t.prompt} {...(task.prompt === null ? {} : { aside: <Copy text={task.prompt} /> })}>
        {task.prompt === null ? (
          <p className="text-[13px] text-ink-2">{t.promptNone}</p>
        ) : (
          // biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls must be reachable by keyboard
          <p tabIndex={0} className="max-h-60 overflow-y-auto [overflow-wrap:anywhere] whitespace-pre-wrap text-ink">
            {task.prompt}
          </p>
        )}
      </PanelSection>
      <PanelSection title={t.settings}>
        {task.settings.length === 0 ? (
          <p className="text-[13px] text-ink-2">{t.settingsNone}</p>
        ) : (
          <dl className="text-[13px]">
            {task.settings.map((one) => (
              <div key={one.name} className="flex gap-4 border-b border-line py-1.5 first:pt-0 last:border-b-0">
                <dt className="num w-1/3 shrink-0 [overflow-wrap:anywhere] text-ink-3">{one.name}</dt>
                <dd className="num min-w-0 flex-1 [overflow-wrap:anywhere] text-ink">{one.value}</dd>
              </div>
            ))}
          </dl>
        )}
      </PanelSection>
    </>
  );
}

function Said({ task }: { task: TaskDetail }) {
  const t = useTexts(taskTexts);
  const state = moneyState(task);
  const amount = money(task.cost_usd, "call");
  const back = money(task.refunded_usd, "call");
  const reserved = reservedUsd(task);
  const words = {
    reserved: reserved === null ? t.paid.reservedUnknown : t.paid.reserved(money(reserved, "call")),
    charged: t.paid.charged(amount),
    refunded: t.paid.refunded(back),
    partly_refunded: t.paid.partly(amount, back),
    free: t.paid.free,
  }[state];
  const look = stateLook(task.state);
  return <Verdict icon={look.icon} tone={look.tone} said={t.said[task.state]} money={words} />;
}

/** The provider's own words, what became of the money, and where the cure stands. */
function Failure({ task }: { task: TaskDetail }) {
  const t = useTexts(taskTexts);
  if (task.error === null) return null;
  return (
    <div className="mb-5 rounded-card border border-bad-line/40 bg-bad-soft p-4 text-[13px]">
      <p className="flex items-center gap-2 font-medium text-ink">
        <CircleAlert aria-hidden className="size-4 shrink-0 text-bad" />
        {t.error}
      </p>
      {/* biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls must be reachable by keyboard */}
      <blockquote tabIndex={0} className="mt-1.5 max-h-48 overflow-y-auto [overflow-wrap:anywhere] text-ink">
        {task.error.message}
      </blockquote>
      <p className="mt-2 flex flex-wrap gap-x-3 gap-y-1 text-ink-2">
        <span>{isNothing(task.refunded_usd) ? t.errorFree : t.errorRefund(money(task.refunded_usd, "call"))}</span>
        <Link
          href={`/docs/errors#${encodeURIComponent(task.error.code)}`}
          className="text-accent-ink underline underline-offset-2"
        >
          {t.errorFix}
        </Link>
      </p>
    </div>
  );
}

function VideoPlayer({ task }: { task: TaskDetail }) {
  const t = useTexts(taskTexts);
  const lang = locale(useLanguage());
  const [broken, setBroken] = useState(false);
  const media = task.media;
  if (media === null) return null;
  const over = Date.parse(media.expires_at) < Date.now();
  const until = exactTime(media.expires_at, lang);
  return (
    <div className="mb-5">
      {broken || over ? (
        <p className="rounded-card border border-line bg-sunken px-4 py-10 text-center text-[13px] text-ink-2">
          {over ? t.keptOver(until) : t.cannotPlay}
        </p>
      ) : (
        // biome-ignore lint/a11y/useMediaCaption: generated videos have no captions to show
        <video
          src={media.url}
          controls
          playsInline
          preload="metadata"
          aria-label={t.player}
          onError={() => setBroken(true)}
          className="aspect-video w-full rounded-card bg-black"
        />
      )}
      {!over && (
        <div className="mt-3 flex flex-wrap items-center gap-x-4 gap-y-2">
          <a
            // The file says itself that it is to be saved, and as what: it has another address than this page.
            href={media.download_url}
            download={fileName(task)}
            className="inline-flex h-9 items-center gap-2 rounded-card bg-accent px-3.5 font-medium text-on-accent hover:bg-accent-hover"
          >
            <Download aria-hidden className="size-4" />
            {t.download(media.bytes === null ? "" : bytes(media.bytes, lang))}
          </a>
          <span className="min-w-0 flex-1 basis-48 text-xs text-ink-3">{t.kept(until)}</span>
        </div>
      )}
    </div>
  );
}

function TaskFacts({ task }: { task: TaskDetail }) {
  const t = useTexts(taskTexts);
  const r = useTexts(recordTexts);
  const link = "text-accent-ink hover:underline";
  const facts = [
    {
      name: t.facts.model,
      value: (
        <Link className={link} href={`/catalog/${encodeURIComponent(task.model)}`}>
          {task.model}
        </Link>
      ),
    },
    ...(task.family === null ? [] : [{ name: t.facts.family, value: task.family }]),
    {
      name: t.facts.key,
      value:
        task.key_id === null ? (
          r.noKey
        ) : (
          <Link className={link} href={`/keys/${task.key_id}`}>
            {task.key_name ?? `#${task.key_id}`}
          </Link>
        ),
    },
    {
      name: t.facts.request,
      value: (
        <Link className={link} href={`/logs/${encodeURIComponent(task.request_id)}`}>
          {t.seeCall}
        </Link>
      ),
    },
    { name: t.facts.submitted, value: <When at={task.created_at} /> },
    ...(task.ended_at === null ? [] : [{ name: t.facts.ended, value: <When at={task.ended_at} /> }]),
  ];
  return <Facts facts={facts} className="pb-5" />;
}

function Footer({ task }: { task: TaskDetail }) {
  const t = useTexts(taskTexts);
  const client = useQueryClient();
  const mayCancel = useRight("tasks.write");
  const mayMake = useRight("playground");
  const [asking, setAsking] = useState(false);
  const back = wouldGoBack(task);
  const cancel = async () => {
    const after = await api.post<TaskDetail>(`/api/tasks/${encodeURIComponent(task.id)}/cancel`);
    // A question that was on its way may still bring the state before.
    await client.cancelQueries({ queryKey: ["tasks", "one", task.id] });
    client.setQueryData(["tasks", "one", task.id], after);
    void client.invalidateQueries({ queryKey: ["tasks", "list"] });
    void client.invalidateQueries({ queryKey: ["wallet"] });
    toast(isNothing(after.refunded_usd) ? t.cancelDoneFree : t.cancelDone(money(after.refunded_usd, "call")));
  };
  return (
    <>
      <Copy word text={JSON.stringify(task, null, 2)} label={t.json} className="h-9! text-sm!" />
      {mayMake && !isRunning(task) && (
        <Button icon={<Play aria-hidden />} href={`/playground/video?model=${encodeURIComponent(task.model)}`}>
          {t.again}
        </Button>
      )}
      {task.can_cancel && mayCancel && (
        <Button icon={<Ban aria-hidden />} onClick={() => setAsking(true)}>
          {t.cancel}
        </Button>
      )}
      <Confirm
        open={asking}
        onClose={() => setAsking(false)}
        title={t.cancelTitle}
        consequence={back === null || isNothing(back) ? t.cancelFree : t.cancelBack(money(back, "call"))}
        onConfirm={cancel}
      >
        <p>{t.cancelText}</p>
      </Confirm>
    </>
  );
}
