import { clsx } from "clsx";
import { Check, Copy as CopyIcon, Eye, EyeOff } from "lucide-react";
import { type ReactNode, useEffect, useRef, useState } from "react";
import { locale, useLanguage, useTexts } from "@/text";
import { Button, IconButton } from "./Button";
import * as format from "./format";
import { useNow } from "./hooks";
import { kitTexts } from "./texts";

export interface MoneyProps {
  usd: string;
  kind: format.MoneyKind;
  /** What the price is for: "/ 1M tokens". */
  unit?: ReactNode;
  /** Said after the exact amount in the hover: the version of the prices. */
  note?: string;
  /** Millions as "M": only where there is no space. */
  short?: boolean;
  className?: string;
}
export function Money(props: MoneyProps) {
  const { usd, kind, unit, note, short = false, className } = props;
  const t = useTexts(kitTexts);
  const exact = t.exact(format.exactMoney(usd));
  return (
    <span className={clsx("whitespace-nowrap", className)}>
      <data value={usd} data-tip={note === undefined ? exact : `${exact} · ${note}`} className="num">
        {short ? format.shortMoney(usd) : format.money(usd, kind)}
      </data>
      {unit !== undefined && <span className="text-ink-3"> {unit}</span>}
    </span>
  );
}

export function When({ at, className }: { at: string; className?: string }) {
  const now = useNow();
  const language = useLanguage();
  return (
    <time
      dateTime={at}
      data-tip={format.exactTime(at, locale(language))}
      className={clsx("whitespace-nowrap", className)}
    >
      {format.relative(at, now, locale(language))}
    </time>
  );
}

export function Num({ value, short = false, className }: { value: number; short?: boolean; className?: string }) {
  const language = useLanguage();
  const full = format.count(value, locale(language));
  if (!short || value < 10_000) return <span className={clsx("num whitespace-nowrap", className)}>{full}</span>;
  return (
    <data value={value} data-tip={full} className={clsx("num whitespace-nowrap", className)}>
      {format.shortCount(value, locale(language))}
    </data>
  );
}
export function Bytes({ value }: { value: number }) {
  const language = useLanguage();
  return (
    <data value={value} data-tip={`${format.count(value, locale(language))} B`} className="num whitespace-nowrap">
      {format.bytes(value, locale(language))}
    </data>
  );
}
export function Duration({ ms }: { ms: number }) {
  const language = useLanguage();
  return <span className="num whitespace-nowrap">{format.duration(ms, locale(language))}</span>;
}

const COPIED_MS = 1600;
export function useCopy(): [boolean, (text: string) => void] {
  const [copied, setCopied] = useState(false);
  const timer = useRef<ReturnType<typeof setTimeout> | undefined>(undefined);
  useEffect(() => () => clearTimeout(timer.current), []);
  return [
    copied,
    (text) => {
      navigator.clipboard.writeText(text).then(
        () => {
          setCopied(true);
          clearTimeout(timer.current);
          timer.current = setTimeout(() => setCopied(false), COPIED_MS);
        },
        // Refused by the browser: the text stays selectable, which is what is left to do.
        () => setCopied(false),
      );
    },
  ];
}

export interface CopyProps {
  text: string;
  /** Its name for a screen reader ("Copy request id"); also the word on it with `word`. */
  label?: string;
  /** A button with a word instead of an icon alone. */
  word?: boolean;
  className?: string;
}
export function Copy({ text, label, word = false, className }: CopyProps) {
  const t = useTexts(kitTexts);
  const [copied, copy] = useCopy();
  const icon = copied ? <Check aria-hidden className="text-ok" /> : <CopyIcon aria-hidden />;
  const act = (event: { stopPropagation: () => void; preventDefault: () => void }) => {
    event.stopPropagation();
    event.preventDefault();
    copy(text);
  };
  return (
    <>
      {word ? (
        <Button size="small" icon={icon} onClick={act} {...(className === undefined ? {} : { className })}>
          {copied ? t.copied : (label ?? t.copy)}
        </Button>
      ) : (
        <IconButton
          label={copied ? t.copied : (label ?? t.copy)}
          icon={icon}
          onClick={act}
          className={clsx("size-7! [&_svg]:size-3.5", className)}
        />
      )}
      <span role="status" className="sr-only">
        {copied ? t.copied : ""}
      </span>
    </>
  );
}

/** An id: both ends of it, the whole on hover, and one click copies it. */
export function Id({
  value,
  head,
  tail,
  full = false,
}: {
  value: string;
  head?: number;
  tail?: number;
  full?: boolean;
}) {
  const t = useTexts(kitTexts);
  return (
    <span className="inline-flex max-w-full items-center gap-0.5 align-middle">
      <span
        className={clsx("num min-w-0", full ? "[overflow-wrap:anywhere]" : "truncate")}
        data-tip={full ? undefined : value}
      >
        {full ? value : format.shortId(value, head, tail)}
      </span>
      <Copy
        text={value}
        label={`${t.copy} ${format.shortId(value, head, tail)}`}
        className="-my-1 size-6! [&_svg]:size-3.5"
      />
    </span>
  );
}

export interface CodeProps {
  text: string;
  /** Shown above the code: "bash", "Python". */
  language?: string | undefined;
  /** A secret inside `text`: dots until asked for. The copy button always copies the real one. */
  secret?: string | undefined;
  /** Long text scrolls inside instead of growing the page. */
  tall?: boolean | undefined;
  /** Long lines break instead of scrolling: for one secret or one link. */
  wrap?: boolean | undefined;
  className?: string | undefined;
}
const DOTS = "••••••••••••";
export function Code({ text, language, secret, tall = false, wrap = false, className }: CodeProps) {
  const t = useTexts(kitTexts);
  const [shown, setShown] = useState(false);
  const hidden = secret !== undefined && secret !== "" && !shown;
  return (
    <div className={clsx("min-w-0 overflow-hidden rounded-card border border-line bg-sunken", className)}>
      <div className="flex h-9 items-center justify-between gap-2 border-b border-line pr-1 pl-3">
        <span className="truncate text-xs text-ink-3">{language ?? ""}</span>
        <span className="flex items-center">
          {secret !== undefined && secret !== "" && (
            <IconButton
              label={shown ? t.hide : t.show}
              aria-pressed={shown}
              icon={shown ? <EyeOff aria-hidden /> : <Eye aria-hidden />}
              onClick={() => setShown(!shown)}
              className="size-7! [&_svg]:size-3.5"
            />
          )}
          <Copy text={text} />
        </span>
      </div>
      <pre
        // biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls must be reachable by keyboard
        tabIndex={0}
        className={clsx(
          "overflow-x-auto p-3 font-mono text-[12.5px] leading-5 text-ink focus-visible:-outline-offset-2",
          tall && "max-h-[28rem] overflow-y-auto",
          wrap && "break-all whitespace-pre-wrap",
        )}
      >
        <code>{hidden ? text.replaceAll(secret, DOTS) : text}</code>
      </pre>
    </div>
  );
}

export function Kbd({ children }: { children: ReactNode }) {
  return (
    <kbd className="inline-flex h-5 min-w-5 items-center justify-center rounded border border-line bg-sunken px-1 font-sans text-[11px] text-ink-3">
      {children}
    </kbd>
  );
}
