/** One field of a form, drawn by its kind. */
import { FileAudio, Upload, X } from "lucide-react";
import { type DragEvent, useRef, useState } from "react";
import { Field, format, IconButton, Input, Select, Textarea, useField } from "@/kit";
import { locale, useLanguage, useTexts } from "@/text";
import type { FileFacts } from "./draft";
import type { FormField } from "./forms";
import { MediaField } from "./MediaField";
import { type PlaygroundTexts, playgroundTexts } from "./texts";

export function fieldName(t: PlaygroundTexts, key: string): string {
  return (t.fieldNames as Record<string, string>)[key] ?? key;
}

function choiceName(t: PlaygroundTexts, field: FormField, choice: string): string {
  if (field.wire !== "boolean") return choice;
  return choice === "true" ? t.yes : t.no;
}

interface Props {
  field: FormField;
  value: string;
  onChange: (value: string) => void;
}

export function FieldControl({ field, value, onChange, others }: Props & { others: string[] }) {
  const t = useTexts(playgroundTexts);
  const hints: Partial<Record<string, string>> = t.fieldHints;
  const hint = field.description ?? hints[field.key] ?? "";
  if (field.media !== undefined) {
    return (
      <MediaField
        field={field}
        media={field.media}
        label={fieldName(t, field.key)}
        hint={hint === "" ? undefined : hint}
        value={value}
        onChange={onChange}
        others={others}
      />
    );
  }
  return (
    <Field
      label={field.description === undefined ? fieldName(t, field.key) : <span className="num">{field.key}</span>}
      aside={field.required === true ? t.required : undefined}
      hint={hint === "" ? undefined : hint}
    >
      <Control field={field} value={value} onChange={onChange} />
    </Field>
  );
}

function Control({ field, value, onChange }: Props) {
  const t = useTexts(playgroundTexts);
  const usually =
    field.fallback === undefined
      ? t.leftOut
      : t.usually(field.wire === "boolean" ? choiceName(t, field, field.fallback) : field.fallback);
  switch (field.kind) {
    case "choice": {
      const choices = (field.choices ?? []).map((choice) => ({
        value: choice,
        label: <Literal text={choiceName(t, field, choice)} />,
      }));
      const options =
        field.required === true ? choices : [{ value: "", label: <Literal text={usually} muted /> }, ...choices];
      return <Select value={value} onChange={onChange} options={options} />;
    }
    case "long":
      return (
        <Textarea rows={field.more === true ? 2 : 4} value={value} onChange={(event) => onChange(event.target.value)} />
      );
    case "number":
      return (
        <Input
          mono
          inputMode="decimal"
          placeholder={field.fallback === undefined ? "" : usually}
          value={value}
          onChange={(event) => onChange(event.target.value)}
        />
      );
    case "line":
      return (
        <Input
          placeholder={field.fallback === undefined ? "" : usually}
          value={value}
          onChange={(event) => onChange(event.target.value)}
        />
      );
    case "address":
    case "file":
      // Drawn with what they are chosen by: above, and by the form itself.
      return null;
  }
}

/** Sizes are written with an x or an asterisk, and which one it is matters: no pretty cross in its place. */
function Literal({ text, muted = false }: { text: string; muted?: boolean }) {
  return <span className={`[font-variant-ligatures:no-contextual] ${muted ? "text-ink-3" : ""}`}>{text}</span>;
}

interface FileProps {
  facts: FileFacts | null;
  accept: string;
  onChange: (file: File | null) => void;
}

export function FileField(props: FileProps) {
  const t = useTexts(playgroundTexts);
  return (
    <Field
      label={t.file}
      aside={t.required}
      hint={props.facts !== null && props.facts.seconds === null ? t.fileUnmeasured : undefined}
    >
      <FileDrop {...props} />
    </Field>
  );
}

function FileDrop({ facts, accept, onChange }: FileProps) {
  const t = useTexts(playgroundTexts);
  const language = useLanguage();
  const field = useField();
  const input = useRef<HTMLInputElement>(null);
  const [over, setOver] = useState(false);
  const drop = (event: DragEvent) => {
    event.preventDefault();
    setOver(false);
    onChange(event.dataTransfer.files[0] ?? null);
  };
  if (facts !== null) {
    const length = facts.seconds === null ? "–" : t.secondsOf(format.count(Math.ceil(facts.seconds), locale(language)));
    return (
      <div className="flex min-h-11 items-center gap-2.5 rounded-card border border-line-strong bg-surface py-1.5 pr-1.5 pl-3">
        <FileAudio aria-hidden className="size-4 shrink-0 text-ink-3" />
        <span className="min-w-0 flex-1">
          <span className="block truncate text-ink">{facts.name}</span>
          <span className="num block text-xs text-ink-3">
            {t.fileFacts(format.bytes(facts.bytes, locale(language)), length)}
          </span>
        </span>
        <IconButton label={t.fileRemove} icon={<X aria-hidden />} onClick={() => onChange(null)} />
      </div>
    );
  }
  return (
    <label
      onDragOver={(event) => {
        event.preventDefault();
        setOver(true);
      }}
      onDragLeave={() => setOver(false)}
      onDrop={drop}
      className={`flex flex-col items-center gap-1 rounded-card border border-dashed px-4 py-6 text-center has-focus-visible:outline-2 has-focus-visible:outline-accent ${over ? "border-accent bg-accent-soft" : "border-line-strong bg-surface hover:bg-hover"}`}
    >
      <Upload aria-hidden className="size-5 text-ink-3" />
      <span className="font-medium text-accent-ink">{t.fileChoose}</span>
      <span className="text-xs text-ink-3">{t.fileDrop}</span>
      <input
        {...field}
        ref={input}
        type="file"
        accept={accept}
        className="sr-only"
        onChange={(event) => onChange(event.target.files?.[0] ?? null)}
      />
    </label>
  );
}
