import { clsx } from "clsx";
import { Check, X } from "lucide-react";
import { Popover } from "radix-ui";
import { type KeyboardEvent, useId, useMemo, useRef, useState } from "react";
import { useTexts } from "@/text";
import { useField } from "./Field";
import { kitTexts } from "./texts";

/** How many entries are drawn at once; typing narrows the rest. */
const SHOWN = 100;

export interface ComboboxOption {
  value: string;
  label: string;
  hint?: string;
}
export interface ComboboxProps {
  values: readonly string[];
  onChange: (values: string[]) => void;
  options: readonly ComboboxOption[];
  placeholder?: string | undefined;
  /** Words that are not in the list may be added (addresses, regions). */
  free?: boolean | undefined;
  /** One entry only: choosing replaces. */
  single?: boolean | undefined;
  disabled?: boolean | undefined;
  "aria-label"?: string | undefined;
  className?: string | undefined;
}
/** Many from a list, narrowed by typing. Arrows move, Enter takes, Backspace on an empty line removes the last. */
export function Combobox(props: ComboboxProps) {
  const { values, onChange, options, placeholder, free = false, single = false, disabled = false } = props;
  const t = useTexts(kitTexts);
  const field = useField();
  const list = useId();
  const input = useRef<HTMLInputElement>(null);
  const [open, setOpen] = useState(false);
  const [word, setWord] = useState("");
  const [at, setAt] = useState(0);
  const names = useMemo(() => new Map(options.map((option) => [option.value, option.label])), [options]);
  const shown = useMemo(() => {
    const wanted = word.trim().toLowerCase();
    const found = options.filter(
      (option) =>
        wanted === "" || option.label.toLowerCase().includes(wanted) || option.value.toLowerCase().includes(wanted),
    );
    const entries = found.slice(0, SHOWN).map((option) => ({ ...option, fresh: false }));
    const exact = options.some((option) => option.value.toLowerCase() === wanted) || values.includes(word.trim());
    if (free && wanted !== "" && !exact) entries.unshift({ value: word.trim(), label: word.trim(), fresh: true });
    return entries;
  }, [options, word, free, values]);

  const toggle = (value: string) => {
    if (single) {
      onChange([value]);
      setOpen(false);
    } else {
      onChange(values.includes(value) ? values.filter((one) => one !== value) : [...values, value]);
    }
    setWord("");
    setAt(0);
    input.current?.focus();
  };
  const onKeyDown = (event: KeyboardEvent) => {
    if (event.key === "ArrowDown" || event.key === "ArrowUp") {
      event.preventDefault();
      setOpen(true);
      const step = event.key === "ArrowDown" ? 1 : -1;
      setAt((now) => Math.min(Math.max(now + (open ? step : 0), 0), Math.max(shown.length - 1, 0)));
    } else if (event.key === "Enter") {
      const entry = shown[at];
      if (open && entry !== undefined) {
        event.preventDefault();
        toggle(entry.value);
      }
    } else if (event.key === "Escape" && open) {
      event.stopPropagation();
      setOpen(false);
    } else if (event.key === "Backspace" && word === "" && values.length > 0) {
      onChange(values.slice(0, -1));
    }
  };

  return (
    <Popover.Root open={open && !disabled} onOpenChange={setOpen}>
      <Popover.Anchor asChild>
        <div
          className={clsx(
            "flex min-h-9 w-full min-w-0 flex-wrap items-center gap-1 rounded-card border border-line-strong bg-surface px-1.5 py-1 hover:border-ink-3 focus-within:border-accent focus-within:outline-2 focus-within:outline-accent",
            disabled && "bg-sunken opacity-70",
            props.className,
          )}
        >
          {values.map((value) => (
            <span
              key={value}
              className="flex max-w-full items-center gap-1 rounded-md bg-sunken py-0.5 pr-0.5 pl-2 text-[13px] text-ink"
            >
              <span className="min-w-0 truncate">{names.get(value) ?? value}</span>
              <button
                type="button"
                disabled={disabled}
                aria-label={t.remove(names.get(value) ?? value)}
                onClick={() => onChange(values.filter((one) => one !== value))}
                className="flex size-5 items-center justify-center rounded text-ink-3 hover:bg-hover hover:text-ink"
              >
                <X aria-hidden className="size-3.5" />
              </button>
            </span>
          ))}
          <input
            {...field}
            ref={input}
            role="combobox"
            aria-expanded={open}
            aria-controls={list}
            aria-autocomplete="list"
            aria-activedescendant={open && shown.length > 0 ? `${list}-${at}` : undefined}
            aria-label={props["aria-label"]}
            autoComplete="off"
            disabled={disabled}
            value={word}
            placeholder={values.length === 0 ? (placeholder ?? t.typeToFilter) : undefined}
            onChange={(event) => {
              setWord(event.target.value);
              setAt(0);
              setOpen(true);
            }}
            onClick={() => setOpen(true)}
            onKeyDown={onKeyDown}
            onBlur={() => {
              if (free && word.trim() !== "" && !values.includes(word.trim())) onChange([...values, word.trim()]);
              setWord("");
            }}
            className="h-6 min-w-24 flex-1 bg-transparent px-1.5 text-sm text-ink outline-none"
          />
        </div>
      </Popover.Anchor>
      <Popover.Portal>
        <Popover.Content
          align="start"
          sideOffset={4}
          onOpenAutoFocus={(event) => event.preventDefault()}
          onCloseAutoFocus={(event) => event.preventDefault()}
          onInteractOutside={(event) => {
            if (event.target instanceof Node && input.current?.parentElement?.contains(event.target)) {
              event.preventDefault();
            }
          }}
          onMouseDown={(event) => event.preventDefault()}
          className="anim-fade z-50 w-(--radix-popover-trigger-width) min-w-48 overflow-hidden rounded-card border border-line bg-surface shadow-raised"
        >
          <div
            id={list}
            role="listbox"
            aria-multiselectable={!single}
            aria-label={props["aria-label"] ?? placeholder ?? t.typeToFilter}
            className="max-h-64 overflow-y-auto p-1"
          >
            {shown.map((option, index) => (
              <div
                key={option.value}
                id={`${list}-${index}`}
                role="option"
                tabIndex={-1}
                aria-selected={values.includes(option.value)}
                onMouseEnter={() => setAt(index)}
                onClick={() => toggle(option.value)}
                onKeyDown={() => {}}
                ref={(element) => {
                  if (index === at) element?.scrollIntoView({ block: "nearest" });
                }}
                className={clsx(
                  "flex cursor-pointer items-center gap-2 rounded-md px-2 py-1.5 text-sm",
                  index === at && "bg-hover",
                )}
              >
                <span className="size-4 shrink-0">
                  {values.includes(option.value) && <Check aria-hidden className="size-4 text-accent-ink" />}
                </span>
                <span className="min-w-0 flex-1 truncate">{option.fresh ? t.add(option.label) : option.label}</span>
                {option.hint !== undefined && <span className="shrink-0 text-xs text-ink-3">{option.hint}</span>}
              </div>
            ))}
          </div>
          {shown.length === 0 && <p className="px-3 py-2.5 text-xs text-ink-3">{t.nothingFound}</p>}
        </Popover.Content>
      </Popover.Portal>
    </Popover.Root>
  );
}
