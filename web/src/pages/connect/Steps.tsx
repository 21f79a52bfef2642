/** The steps of a snippet, numbered, each with its words and its text to copy. */
import { Code, Copy, Link } from "@/kit";
import { useTexts } from "@/text";
import type { Snippet, SnippetStep } from "./snippets";
import { type ConnectTexts, connectTexts } from "./texts";

function wordsOf(t: ConnectTexts, snippet: Snippet, step: SnippetStep): string {
  const words: Partial<Record<string, string>> = t.stepTexts[snippet.client];
  return words[step.id] ?? "";
}

/** Clients that the documentation has a page of. */
function hasPage(client: Snippet["client"]): boolean {
  return client !== "cursor" && client !== "langchain";
}

export function Steps({ snippet, secret }: { snippet: Snippet; secret: string | null }) {
  const t = useTexts(connectTexts);
  const name = t.names[snippet.client];
  return (
    <div>
      <ol className="space-y-6">
        {snippet.steps.map((step, index) => (
          <li key={step.id} className="grid grid-cols-[1.5rem_minmax(0,1fr)] gap-x-3">
            <span
              aria-hidden
              className="num mt-px flex size-6 items-center justify-center rounded-full bg-sunken text-xs text-ink-2"
            >
              {index + 1}
            </span>
            <div className="min-w-0">
              <h2 className="font-semibold text-ink">{t.stepTitles[step.id]}</h2>
              <p className="mt-0.5 mb-2.5 text-ink-2">{wordsOf(t, snippet, step)}</p>
              <StepBody step={step} secret={secret} />
            </div>
          </li>
        ))}
      </ol>
      {hasPage(snippet.client) && (
        <p className="mt-6 pl-9">
          <Link href={`/docs/${snippet.client}`} className="text-accent-ink underline-offset-2 hover:underline">
            {t.docs(name)}
          </Link>
        </p>
      )}
    </div>
  );
}

function StepBody({ step, secret }: { step: SnippetStep; secret: string | null }) {
  const t = useTexts(connectTexts);
  switch (step.kind) {
    case "shell":
      return <Code language={step.language} text={step.text} secret={secret ?? undefined} />;
    case "file":
      return <Code language={t.file(step.path)} text={step.text} secret={secret ?? undefined} />;
    case "values":
      return (
        <dl className="divide-y divide-line rounded-card border border-line bg-surface">
          {step.values.map((value) => (
            <div key={value.name} className="flex min-h-11 items-center gap-3 px-3 py-1.5">
              <dt className="w-20 shrink-0 text-ink-3">{t.valueNames[value.name]}</dt>
              <dd className="flex min-w-0 flex-1 items-center justify-between gap-2">
                <span className="num min-w-0 [overflow-wrap:anywhere] text-ink">
                  {value.secret && secret !== null ? "••••••••••••" : value.value}
                </span>
                <Copy text={value.value} label={t.valueNames[value.name]} />
              </dd>
            </div>
          ))}
        </dl>
      );
  }
}
