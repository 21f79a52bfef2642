import { useMutation, useQueryClient } from "@tanstack/react-query";
import { CircleCheck, Ticket } from "lucide-react";
import { type FormEvent, useState } from "react";
import { api, type Balance } from "@/api";
import { useRight } from "@/app/session";
import { Button, Card, Field, Input, Problem } from "@/kit";
import { money } from "@/kit/format";
import { useTexts } from "@/text";
import { looksWhole, tidyCode } from "./code";
import { walletTexts } from "./texts";

interface Redeemed {
  amount_usd: string;
  wallet: "paid" | "trial";
  balance: Balance;
}

export function Redeem() {
  const t = useTexts(walletTexts);
  const may = useRight("wallet.write");
  const client = useQueryClient();
  const [code, setCode] = useState("");
  const [short, setShort] = useState(false);
  const redeem = useMutation({
    mutationFn: (typed: string) => api.post<Redeemed>("/api/wallet/redeem", { code: typed }),
    onSuccess: () => {
      setCode("");
      for (const name of ["wallet", "home"]) void client.invalidateQueries({ queryKey: [name] });
    },
  });
  const send = (event: FormEvent) => {
    event.preventDefault();
    const whole = looksWhole(code);
    setShort(!whole);
    if (whole) redeem.mutate(tidyCode(code));
  };
  const done = redeem.data;
  return (
    <Card title={t.redeem}>
      {may ? (
        <form onSubmit={send} className="space-y-3">
          <Field label={t.code} hint={t.codeHint} {...(short ? { error: t.codeShort } : {})}>
            <Input
              mono
              name="code"
              value={code}
              maxLength={48}
              spellCheck={false}
              autoCapitalize="characters"
              placeholder="TL-XXXX-XXXX-XXXX-XXXX"
              onChange={(event) => {
                setCode(event.target.value);
                setShort(false);
              }}
              onBlur={() => setCode(tidyCode(code))}
            />
          </Field>
          <Button type="submit" icon={<Ticket aria-hidden />} busy={redeem.isPending} disabled={code.trim() === ""}>
            {t.codeButton}
          </Button>
          {redeem.error !== null && <Problem error={redeem.error} compact />}
          {done !== undefined && !redeem.isPending && (
            <div
              role="status"
              className="flex items-start gap-2.5 rounded-card border border-ok-line/40 bg-ok-soft px-3 py-2 text-[13px]"
            >
              <CircleCheck aria-hidden className="mt-0.5 size-4 shrink-0 text-ok" />
              <div className="min-w-0">
                <p className="font-medium text-ink">{t.codeDone(money(done.amount_usd, "balance"))}</p>
                <p className="text-ink-2">
                  {t.codeDoneText(t.codeInto[done.wallet], money(done.balance.available_usd, "balance"))}
                </p>
              </div>
            </div>
          )}
        </form>
      ) : (
        <p className="text-ink-2">{t.codeNoRight}</p>
      )}
    </Card>
  );
}
