/** Budgets of a key, one row a period: for the form of a new key and for changing them later. */
import { Plus, Trash2 } from "lucide-react";
import type { Budget } from "@/api";
import { Button, Field, IconButton, Input, Select } from "@/kit";
import { useTexts } from "@/text";
import { type BudgetDraft, type DraftFault, PERIODS } from "./form";
import { keysTexts } from "./texts";

export function readerZone(): string {
  return Intl.DateTimeFormat().resolvedOptions().timeZone;
}

/** The zones a reader is likely to mean; the one that is set already is always among them. */
function zonesWith(zone: string): string[] {
  return [...new Set([readerZone(), "UTC", zone])];
}

export function BudgetsForm(props: {
  budgets: BudgetDraft[];
  onChange: (budgets: BudgetDraft[]) => void;
  faults: DraftFault[];
}) {
  const { budgets, onChange, faults } = props;
  const t = useTexts(keysTexts);
  const change = (index: number, next: Partial<BudgetDraft>) =>
    onChange(budgets.map((budget, at) => (at === index ? { ...budget, ...next } : budget)));
  const free = PERIODS.filter((period) => !budgets.some((budget) => budget.period === period));
  const faultOf = (index: number) => {
    const fault = faults.find((one) => one.field === "budget" && one.index === index);
    if (fault === undefined) return undefined;
    return fault.why === "twice" ? t.periodTwice : t.amountWrong;
  };
  return (
    <div className="space-y-4">
      {budgets.map((budget, index) => (
        <div
          // biome-ignore lint/suspicious/noArrayIndexKey: a row has no name of its own, and two may have the same period
          key={index}
          className="grid grid-cols-[minmax(0,1fr)_minmax(0,1fr)_auto] items-start gap-x-3 gap-y-3 sm:grid-cols-[minmax(0,1fr)_minmax(0,1fr)_minmax(0,1.3fr)_auto]"
        >
          <Field label={t.amount} error={faultOf(index)}>
            <Input
              mono
              inputMode="decimal"
              before="$"
              placeholder={t.budgetNone}
              value={budget.limit}
              onChange={(event) => change(index, { limit: event.target.value })}
            />
          </Field>
          <Field label={t.period}>
            <Select
              value={budget.period}
              onChange={(period: Budget["period"]) => change(index, { period })}
              options={PERIODS.map((period) => ({ value: period, label: t.periodNames[period] }))}
            />
          </Field>
          <div className="order-last col-span-3 sm:order-none sm:col-span-1">
            {budget.period === "total" ? null : (
              <Field label={t.timezone}>
                <Select
                  value={budget.timezone}
                  onChange={(timezone) => change(index, { timezone })}
                  options={zonesWith(budget.timezone).map((zone) => ({ value: zone, label: zone }))}
                />
              </Field>
            )}
          </div>
          <IconButton
            label={t.removeBudget}
            icon={<Trash2 aria-hidden />}
            className="mt-[27px]"
            onClick={() => onChange(budgets.filter((_, at) => at !== index))}
          />
        </div>
      ))}
      {free[0] !== undefined && (
        <Button
          size="small"
          icon={<Plus aria-hidden />}
          onClick={() => onChange([...budgets, { period: free[0] ?? "total", timezone: readerZone(), limit: "" }])}
        >
          {t.addBudget}
        </Button>
      )}
    </div>
  );
}
