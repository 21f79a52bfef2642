/** Trying anything with real calls, price and field report changing as one types. */
import { useEffect, useMemo, useState } from "react";
import { useRight, useSession } from "@/app/session";
import { Card, Empty, Link, Page, Problem, SkeletonText, Tabs, toast, useParam, useSearch } from "@/kit";
import { usePricing, useSocialCatalog } from "@/pages/catalog/data";
import {
  describeParam,
  type Model,
  type PlaygroundTask,
  playgroundTask,
  type SocialCell,
} from "@/pages/catalog/record";
import { useLanguage, useTexts } from "@/text";
import { CodeTab } from "./CodeTab";
import { DraftForm } from "./DraftForm";
import {
  type Draft,
  EMPTY_DRAFT,
  modelPlan,
  type Plan,
  presets,
  RECORDING,
  socialPlan,
  socialPresets,
  usableFormat,
} from "./draft";
import { FieldsTab, troubled } from "./FieldsTab";
import { firstCell, firstModel } from "./first";
import { canEdit } from "./forms";
import { HistoryTab } from "./HistoryTab";
import { QuoteTab } from "./QuoteTab";
import { applyEdits, type Fix } from "./quote";
import { ResultCard } from "./ResultCard";
import { draftOf, keepDraft, type PastRun, useRuns } from "./sessionHistory";
import { playgroundTexts } from "./texts";
import { heldFacts, heldFile } from "./uploads";
import { type RunEnd, useFileFacts, useQuote, useRun } from "./useDraft";
import { VoiceBench } from "./voice/VoiceBench";

const TASKS: (PlaygroundTask | "voice")[] = ["chat", "voice", "image", "video", "speech", "transcription", "social"];

/** On a phone the row of tasks is longer than the screen: the one that is open is brought into sight, and again when
 * the fonts are there, which make the row wider. */
function intoView(element: HTMLAnchorElement | null): void {
  if (element === null) return;
  const show = () => element.scrollIntoView({ block: "nearest", inline: "nearest" });
  show();
  void document.fonts.ready.then(show);
}

export default function PlaygroundPage() {
  const t = useTexts(playgroundTexts);
  const word = useParam("task");
  const task = TASKS.find((one) => one === word) ?? "chat";
  return (
    <Page title={t.title} lead={t.lead} wide>
      <nav aria-label={t.title} className="mb-5 flex overflow-x-auto border-b border-line [scrollbar-width:none]">
        {TASKS.map((one) => (
          <Link
            key={one}
            ref={one === task ? intoView : undefined}
            href={`/playground/${one}`}
            aria-current={one === task ? "page" : undefined}
            className={`-mb-px flex h-9 shrink-0 items-center border-b-2 px-3 font-medium whitespace-nowrap first:pl-1 focus-visible:-outline-offset-2 ${one === task ? "border-accent text-ink" : "border-transparent text-ink-3 hover:text-ink"}`}
          >
            {t.tasks[one]}
          </Link>
        ))}
      </nav>
      {task === "voice" ? <Voice /> : <Bench key={task} task={task} />}
    </Page>
  );
}

/** Models first that are known to answer; those without an upstream cannot be tried. */
function modelsFor(task: PlaygroundTask | "voice", models: Model[]): Model[] {
  return models.filter((model) => playgroundTask(model) === task);
}

function Voice() {
  const t = useTexts(playgroundTexts);
  const pricing = usePricing();
  const mayRun = useRight("playground");
  if (pricing.error !== null && pricing.data === undefined)
    return <Problem error={pricing.error} retry={() => void pricing.refetch()} />;
  if (pricing.data === undefined) return <SkeletonText lines={8} />;
  const models = modelsFor("voice", pricing.data.models);
  if (models.length === 0)
    return (
      <Card>
        <Empty title={t.noModels} text={t.noModelsText} />
      </Card>
    );
  return (
    <>
      {!mayRun && (
        <p className="mb-4 rounded-card border border-warn-line/40 bg-warn-soft px-4 py-3 text-ink">{t.noRight}</p>
      )}
      <VoiceBench models={models} mayRun={mayRun} />
    </>
  );
}

function cellFor(cells: SocialCell[], platform: string, capability: string): SocialCell | null {
  const of = cells.filter((cell) => cell.platform === platform);
  return of.find((cell) => cell.capability === capability) ?? of[0] ?? firstCell(cells);
}

function Bench({ task }: { task: PlaygroundTask }) {
  const t = useTexts(playgroundTexts);
  const pricing = usePricing();
  const social = useSocialCatalog();
  const mayRun = useRight("playground");
  const asked = task === "social" ? social : pricing;
  if (asked.error !== null && asked.data === undefined)
    return <Problem error={asked.error} retry={() => void asked.refetch()} />;
  if (asked.data === undefined) {
    return (
      <div className="grid gap-6 lg:grid-cols-[400px_minmax(0,1fr)]">
        <Card className="h-96">
          <SkeletonText lines={8} />
        </Card>
        <Card className="h-96">
          <SkeletonText lines={4} />
        </Card>
      </div>
    );
  }
  const models = modelsFor(task, pricing.data?.models ?? []);
  const cells = social.data?.cells ?? [];
  if (task === "social" ? cells.length === 0 : models.length === 0) {
    return (
      <Card>
        <Empty title={t.noModels} text={t.noModelsText} />
      </Card>
    );
  }
  return (
    <>
      {!mayRun && (
        <p className="mb-4 rounded-card border border-warn-line/40 bg-warn-soft px-4 py-3 text-ink">{t.noRight}</p>
      )}
      <Workbench task={task} models={models} cells={cells} mayRun={mayRun} />
    </>
  );
}

/** The draft of a task, kept for the life of the tab; the address may name a model or a cell to begin with. */
function useDraft(task: PlaygroundTask, models: Model[], cells: SocialCell[]) {
  const [search] = useSearch();
  const [draft, setDraft] = useState<Draft>(() => {
    const kept = draftOf(task);
    if (task === "social") {
      const cell = cellFor(cells, search["platform"] ?? kept.platform, search["capability"] ?? kept.capability);
      if (cell === null) return kept;
      const same = cell.platform === kept.platform && cell.capability === kept.capability;
      return {
        ...kept,
        platform: cell.platform,
        capability: cell.capability,
        values: same ? kept.values : socialPresets(cell),
      };
    }
    const name = search["model"] ?? kept.model;
    const model = models.find((one) => one.name === name) ?? firstModel(task, models);
    if (model === undefined) return kept;
    return {
      ...kept,
      model: model.name,
      editing: kept.editing && canEdit(model),
      values: { ...presets(task, model), ...kept.values },
    };
  });
  useEffect(() => keepDraft(task, draft), [task, draft]);
  const change = (next: Partial<Draft>) => {
    setDraft((now) => {
      const changed = { ...now, ...next };
      if (next.editing === true && !models.some((one) => one.name === changed.model && canEdit(one)))
        changed.model = firstModel(task, models.filter(canEdit))?.name ?? changed.model;
      if (next.model !== undefined && next.model !== now.model) {
        const model = models.find((one) => one.name === next.model);
        if (model !== undefined)
          changed.values = { ...changed.values, ...missingPresets(presets(task, model), changed.values) };
      }
      if (
        task === "social" &&
        (changed.platform !== now.platform || changed.capability !== now.capability) &&
        next.values === undefined
      ) {
        const cell = cellFor(cells, changed.platform, changed.capability);
        if (cell !== null)
          return { ...changed, platform: cell.platform, capability: cell.capability, values: socialPresets(cell) };
      }
      return changed;
    });
  };
  return [draft, change] as const;
}

/** An answer joins the conversation, also one that was stopped; a question that failed goes back into the form. */
function afterTalk(draft: Draft, end: RunEnd): Partial<Draft> {
  const text = end.output?.kind === "chat" ? end.output.text : "";
  if (end.state !== "failed" && text !== "") return { turns: [...draft.turns, { role: "assistant", text }] };
  const last = draft.turns[draft.turns.length - 1];
  if (last?.role !== "user") return {};
  return { turns: draft.turns.slice(0, -1), message: draft.message === "" ? last.text : draft.message };
}

function missingPresets(wanted: Record<string, string>, values: Record<string, string>): Record<string, string> {
  return Object.fromEntries(Object.entries(wanted).filter(([key]) => (values[key] ?? "") === "" || key === "voice"));
}

function Workbench(props: { task: PlaygroundTask; models: Model[]; cells: SocialCell[]; mayRun: boolean }) {
  const { task, models, cells, mayRun } = props;
  const t = useTexts(playgroundTexts);
  const language = useLanguage();
  const base = useSession().instance.base_url;
  const [draft, change] = useDraft(task, models, cells);
  const [file, setFile] = useState<File | null>(null);
  const fileFacts = useFileFacts(file);
  const model = models.find((one) => one.name === draft.model) ?? null;
  const cell = task === "social" ? cellFor(cells, draft.platform, draft.capability) : null;
  const plan = useMemo<Plan | null>(() => {
    if (task === "social")
      return cell === null ? null : socialPlan(draft, cell, base, (text) => describeParam(text, language));
    return model === null ? null : modelPlan(task, draft, model, base, fileFacts, heldFacts);
  }, [task, draft, cell, model, base, fileFacts, language]);
  const quote = useQuote(base, plan, mayRun);
  const { view, start, stop, reset } = useRun((end) => {
    if (task === "chat") change(afterTalk(draftOf(task), end));
  });
  const run = () => {
    if (plan === null || plan.missing.length > 0 || !mayRun || view.state === "running") return;
    const format = model === null ? "chat" : usableFormat(draft, model);
    start({
      task,
      name: cell?.model ?? draft.model,
      draft,
      format,
      plan,
      fileOf: (upload) => (upload === RECORDING ? file : heldFile(upload)),
      quote: quote.stale ? null : quote.quote,
    });
    if (task === "chat") change({ turns: [...draft.turns, { role: "user", text: draft.message }], message: "" });
  };
  const mend = (fix: Fix) => {
    if (plan === null) return;
    change(applyEdits(fix.edits, plan.fields, draft.values, draft.extra));
    toast(t.fixed);
  };
  return (
    <div className="grid items-start gap-6 lg:grid-cols-[400px_minmax(0,1fr)]">
      <DraftForm
        task={task}
        draft={draft}
        onChange={change}
        models={models}
        model={model}
        cells={cells}
        cell={cell}
        plan={plan}
        file={fileFacts}
        onFile={setFile}
        quote={quote}
        running={view.state === "running"}
        onRun={run}
        onStop={stop}
        onNewTalk={() => {
          change({ turns: [] });
          reset();
        }}
      />
      <div className="min-w-0 space-y-6">
        <ResultCard task={task} draft={draft} turns={draft.turns} view={view} />
        <SideTabs
          task={task}
          plan={plan}
          quote={quote}
          onFix={mend}
          onUse={(past) => change({ ...EMPTY_DRAFT, ...past.draft })}
          hasFile={file !== null}
        />
      </div>
    </div>
  );
}

function SideTabs(props: {
  task: PlaygroundTask;
  plan: Plan | null;
  quote: ReturnType<typeof useQuote>;
  hasFile: boolean;
  onFix: (fix: Fix) => void;
  onUse: (run: PastRun) => void;
}) {
  const { task, plan, quote, onFix, onUse } = props;
  const t = useTexts(playgroundTexts);
  const [tab, setTab] = useState<"quote" | "fields" | "code" | "history">("quote");
  const runs = useRuns();
  const hints: Record<PlaygroundTask, string> = {
    chat: t.writeMessage,
    image: t.fillRequired,
    video: t.fillRequired,
    speech: t.fillRequired,
    transcription: props.hasFile ? t.fileUnmeasured : t.fileNeeded,
    social: t.fillRequired,
  };
  const hint = hints[task];
  const marks = quote.quote === null ? 0 : troubled(quote.quote.fields);
  return (
    <Card>
      <Tabs
        label={t.tabs.quote}
        value={tab}
        onChange={setTab}
        tabs={[
          {
            value: "quote",
            label: t.tabs.quote,
            content: <QuoteTab task={task} view={quote} body={plan?.body ?? null} hint={hint} onFix={onFix} />,
          },
          {
            value: "fields",
            label: t.tabs.fields,
            count: marks === 0 ? undefined : marks,
            content: <FieldsTab quote={quote.quote} body={plan?.body ?? null} hint={hint} onFix={onFix} />,
          },
          { value: "code", label: t.tabs.code, content: <CodeTab call={plan?.call ?? null} /> },
          {
            value: "history",
            label: t.tabs.history,
            count: runs.length === 0 ? undefined : runs.length,
            content: <HistoryTab onUse={onUse} />,
          },
        ]}
      />
      <p className="mt-4 border-t border-line pt-3 text-xs text-ink-3">{t.keyNote}</p>
    </Card>
  );
}
