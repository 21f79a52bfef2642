import { CalendarDays } from "lucide-react";
import { Popover } from "radix-ui";
import { type FormEvent, useState } from "react";
import { Button, Field, Input } from "@/kit";
import { dayLabel } from "@/kit/format";
import { locale, useLanguage, useTexts } from "@/text";
import { type Days, isDay, tidyDays } from "./days";
import { recordTexts } from "./texts";

interface DayRangeProps {
  days: { from: string; to: string };
  onChange: (days: Days) => void;
  /** What the button says instead of the days. */
  word: string;
  hint: string;
  today: string;
  chosen: boolean;
}

/** Two UTC days, both included, behind a button. */
export function DayRange({ days, onChange, word, hint, today, chosen }: DayRangeProps) {
  const t = useTexts(recordTexts);
  const lang = locale(useLanguage());
  const [open, setOpen] = useState(false);
  const [from, setFrom] = useState(days.from);
  const [to, setTo] = useState(days.to);
  const whole = isDay(from) && isDay(to);
  const apply = (event: FormEvent) => {
    event.preventDefault();
    if (!whole) return;
    onChange(tidyDays(from, to, today));
    setOpen(false);
  };
  return (
    <Popover.Root
      open={open}
      onOpenChange={(next) => {
        setOpen(next);
        setFrom(days.from);
        setTo(days.to);
      }}
    >
      <Popover.Trigger asChild>
        <Button icon={<CalendarDays aria-hidden />} className={chosen ? "border-accent!" : ""}>
          {chosen && isDay(days.from) && isDay(days.to)
            ? [...new Set([days.from, days.to])].map((day) => dayLabel(day, lang)).join(" – ")
            : word}
        </Button>
      </Popover.Trigger>
      <Popover.Portal>
        <Popover.Content
          align="start"
          sideOffset={6}
          collisionPadding={8}
          aria-label={word}
          className="anim-fade z-50 w-80 max-w-[calc(100vw-1rem)] rounded-card border border-line bg-surface shadow-raised"
        >
          <form onSubmit={apply} className="space-y-3 p-4">
            <div className="grid grid-cols-2 gap-3">
              <Field label={t.from}>
                <Input type="date" max={today} value={from} onChange={(event) => setFrom(event.target.value)} />
              </Field>
              <Field label={t.to}>
                <Input type="date" max={today} value={to} onChange={(event) => setTo(event.target.value)} />
              </Field>
            </div>
            <p className="text-xs text-ink-3">{hint}</p>
            <div className="flex justify-end">
              <Button type="submit" variant="primary" disabled={!whole}>
                {t.apply}
              </Button>
            </div>
          </form>
        </Popover.Content>
      </Popover.Portal>
    </Popover.Root>
  );
}
