/** Paying: a page of the payment provider, and the saved method that pays by itself. */
import { useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { CreditCard } from "lucide-react";
import { type FormEvent, useState } from "react";
import { api, type Wallet } from "@/api";
import type { components } from "@/api/schema";
import { useRight, useSession } from "@/app/session";
import { Badge, Button, Card, Checkbox, Field, Input, Money, Problem, Skeleton, type Tone, toast, When } from "@/kit";
import { compareUsd, money } from "@/kit/format";
import { readTypedUsd } from "@/kit/records/money";
import { sentences, useTexts } from "@/text";
import { walletTexts } from "./texts";

type Payments = components["schemas"]["Payments"];
type Payment = components["schemas"]["Payment"];

const PAYMENTS = ["wallet", "payments"] as const;
const CHOICES = ["10", "25", "50", "100"];
const TONES: Record<Payment["state"], Tone> = { open: "info", paid: "ok", failed: "bad" };

function usePayments() {
  return useQuery({
    queryKey: PAYMENTS,
    queryFn: ({ signal }) => api.get<Payments>("/api/payments", { signal }),
  });
}

export function Pay({ wallet }: { wallet: Wallet | undefined }) {
  const t = useTexts(walletTexts);
  const { instance } = useSession();
  const may = useRight("wallet.write");
  const payments = usePayments();
  return (
    <Card title={t.topUp}>
      {payments.error !== null ? (
        <Problem error={payments.error} compact retry={() => void payments.refetch()} />
      ) : payments.data === undefined ? (
        <Skeleton className="h-3! w-32" />
      ) : !payments.data.is_available ? (
        <p className="text-ink-2">{t.topUpText(instance.name)}</p>
      ) : may ? (
        <CheckoutForm payments={payments.data} />
      ) : (
        <p className="text-ink-2">{t.payNoRight}</p>
      )}
      <div className="mt-3 min-h-5 text-xs text-ink-3">
        {wallet === undefined ? (
          <Skeleton className="h-3! w-32" />
        ) : wallet.topped_up_at === null ? (
          sentences([t.topUpNever, t.trialSocial])
        ) : (
          <>
            {t.topUpLastWord} <When at={wallet.topped_up_at} />
          </>
        )}
      </div>
    </Card>
  );
}

function CheckoutForm({ payments }: { payments: Payments }) {
  const t = useTexts(walletTexts);
  const [typed, setTyped] = useState("25");
  const [saves, setSaves] = useState(false);
  const usd = readTypedUsd(typed);
  const fits = usd !== null && compareUsd(usd, payments.min_usd) >= 0 && compareUsd(usd, payments.max_usd) <= 0;
  const start = useMutation({
    mutationFn: (amount: string) =>
      api.post<{ url: string }>("/api/payments/checkout", { amount_usd: amount, save_method: saves }),
    onSuccess: ({ url }) => window.location.assign(url),
  });
  const send = (event: FormEvent) => {
    event.preventDefault();
    if (usd !== null && fits) start.mutate(usd);
  };
  const bounds = t.payBounds(money(payments.min_usd, "balance"), money(payments.max_usd, "balance"));
  return (
    <form onSubmit={send} className="space-y-3">
      <Field label={t.payAmount} hint={bounds} {...(fits ? {} : { error: bounds })}>
        <Input
          mono
          before="$"
          inputMode="decimal"
          maxLength={12}
          value={typed}
          onChange={(event) => setTyped(event.target.value)}
        />
      </Field>
      <div className="flex flex-wrap gap-2">
        {CHOICES.map((choice) => (
          <Button key={choice} size="small" onClick={() => setTyped(choice)}>
            {money(choice, "balance")}
          </Button>
        ))}
      </div>
      {!payments.has_saved_method && (
        <Checkbox checked={saves} onChange={setSaves} label={t.paySave} hint={t.paySaveHint} />
      )}
      <Button type="submit" variant="primary" icon={<CreditCard aria-hidden />} busy={start.isPending} disabled={!fits}>
        {t.payButton(usd !== null && fits ? money(usd, "balance") : "")}
      </Button>
      {start.error !== null && <Problem error={start.error} compact />}
    </form>
  );
}

/** What was paid, and the rule of the saved method; nothing where there is neither. */
export function PaymentsCard() {
  const t = useTexts(walletTexts);
  const { data } = usePayments();
  if (data === undefined || (data.payments.length === 0 && !data.has_saved_method)) return null;
  return (
    <Card title={t.payments}>
      <div className="space-y-5">
        {data.has_saved_method && <AutomaticForm payments={data} />}
        {data.payments.length > 0 && (
          <ul className="divide-y divide-line">
            {data.payments.map((one) => (
              <PaymentRow key={one.id} payment={one} />
            ))}
          </ul>
        )}
      </div>
    </Card>
  );
}

function PaymentRow({ payment }: { payment: Payment }) {
  const t = useTexts(walletTexts);
  return (
    <li className="flex flex-wrap items-center gap-x-4 gap-y-1 py-2">
      <span className="w-32 text-ink-2">
        <When at={payment.paid_at ?? payment.created_at} />
      </span>
      <span className="w-28">
        <Badge tone={TONES[payment.state]}>{t.payStates[payment.state]}</Badge>
      </span>
      <span className="text-ink-2">{t.payKinds[payment.kind]}</span>
      {payment.failure !== null && (
        <span className="min-w-0 [overflow-wrap:anywhere] text-ink-3">{payment.failure}</span>
      )}
      {payment.returned_usd !== "0" && (
        <span className="text-ink-3">{t.payReturned(money(payment.returned_usd, "balance"))}</span>
      )}
      <span className="ml-auto flex items-center gap-4">
        {payment.receipt_url !== null && (
          <a href={payment.receipt_url} target="_blank" rel="noreferrer" className="text-accent-ink hover:underline">
            {t.payReceipt}
          </a>
        )}
        <Money usd={payment.amount_usd} kind="balance" />
      </span>
    </li>
  );
}

function AutomaticForm({ payments }: { payments: Payments }) {
  const t = useTexts(walletTexts);
  const may = useRight("wallet.write");
  const client = useQueryClient();
  const rule = payments.automatic_top_up;
  const [below, setBelow] = useState(rule?.below_usd ?? "10");
  const [amount, setAmount] = useState(rule?.amount_usd ?? "25");
  const [most, setMost] = useState(rule?.month_max_usd ?? "100");
  const values = {
    below_usd: readTypedUsd(below),
    amount_usd: readTypedUsd(amount),
    month_max_usd: readTypedUsd(most),
  };
  const whole = Object.values(values).every((value) => value !== null && value !== "0");
  const change = useMutation({
    mutationFn: (body: object | null) =>
      body === null ? api.delete("/api/payments/automatic-top-up") : api.put("/api/payments/automatic-top-up", body),
    onSuccess: (_, body) => {
      toast(body === null ? t.autoRemoved : t.autoSaved);
      void client.invalidateQueries({ queryKey: PAYMENTS });
    },
  });
  const send = (event: FormEvent) => {
    event.preventDefault();
    if (whole) change.mutate(values);
  };
  return (
    <form onSubmit={send} className="space-y-3">
      <div>
        <h3 className="font-medium text-ink">{t.auto}</h3>
        <p className="mt-0.5 text-ink-2">{rule === null ? t.autoOff : rule.is_paused ? t.autoPaused : t.autoOn}</p>
      </div>
      <div className="grid max-w-2xl gap-3 sm:grid-cols-3">
        <UsdField label={t.autoBelow} value={below} onChange={setBelow} disabled={!may} />
        <UsdField label={t.autoAmount} value={amount} onChange={setAmount} disabled={!may} />
        <UsdField label={t.autoMost} value={most} onChange={setMost} disabled={!may} />
      </div>
      {may && (
        <div className="flex flex-wrap gap-2">
          <Button type="submit" busy={change.isPending} disabled={!whole}>
            {t.autoSave}
          </Button>
          {rule !== null && (
            <Button
              variant="link"
              className="h-9 px-2 text-[13px]!"
              disabled={change.isPending}
              onClick={() => change.mutate(null)}
            >
              {t.autoRemove}
            </Button>
          )}
        </div>
      )}
      {change.error !== null && <Problem error={change.error} compact />}
    </form>
  );
}

interface UsdFieldProps {
  label: string;
  value: string;
  onChange: (value: string) => void;
  disabled: boolean;
}

function UsdField({ label, value, onChange, disabled }: UsdFieldProps) {
  return (
    <Field label={label}>
      <Input
        mono
        before="$"
        inputMode="decimal"
        disabled={disabled}
        value={value}
        onChange={(event) => onChange(event.target.value)}
      />
    </Field>
  );
}
