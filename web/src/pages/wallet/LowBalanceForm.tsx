import { useMutation, useQueryClient } from "@tanstack/react-query";
import { type FormEvent, useEffect, useState } from "react";
import { api, type Wallet } from "@/api";
import { useRight } from "@/app/session";
import { Button, Card, Checkbox, Field, Input, Problem, toast } from "@/kit";
import { isNothing, readTypedUsd } from "@/kit/records/money";
import { useLanguage, useTexts } from "@/text";
import { walletTexts } from "./texts";

/** Below this the balance turns amber, and an event and, if wanted, an email is sent. */
export function LowBalanceForm({ wallet }: { wallet: Wallet | undefined }) {
  const t = useTexts(walletTexts);
  const may = useRight("wallet.write");
  const client = useQueryClient();
  const kept = wallet?.low_balance_threshold_usd ?? "";
  const [typed, setTyped] = useState(kept);
  const [bad, setBad] = useState(false);
  useEffect(() => setTyped(kept), [kept]);
  const keptEmail = wallet !== undefined && wallet.low_balance_email !== null;
  const [email, setEmail] = useState(keptEmail);
  useEffect(() => setEmail(keptEmail), [keptEmail]);
  const language = useLanguage();
  const save = useMutation({
    mutationFn: (mark: string | null) =>
      api.put("/api/wallet/low-balance-threshold", {
        threshold_usd: mark,
        email_language: mark !== null && email ? language : null,
      }),
    onSuccess: (_, mark) => {
      toast(mark === null ? t.lowRemoved : t.lowSaved);
      for (const name of ["wallet", "home"]) void client.invalidateQueries({ queryKey: [name] });
    },
  });
  const send = (event: FormEvent) => {
    event.preventDefault();
    const mark = readTypedUsd(typed);
    setBad(mark === null || isNothing(mark));
    if (mark !== null && !isNothing(mark)) save.mutate(mark);
  };
  return (
    <Card title={t.lowTitle}>
      <form onSubmit={send} className="space-y-3">
        <Field label={t.lowLabel} hint={t.lowText} {...(bad ? { error: t.lowBad } : {})}>
          <Input
            mono
            before="$"
            inputMode="decimal"
            value={typed}
            maxLength={24}
            disabled={!may || wallet === undefined}
            placeholder={t.lowNone}
            onChange={(event) => {
              setTyped(event.target.value);
              setBad(false);
            }}
          />
        </Field>
        {wallet?.can_send_email && may && (
          <Checkbox checked={email} onChange={setEmail} label={t.lowEmail} hint={t.lowEmailHint} />
        )}
        {may && (
          <div className="flex flex-wrap gap-2">
            <Button
              type="submit"
              busy={save.isPending}
              disabled={typed.trim() === "" || (typed === kept && email === keptEmail)}
            >
              {t.lowSave}
            </Button>
            {kept !== "" && (
              <Button
                variant="link"
                className="h-9 px-2 text-[13px]!"
                disabled={save.isPending}
                onClick={() => save.mutate(null)}
              >
                {t.lowRemove}
              </Button>
            )}
          </div>
        )}
        {save.error !== null && <Problem error={save.error} compact />}
      </form>
    </Card>
  );
}
