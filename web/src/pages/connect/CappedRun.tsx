/** One line that starts an agent with a sub-key of its own: capped, expiring, deleted at the end. */
import { Wallet } from "lucide-react";
import { useState } from "react";
import { useSession } from "@/app/session";
import { Button, Card, Code, Field, Input, Select } from "@/kit";
import { readTypedUsd } from "@/kit/records/money";
import { secretOf } from "@/pages/keys/secrets";
import { useTexts } from "@/text";
import { type AgentId, CAPPED_TIMES, type CappedTime, cappedLine } from "./snippets";
import { connectTexts } from "./texts";

export function CappedRun({ agent, keyId, model }: { agent: AgentId; keyId: string; model: string }) {
  const t = useTexts(connectTexts).capped;
  const { instance } = useSession();
  const [open, setOpen] = useState(false);
  const [budget, setBudget] = useState("2");
  const [time, setTime] = useState<CappedTime>("1h");
  const secret = secretOf(keyId);
  const usd = readTypedUsd(budget);
  const usable = usd !== null && usd !== "0";
  return (
    <Card title={t.title}>
      <p className="text-ink-2">{t.text}</p>
      {!open ? (
        <Button className="mt-3" icon={<Wallet aria-hidden />} onClick={() => setOpen(true)}>
          {t.button}
        </Button>
      ) : (
        <div className="mt-3 space-y-3">
          <div className="grid max-w-md grid-cols-2 gap-3">
            <Field label={t.budget} error={usable ? undefined : t.budgetFault}>
              <Input inputMode="decimal" value={budget} onChange={(event) => setBudget(event.target.value)} />
            </Field>
            <Field label={t.time}>
              <Select
                value={time}
                onChange={setTime}
                options={CAPPED_TIMES.map((value) => ({ value, label: t.times[value] }))}
              />
            </Field>
          </div>
          {usable && (
            <Code
              language="bash"
              text={cappedLine(agent, { base: instance.base_url, key: secret, model }, usd, time)}
              secret={secret ?? undefined}
            />
          )}
          <p className="text-xs text-ink-3">{t.after}</p>
        </div>
      )}
    </Card>
  );
}
