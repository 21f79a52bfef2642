/** The right side: what came back, what it cost beside what was quoted. */
import { Download, FlaskConical, ListTree } from "lucide-react";
import { type ReactNode, useState } from "react";
import { Bytes, Card, Code, Copy, Duration, Empty, Id, Link, Money, Num, Problem, Segments, When } from "@/kit";
import type { PlaygroundTask } from "@/pages/catalog/record";
import { useTexts } from "@/text";
import type { Draft } from "./draft";
import type { Turn } from "./forms";
import { savingUrl } from "./links";
import type { Output } from "./run";
import { tableOf } from "./table";
import { playgroundTexts } from "./texts";
import type { RunView } from "./useDraft";
import { VideoResult } from "./VideoResult";

interface Props {
  task: PlaygroundTask;
  draft: Draft;
  turns: Turn[];
  view: RunView;
}

export function ResultCard({ task, draft, turns, view }: Props) {
  const t = useTexts(playgroundTexts);
  const idle = view.state === "idle" && (task !== "chat" || turns.length === 0);
  return (
    <Card title={t.result} action={<ResultActions view={view} />} className="min-h-80">
      {idle ? (
        <Empty
          icon={<FlaskConical aria-hidden />}
          title={t.resultEmpty}
          text={draft.editing ? t.resultEmptyEdit : t.resultEmptyText[task]}
        />
      ) : (
        <div className="space-y-4">
          {task === "chat" && <Talk turns={turns} view={view} />}
          {task !== "chat" && view.output !== null && (
            <Shown output={view.output} prompt={draft.values["prompt"] ?? ""} running={view.state === "running"} />
          )}
          {task !== "chat" && view.state === "running" && view.output === null && <Working />}
          {view.error !== null && <Problem error={view.error} />}
          {view.state === "stopped" && <p className="text-ink-2">{t.stoppedNote}</p>}
          <RunCost view={view} />
        </div>
      )}
      <p role="status" className="sr-only">
        {view.state === "running" ? t.running : view.state === "idle" ? "" : t.historyOutcome[view.state]}
      </p>
    </Card>
  );
}

function ResultActions({ view }: { view: RunView }) {
  const t = useTexts(playgroundTexts);
  const { output } = view;
  if (output === null || view.state === "running") return null;
  if (output.kind === "chat" && output.text !== "") return <Copy text={output.text} label={t.copyResult} word />;
  if (output.kind === "text") return <Copy text={output.text} label={t.copyResult} word />;
  if (output.kind === "social") return <Copy text={output.raw} label={t.copyResult} word />;
  return null;
}

function Working() {
  return (
    <div aria-hidden className="space-y-2.5 py-4">
      <div className="skeleton h-4 w-full" />
      <div className="skeleton h-4 w-5/6" />
      <div className="skeleton h-4 w-2/3" />
    </div>
  );
}

function Talk({ turns, view }: { turns: Turn[]; view: RunView }) {
  const t = useTexts(playgroundTexts);
  const live = view.state !== "idle" && view.output?.kind === "chat" ? view.output : null;
  const last = turns[turns.length - 1];
  const open = last?.role === "user";
  return (
    <ol className="space-y-4">
      {turns.map((turn, index) => (
        // biome-ignore lint/suspicious/noArrayIndexKey: turns are only ever added at the end
        <li key={index} className={turn.role === "user" ? "flex justify-end" : ""}>
          {turn.role === "user" ? (
            <p className="max-w-[85%] rounded-card bg-accent-soft px-3 py-2 whitespace-pre-wrap [overflow-wrap:anywhere] text-ink">
              <span className="sr-only">{t.you}: </span>
              {turn.text}
            </p>
          ) : (
            <p className="whitespace-pre-wrap [overflow-wrap:anywhere] text-ink">{turn.text}</p>
          )}
        </li>
      ))}
      {open && (
        <li>
          {live !== null && live.thought !== "" && (
            <details className="mb-2 rounded-card border border-line px-3 py-2 text-[13px] text-ink-2">
              <summary className="cursor-pointer text-ink-3">{t.thoughts}</summary>
              <p className="mt-1 whitespace-pre-wrap [overflow-wrap:anywhere]">{live.thought}</p>
            </details>
          )}
          {live !== null && live.text !== "" && (
            <p className="whitespace-pre-wrap [overflow-wrap:anywhere] text-ink">{live.text}</p>
          )}
          {view.state === "running" && (live === null || live.text === "") && <Working />}
        </li>
      )}
    </ol>
  );
}

function Shown({ output, prompt, running }: { output: Output; prompt: string; running: boolean }) {
  const t = useTexts(playgroundTexts);
  switch (output.kind) {
    case "chat":
      return null;
    case "images":
      return (
        <div>
          <ul className="grid grid-cols-[repeat(auto-fill,minmax(min(100%,220px),1fr))] gap-3">
            {output.urls.map((url, index) => (
              <li key={url} className="group relative overflow-hidden rounded-card border border-line bg-sunken">
                <img src={url} alt={t.imageAlt(prompt)} className="block h-auto w-full" />
                <a
                  href={savingUrl(url)}
                  download={`image-${index + 1}.png`}
                  target="_blank"
                  rel="noreferrer"
                  className="flex items-center gap-1.5 px-3 py-2 text-[13px] text-accent-ink hover:underline"
                >
                  <Download aria-hidden className="size-4" />
                  {t.download}
                </a>
              </li>
            ))}
          </ul>
          {output.endsAt !== null && (
            <p className="mt-2 text-xs text-ink-3">
              {t.linkUntil} <When at={new Date(output.endsAt * 1000).toISOString()} />
            </p>
          )}
        </div>
      );
    case "audio":
      return (
        <div className="space-y-3">
          {/* biome-ignore lint/a11y/useMediaCaption: it speaks the text that stands in the form */}
          <audio controls src={output.url} className="w-full" />
          <a
            href={output.url}
            download={output.fileName}
            className="inline-flex items-center gap-1.5 text-accent-ink hover:underline"
          >
            <Download aria-hidden className="size-4" />
            {t.download} <span className="num text-ink-3">{output.fileName}</span> <Bytes value={output.bytes} />
          </a>
        </div>
      );
    case "text":
      return <p className="whitespace-pre-wrap [overflow-wrap:anywhere] text-ink">{output.text}</p>;
    case "video":
      return <VideoResult task={output.task} prompt={prompt} running={running} />;
    case "social":
      return <SocialResult raw={output.raw} output={output} />;
  }
}

function SocialResult({ raw, output }: { raw: string; output: Output & { kind: "social" } }) {
  const t = useTexts(playgroundTexts);
  const [view, setView] = useState<"table" | "json">("table");
  const table = tableOf(output.data);
  return (
    <div>
      <Segments
        label={t.result}
        value={view}
        onChange={setView}
        options={[
          { value: "table", label: t.asTable },
          { value: "json", label: t.asJson },
        ]}
      />
      <div className="mt-3">
        {view === "json" ? (
          <Code language="JSON" text={pretty(raw, output)} tall />
        ) : table.columns.length === 0 ? (
          <p className="text-ink-3">{t.notTable}</p>
        ) : (
          <ResultTable table={table} />
        )}
      </div>
    </div>
  );
}

/** Indented where the reader's digits survive it; otherwise unchanged. */
function pretty(raw: string, output: Output & { kind: "social" }): string {
  return /[^"\d]\d{16,}/.test(raw) ? raw : JSON.stringify(output.data, null, 2);
}

function ResultTable({ table }: { table: ReturnType<typeof tableOf> }) {
  const t = useTexts(playgroundTexts);
  return (
    <>
      <section
        // biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls must be reachable by keyboard
        tabIndex={0}
        aria-label={t.asTable}
        className="max-h-[28rem] overflow-auto rounded-card border border-line"
      >
        <table className="w-full border-separate border-spacing-0 text-left">
          <thead>
            <tr>
              {table.columns.map((column) => (
                <th
                  key={column}
                  scope="col"
                  data-tip={table.prefix === "" ? undefined : column}
                  className="num sticky top-0 border-b border-line bg-surface px-3 py-2 text-xs font-medium whitespace-nowrap text-ink-3"
                >
                  {column.slice(table.prefix.length)}
                </th>
              ))}
            </tr>
          </thead>
          <tbody>
            {table.rows.map((row, index) => (
              // biome-ignore lint/suspicious/noArrayIndexKey: rows of an answer have no name that could be relied on
              <tr key={index}>
                {table.columns.map((column) => (
                  <td
                    key={column}
                    className="max-w-64 truncate border-b border-line px-3 py-1.5 text-[13px] text-ink-2"
                    data-tip={(row[column] ?? "").length > 30 ? row[column] : undefined}
                  >
                    {row[column] ?? <span className="text-ink-3">–</span>}
                  </td>
                ))}
              </tr>
            ))}
          </tbody>
        </table>
      </section>
      {table.more > 0 && <p className="mt-2 text-xs text-ink-3">{t.rowsMore(table.more)}</p>}
    </>
  );
}

function Fact({ name, children }: { name: string; children: ReactNode }) {
  return (
    <div className="flex min-w-0 items-center gap-1.5">
      <dt className="shrink-0 text-xs text-ink-3">{name}</dt>
      <dd className="min-w-0 text-ink">{children}</dd>
    </div>
  );
}

/** What it really cost, beside what was promised. */
function RunCost({ view }: { view: RunView }) {
  const t = useTexts(playgroundTexts);
  const { facts, quote, state } = view;
  if (state === "running" || state === "idle") return null;
  const free = state === "failed" && view.error !== null;
  if (free && quote === null && facts.requestId === null) return null;
  return (
    <dl className="flex flex-wrap items-center gap-x-5 gap-y-1.5 border-t border-line pt-3">
      {facts.costUsd !== null && !free && (
        <Fact name={t.cost}>
          <Money usd={facts.costUsd} kind="call" className="font-semibold" />
        </Fact>
      )}
      {quote !== null && (
        <Fact name={t.quoted}>
          {quote.exact ? (
            <Money usd={quote.price_usd ?? quote.maximum_usd} kind="call" />
          ) : quote.minimum_usd === null ? (
            <>
              {t.atMost} <Money usd={quote.maximum_usd} kind="call" />
            </>
          ) : (
            <>
              <Money usd={quote.minimum_usd} kind="call" /> – <Money usd={quote.maximum_usd} kind="call" />
            </>
          )}
        </Fact>
      )}
      {facts.inputTokens !== null && facts.outputTokens !== null && (
        <Fact name={t.tokensName}>
          <span className="text-[13px]">
            <Num value={facts.inputTokens} /> + <Num value={facts.outputTokens} />
          </span>
        </Fact>
      )}
      {facts.tookMs !== null && (
        <Fact name={t.took}>
          <Duration ms={facts.tookMs} />
        </Fact>
      )}
      {facts.warnings.length > 0 && (
        <Fact name={t.warnings(facts.warnings.length)}>
          <span className="num text-[13px] text-warn">{facts.warnings.join(", ")}</span>
        </Fact>
      )}
      {facts.requestId !== null && (
        <Fact name={t.requestId}>
          <span className="flex items-center gap-3">
            <Id value={facts.requestId} />
            <Link
              href={`/logs/${encodeURIComponent(facts.requestId)}`}
              className="inline-flex items-center gap-1 text-[13px] text-accent-ink hover:underline"
            >
              <ListTree aria-hidden className="size-3.5" />
              {t.receipt}
            </Link>
          </span>
        </Fact>
      )}
    </dl>
  );
}
