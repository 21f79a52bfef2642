/** The left side: what is asked of which model. */
import { ChevronDown, Play, RotateCcw, Square } from "lucide-react";
import { type KeyboardEvent, useState } from "react";
import { Button, Card, Combobox, Field, format, Segments, Select, Textarea } from "@/kit";
import type { Model, PlaygroundTask, SocialCell } from "@/pages/catalog/record";
import { capabilityName } from "@/pages/catalog/SocialTab";
import { catalogTexts } from "@/pages/catalog/texts";
import { useTexts } from "@/text";
import { type Draft, type FileFacts, type Plan, shownValues, usableFormat } from "./draft";
import { FieldControl, FileField } from "./FieldControl";
import { type ChatFormat, canEdit, type FormField, formatsOf, readExtra } from "./forms";
import { playgroundTexts } from "./texts";
import { splitValue } from "./uploads";
import type { QuoteView } from "./useDraft";

interface Props {
  task: PlaygroundTask;
  draft: Draft;
  onChange: (next: Partial<Draft>) => void;
  models: Model[];
  model: Model | null;
  cells: SocialCell[];
  cell: SocialCell | null;
  plan: Plan | null;
  file: FileFacts | null;
  onFile: (file: File | null) => void;
  quote: QuoteView;
  running: boolean;
  onRun: () => void;
  onStop: () => void;
  onNewTalk: () => void;
}

export function DraftForm(props: Props) {
  const { task, draft, onChange, plan, model } = props;
  const t = useTexts(playgroundTexts);
  const [more, setMore] = useState(false);
  const fields = (plan?.fields ?? []).filter((field) => field.kind !== "file");
  const values = shownValues(fields, draft.values);
  const change = (key: string, value: string) => onChange({ values: { ...draft.values, [key]: value } });
  const onKeyDown = (event: KeyboardEvent) => {
    if (event.key === "Enter" && (event.metaKey || event.ctrlKey) && !props.running) {
      event.preventDefault();
      props.onRun();
    }
  };
  const shown = fields.filter((field) => field.more !== true);
  const hidden = fields.filter((field) => field.more === true);
  const wide = (kind: string) => kind === "long" || kind === "address" || task === "social";
  const held = fields.map((field) => [field.key, splitValue(values[field.key] ?? "").tokens] as const);
  const control = (field: FormField) => (
    <div key={field.key} className={wide(field.kind) ? "col-span-2 min-w-0" : "min-w-0 max-sm:col-span-2"}>
      <FieldControl
        field={field}
        value={values[field.key] ?? ""}
        others={held.flatMap(([key, tokens]) => (key === field.key ? [] : tokens))}
        onChange={(value) => change(field.key, value)}
      />
    </div>
  );
  return (
    <Card>
      {/* biome-ignore lint/a11y/noStaticElementInteractions: only a shortcut for the button below */}
      <div className="space-y-4" onKeyDown={onKeyDown}>
        {task === "image" && <MakeOrEdit {...props} />}
        {task === "social" ? <CellPicker {...props} /> : <ModelPicker {...props} />}
        {task === "chat" && model !== null && <ChatInputs {...props} />}
        {task === "transcription" && (
          <FileField facts={props.file} accept="audio/*,video/mp4,video/webm" onChange={props.onFile} />
        )}
        {shown.length > 0 && <div className="grid grid-cols-2 gap-x-3 gap-y-4">{shown.map(control)}</div>}
        {props.cell?.require_one_of?.map((group) => (
          <p key={group.join()} className="text-xs text-ink-3">
            {t.oneOf(group.join(", "))}
          </p>
        ))}
        {plan !== null && (
          <Button
            variant="link"
            aria-expanded={more}
            icon={<ChevronDown aria-hidden className={more ? "rotate-180" : ""} />}
            onClick={() => setMore(!more)}
          >
            {more ? t.less : t.more}
          </Button>
        )}
        {more && (
          <div className="grid grid-cols-2 gap-x-3 gap-y-4">
            {hidden.map(control)}
            <div className="col-span-2 min-w-0">
              <ExtraField extra={draft.extra} onChange={(extra) => onChange({ extra })} />
            </div>
          </div>
        )}
        <RunRow {...props} />
      </div>
    </Card>
  );
}

/** Some models also edit. For editing only those are offered. */
function MakeOrEdit({ models, draft, onChange }: Props) {
  const t = useTexts(playgroundTexts);
  if (!models.some(canEdit)) return null;
  return (
    <Segments
      label={t.makeOrEdit}
      value={draft.editing ? "edit" : "make"}
      onChange={(choice) => onChange({ editing: choice === "edit" })}
      options={[
        { value: "make", label: t.make },
        { value: "edit", label: t.edit },
      ]}
    />
  );
}

function ModelPicker({ task, models, model, draft, onChange }: Props) {
  const t = useTexts(playgroundTexts);
  const offered = task === "image" && draft.editing ? models.filter(canEdit) : models;
  return (
    <Field label={t.model}>
      <Combobox
        single
        values={model === null ? [] : [model.name]}
        placeholder={t.modelSearch}
        onChange={(values) => onChange({ model: values[values.length - 1] ?? "" })}
        options={offered.map((one) => ({ value: one.name, label: one.name, hint: one.vendor }))}
      />
    </Field>
  );
}

function CellPicker({ cells, cell, onChange }: Props) {
  const t = useTexts(playgroundTexts);
  const words = useTexts(catalogTexts);
  const platforms = [...new Map(cells.map((one) => [one.platform, one.name]))];
  const capabilities = cells.filter((one) => one.platform === cell?.platform);
  return (
    <div className="grid grid-cols-2 gap-3">
      <Field label={t.platform}>
        <Select
          value={cell?.platform ?? ""}
          onChange={(platform) => onChange({ platform, capability: cell?.capability ?? "" })}
          options={platforms.map(([value, label]) => ({ value, label }))}
        />
      </Field>
      <Field label={t.capability}>
        <Select
          value={cell?.capability ?? ""}
          onChange={(capability) => onChange({ platform: cell?.platform ?? "", capability })}
          options={capabilities.map((one) => ({ value: one.capability, label: capabilityName(words, one.capability) }))}
        />
      </Field>
    </div>
  );
}

function ChatInputs({ draft, onChange, model }: Props) {
  const t = useTexts(playgroundTexts);
  if (model === null) return null;
  return (
    <>
      <Field label={t.format}>
        <Select
          value={usableFormat(draft, model)}
          onChange={(next: ChatFormat) => onChange({ format: next })}
          options={formatsOf(model).map((one) => ({ value: one, label: t.formats[one] }))}
        />
      </Field>
      <Field label={t.system}>
        <Textarea
          rows={2}
          placeholder={t.systemPlaceholder}
          value={draft.system}
          onChange={(event) => onChange({ system: event.target.value })}
        />
      </Field>
      <Field label={t.message} aside={t.required}>
        <Textarea
          rows={4}
          placeholder={t.messagePlaceholder}
          value={draft.message}
          onChange={(event) => onChange({ message: event.target.value })}
        />
      </Field>
    </>
  );
}

function ExtraField({ extra, onChange }: { extra: string; onChange: (extra: string) => void }) {
  const t = useTexts(playgroundTexts);
  const read = readExtra(extra);
  return (
    <Field label={t.extra} hint={t.extraHint} error={read.ok ? undefined : t.extraWrong[read.why]}>
      <Textarea
        mono
        rows={3}
        spellCheck={false}
        placeholder="{ }"
        value={extra}
        onChange={(event) => onChange(event.target.value)}
      />
    </Field>
  );
}

/** The button says what it costs: exactly, or at most. */
function RunRow({ quote, running, plan, draft, onRun, onStop, onNewTalk, task }: Props) {
  const t = useTexts(playgroundTexts);
  const known = quote.quote;
  const price =
    known === null
      ? null
      : format.money(known.exact ? (known.price_usd ?? known.maximum_usd) : known.maximum_usd, "call");
  const label = known === null || price === null ? t.run : known.exact ? t.runFor(price) : t.runUpTo(price);
  const ready = plan !== null && plan.missing.length === 0 && readExtra(draft.extra).ok;
  return (
    <div className="flex flex-wrap items-center gap-2 border-t border-line pt-4">
      {running ? (
        <Button variant="danger" icon={<Square aria-hidden />} onClick={onStop}>
          {t.stop}
        </Button>
      ) : (
        <Button variant="primary" disabled={!ready} icon={<Play aria-hidden />} onClick={onRun}>
          {label}
        </Button>
      )}
      {task === "chat" && draft.turns.length > 0 && !running && (
        <Button icon={<RotateCcw aria-hidden />} onClick={onNewTalk}>
          {t.clear}
        </Button>
      )}
    </div>
  );
}
