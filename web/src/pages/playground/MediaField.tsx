/** A picture, a clip or a recording: an address, or a file of this machine, chosen or dropped. */
import { FileAudio, FileImage, FileVideo, Upload, X } from "lucide-react";
import { type DragEvent, type ReactNode, useEffect, useRef, useState } from "react";
import { Button, Field, format, IconButton, Input, Textarea } from "@/kit";
import { locale, useLanguage, useTexts } from "@/text";
import type { FormField } from "./forms";
import { playgroundTexts } from "./texts";
import {
  ACCEPTED,
  type FileFault,
  fileFault,
  heldFacts,
  heldUrl,
  holdFile,
  joinValue,
  type Media,
  MOST_BYTES,
  MOST_FILES,
  splitValue,
  type UploadFacts,
} from "./uploads";

interface Props {
  field: FormField;
  media: Media;
  label: string;
  hint: string | undefined;
  value: string;
  onChange: (value: string) => void;
  /** Files that other fields of the form hold: all of them go into one request. */
  others: string[];
}

function factsOf(tokens: string[]): UploadFacts[] {
  return tokens.map(heldFacts).filter((facts) => facts !== null);
}

export function MediaField({ field, media, label, hint, value, onChange, others }: Props) {
  const t = useTexts(playgroundTexts);
  const language = useLanguage();
  const [fault, setFault] = useState<{ why: FileFault; file: UploadFacts } | null>(null);
  const many = field.wire === "texts";
  const { typed, tokens } = splitValue(value);
  const add = (files: readonly File[]) => {
    const kept = many ? [...tokens] : [];
    const beside = many ? typed : "";
    setFault(null);
    for (const file of many ? files : files.slice(0, 1)) {
      const facts = { name: file.name, bytes: file.size, type: file.type };
      const why = fileFault(facts, media, factsOf([...others, ...kept]));
      // The first that cannot go is told; those before it are taken.
      if (why !== null) {
        setFault({ why, file: facts });
        break;
      }
      kept.push(holdFile(file));
    }
    if (kept.length > 0) onChange(joinValue(beside, kept));
  };
  const remove = (token: string) => {
    setFault(null);
    onChange(
      joinValue(
        typed,
        tokens.filter((one) => one !== token),
      ),
    );
  };
  const words = (): string | undefined => {
    if (fault === null) return undefined;
    const size = format.bytes(fault.file.bytes, locale(language));
    const most = format.bytes(MOST_BYTES, locale(language));
    switch (fault.why) {
      case "empty":
        return t.fileFaults.empty(fault.file.name);
      case "kind":
        return t.fileFaults.kind[media](fault.file.name);
      case "large":
        return t.fileFaults.large(fault.file.name, size, most);
      case "together":
        return t.fileFaults.together(fault.file.name, most);
      case "many":
        return t.fileFaults.many(MOST_FILES);
    }
  };
  return (
    <Field
      label={label}
      aside={field.required === true ? t.required : undefined}
      hint={hint ?? (many ? t.mediaHintMany : tokens.length === 0 ? t.mediaHint : undefined)}
      error={words()}
    >
      <Chooser label={label} media={media} many={many} count={tokens.length} onFiles={add}>
        {(choose) => (
          <>
            {many ? (
              <Textarea
                mono
                rows={2}
                placeholder="https://"
                value={typed}
                onChange={(event) => onChange(joinValue(event.target.value, tokens))}
              />
            ) : (
              tokens.length === 0 && (
                <div className="flex gap-2">
                  <Input
                    type="url"
                    mono
                    placeholder="https://"
                    value={typed}
                    onChange={(event) => onChange(event.target.value)}
                  />
                  {choose}
                </div>
              )
            )}
            {tokens.length > 0 && (
              <ul aria-label={label} className={`space-y-2 ${many ? "mt-2" : ""}`}>
                {tokens.map((token) => (
                  <Chosen key={token} token={token} media={media} onRemove={() => remove(token)} />
                ))}
              </ul>
            )}
            {many && <div className="mt-2">{choose}</div>}
          </>
        )}
      </Chooser>
    </Field>
  );
}

interface ChooserProps {
  label: string;
  media: Media;
  many: boolean;
  count: number;
  onFiles: (files: readonly File[]) => void;
  children: (choose: ReactNode) => ReactNode;
}

/** The button and the place to drop. After choosing or removing a file by keyboard the focus is beside it. */
function Chooser({ label, media, many, count, onFiles, children }: ChooserProps) {
  const t = useTexts(playgroundTexts);
  const box = useRef<HTMLDivElement>(null);
  const input = useRef<HTMLInputElement>(null);
  const before = useRef(count);
  const [over, setOver] = useState(false);
  useEffect(() => {
    if (before.current === count) return;
    before.current = count;
    const lost = document.activeElement === document.body || document.activeElement === null;
    if (lost) box.current?.querySelector<HTMLElement>("[data-choose], [data-remove]")?.focus();
  }, [count]);
  const take = (list: FileList | null) => onFiles([...(list ?? [])]);
  const drop = (event: DragEvent) => {
    event.preventDefault();
    setOver(false);
    take(event.dataTransfer.files);
  };
  return (
    // biome-ignore lint/a11y/noStaticElementInteractions: a place to drop on; the button inside does the same
    <div
      ref={box}
      onDragOver={(event) => {
        if (!event.dataTransfer.types.includes("Files")) return;
        event.preventDefault();
        setOver(true);
      }}
      onDragLeave={(event) => {
        if (!event.currentTarget.contains(event.relatedTarget as Node | null)) setOver(false);
      }}
      onDrop={drop}
      className={`rounded-card ${over ? "bg-accent-soft outline-2 outline-offset-2 outline-accent outline-dashed" : ""}`}
    >
      {children(
        <Button
          data-choose
          aria-label={`${many ? t.filesChoose : t.fileChoose}: ${label}`}
          icon={<Upload aria-hidden />}
          onClick={() => input.current?.click()}
        >
          {many ? t.filesChoose : t.fileChoose}
        </Button>,
      )}
      <input
        ref={input}
        type="file"
        hidden
        aria-label={label}
        accept={ACCEPTED[media]}
        multiple={many}
        onChange={(event) => {
          take(event.target.files);
          // The same file may be chosen again after it was removed.
          event.target.value = "";
        }}
      />
    </div>
  );
}

function Chosen({ token, media, onRemove }: { token: string; media: Media; onRemove: () => void }) {
  const t = useTexts(playgroundTexts);
  const language = useLanguage();
  const facts = heldFacts(token);
  return (
    <li className="flex min-h-14 items-center gap-3 rounded-card border border-line-strong bg-surface py-1.5 pr-1.5 pl-2">
      <Thumbnail url={heldUrl(token)} media={media} />
      <span className="min-w-0 flex-1">
        <span className="block truncate text-ink">{facts?.name ?? t.fileGone}</span>
        {facts !== null && (
          <span className="num block truncate text-xs text-ink-3">{format.bytes(facts.bytes, locale(language))}</span>
        )}
      </span>
      <IconButton data-remove label={t.fileRemoveOf(facts?.name ?? "")} icon={<X aria-hidden />} onClick={onRemove} />
    </li>
  );
}

const ICONS: Record<Media, ReactNode> = {
  picture: <FileImage aria-hidden />,
  clip: <FileVideo aria-hidden />,
  sound: <FileAudio aria-hidden />,
};

/** What the browser can draw of it, else a sign. The name stands beside it. */
function Thumbnail({ url, media }: { url: string | null; media: Media }) {
  const [failed, setFailed] = useState(false);
  const plain = failed || url === null || media === "sound";
  return (
    <span
      aria-hidden
      className="flex size-10 shrink-0 items-center justify-center overflow-hidden rounded-md bg-sunken text-ink-3 [&_svg]:size-5"
    >
      {plain ? (
        ICONS[media]
      ) : media === "picture" ? (
        <img src={url} alt="" className="size-full object-cover" onError={() => setFailed(true)} />
      ) : (
        <video
          muted
          playsInline
          tabIndex={-1}
          preload="metadata"
          src={`${url}#t=0.1`}
          className="size-full object-cover"
          onError={() => setFailed(true)}
        />
      )}
    </span>
  );
}
