import { clsx } from "clsx";
import { Check, ChevronDown, Search } from "lucide-react";
import { Popover } from "radix-ui";
import { type KeyboardEvent, useId, useMemo, useRef, useState } from "react";
import { useField } from "@/kit";
import { useTexts } from "@/text";
import { recordTexts } from "./texts";

export interface SelectOption {
  value: string;
  label: string;
  hint?: string;
}
interface PickProps {
  value: string;
  onChange: (value: string) => void;
  options: readonly SelectOption[];
  /** Said while nothing is chosen, and the first entry of the list. */
  any: string;
  label: string;
  /** A word that is not in the list may be taken as it was typed. */
  free?: boolean;
  /** Hears what is typed, where the list is only a part of what there is. */
  onSearch?: (word: string) => void;
  className?: string;
}

/** How many entries are drawn at once; typing narrows the rest. */
const SHOWN = 100;

/** One of many, found by typing. Always one line high, so that a row of filters does not move. */
export function MultiSelect({ value, onChange, options, any, label, free = false, onSearch, className }: PickProps) {
  const t = useTexts(recordTexts);
  const field = useField();
  const list = useId();
  const input = useRef<HTMLInputElement>(null);
  const [open, setOpen] = useState(false);
  const [word, setWord] = useState("");
  const [at, setAt] = useState(0);
  const shown = useMemo(() => {
    const wanted = word.trim().toLowerCase();
    const found = options
      .filter((one) => [one.label, one.value, one.hint ?? ""].some((text) => text.toLowerCase().includes(wanted)))
      .slice(0, SHOWN);
    if (wanted === "") return [{ value: "", label: any }, ...found];
    const exact = options.some((one) => one.value.toLowerCase() === wanted);
    return free && !exact ? [...found, { value: word.trim(), label: t.take(word.trim()) }] : found;
  }, [options, word, any, free, t]);
  const chosen = value === "" ? any : (options.find((one) => one.value === value)?.label ?? value);
  const change = (next: boolean) => {
    setOpen(next);
    setWord("");
    onSearch?.("");
    setAt(0);
  };
  const take = (next: string) => {
    onChange(next);
    change(false);
  };
  const onKeyDown = (event: KeyboardEvent) => {
    if (event.key === "ArrowDown") setAt(Math.min(at + 1, shown.length - 1));
    else if (event.key === "ArrowUp") setAt(Math.max(at - 1, 0));
    else if (event.key === "Enter") {
      const entry = shown[at];
      if (entry !== undefined) take(entry.value);
    } else return;
    event.preventDefault();
  };
  return (
    <Popover.Root open={open} onOpenChange={change}>
      <Popover.Trigger asChild>
        <button
          type="button"
          {...field}
          aria-label={`${label}: ${chosen}`}
          className={clsx(
            "flex h-9 w-full min-w-0 items-center justify-between gap-2 rounded-card border bg-surface px-3 text-left text-sm transition-colors duration-100 hover:border-ink-3 focus-visible:border-accent focus-visible:outline-offset-0",
            value === "" ? "border-line-strong text-ink-2" : "border-accent text-ink",
            className,
          )}
        >
          <span className="min-w-0 truncate">{chosen}</span>
          <ChevronDown aria-hidden className="size-4 shrink-0 text-ink-3" />
        </button>
      </Popover.Trigger>
      <Popover.Portal>
        <Popover.Content
          align="start"
          sideOffset={4}
          collisionPadding={8}
          aria-label={label}
          onOpenAutoFocus={(event) => {
            event.preventDefault();
            input.current?.focus();
          }}
          className="anim-fade z-50 w-[max(var(--radix-popover-trigger-width),16rem)] max-w-[calc(100vw-1rem)] overflow-hidden rounded-card border border-line bg-surface shadow-raised"
        >
          <div className="flex h-10 items-center gap-2 border-b border-line px-3">
            <Search aria-hidden className="size-4 shrink-0 text-ink-3" />
            <input
              ref={input}
              role="combobox"
              aria-label={label}
              aria-expanded
              aria-controls={list}
              aria-autocomplete="list"
              aria-activedescendant={shown.length > 0 ? `${list}-${at}` : undefined}
              autoComplete="off"
              value={word}
              placeholder={t.typeToFind}
              onChange={(event) => {
                setWord(event.target.value);
                onSearch?.(event.target.value);
                setAt(0);
              }}
              onKeyDown={onKeyDown}
              className="h-full min-w-0 flex-1 bg-transparent text-sm text-ink outline-none"
            />
          </div>
          <div id={list} role="listbox" aria-label={label} className="max-h-72 overflow-y-auto p-1">
            {shown.map((option, index) => (
              <div
                key={option.value}
                id={`${list}-${index}`}
                role="option"
                tabIndex={-1}
                aria-selected={option.value === value}
                onMouseEnter={() => setAt(index)}
                onClick={() => take(option.value)}
                onKeyDown={() => {}}
                ref={(element) => {
                  if (index === at) element?.scrollIntoView({ block: "nearest" });
                }}
                className={clsx(
                  "flex min-h-8 cursor-pointer items-center gap-2 rounded-md px-2 py-1 text-sm",
                  index === at && "bg-hover",
                )}
              >
                <span className="min-w-0 flex-1 truncate">{option.label}</span>
                {option.hint !== undefined && <span className="num shrink-0 text-xs text-ink-3">{option.hint}</span>}
                <span className="size-4 shrink-0">
                  {option.value === value && <Check aria-hidden className="size-4 text-accent-ink" />}
                </span>
              </div>
            ))}
          </div>
          {shown.length === 0 && <p className="px-3 pt-1 pb-3 text-xs text-ink-3">{t.nothingFound}</p>}
        </Popover.Content>
      </Popover.Portal>
    </Popover.Root>
  );
}
