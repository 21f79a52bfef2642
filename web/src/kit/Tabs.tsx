import { clsx } from "clsx";
import { Tabs as RadixTabs } from "radix-ui";
import { type ReactNode, useLayoutEffect, useRef } from "react";

export interface TabsProps<V extends string> {
  value: V;
  onChange: (value: V) => void;
  tabs: readonly { value: V; label: ReactNode; content?: ReactNode; count?: number | undefined }[];
  label: string;
  className?: string;
}
export function Tabs<V extends string>({ value, onChange, tabs, label, className }: TabsProps<V>) {
  const list = useRef<HTMLDivElement>(null);
  const at = tabs.findIndex((one) => one.value === value);
  // On a narrow screen the row of tabs is wider than its place: the chosen one stays in sight.
  useLayoutEffect(() => {
    const row = list.current;
    const tab = row?.children[at];
    if (row === null || !(tab instanceof HTMLElement)) return;
    const show = () => {
      const end = tab.offsetLeft + tab.offsetWidth - row.clientWidth;
      if (row.scrollLeft < end) row.scrollLeft = end;
      else if (row.scrollLeft > tab.offsetLeft) row.scrollLeft = tab.offsetLeft;
    };
    show();
    // The row is wider with its own fonts.
    void document.fonts.ready.then(show);
  }, [at]);
  return (
    <RadixTabs.Root value={value} onValueChange={(next) => onChange(next as V)} className={clsx("min-w-0", className)}>
      <RadixTabs.List
        ref={list}
        aria-label={label}
        className="relative flex overflow-x-auto border-b border-line [scrollbar-width:none]"
      >
        {tabs.map((tab) => (
          <RadixTabs.Trigger
            key={tab.value}
            value={tab.value}
            className="-mb-px flex h-9 shrink-0 items-center gap-1.5 border-b-2 border-transparent px-3 font-medium whitespace-nowrap text-ink-3 transition-colors duration-100 first:pl-1 hover:text-ink focus-visible:-outline-offset-2 data-[state=active]:border-accent data-[state=active]:text-ink"
          >
            {tab.label}
            {tab.count !== undefined && (
              <span className="num rounded bg-sunken px-1 text-xs text-ink-3">{tab.count}</span>
            )}
          </RadixTabs.Trigger>
        ))}
      </RadixTabs.List>
      {tabs.map((tab) => (
        <RadixTabs.Content
          key={tab.value}
          value={tab.value}
          className="min-w-0 pt-4 outline-none focus-visible:outline-2"
        >
          {tab.content}
        </RadixTabs.Content>
      ))}
    </RadixTabs.Root>
  );
}

/** A few choices side by side, one of them on. */
export function Segments<V extends string>(props: {
  value: V;
  onChange: (value: V) => void;
  options: readonly { value: V; label: ReactNode }[];
  label: string;
  className?: string;
}) {
  return (
    <div
      role="radiogroup"
      aria-label={props.label}
      className={clsx(
        "inline-flex max-w-full overflow-x-auto rounded-card bg-sunken p-0.5 [scrollbar-width:none]",
        props.className,
      )}
    >
      {props.options.map((option) => (
        <label
          key={option.value}
          className={clsx(
            "flex h-7 shrink-0 items-center rounded-md px-2.5 text-[13px] font-medium whitespace-nowrap has-focus-visible:outline-2 has-focus-visible:outline-accent",
            option.value === props.value
              ? "bg-raised text-ink shadow-[0_0_0_1px_var(--line)]"
              : "text-ink-3 hover:text-ink",
          )}
        >
          <input
            type="radio"
            className="sr-only"
            name={props.label}
            checked={option.value === props.value}
            onChange={() => props.onChange(option.value)}
          />
          {option.label}
        </label>
      ))}
    </div>
  );
}
