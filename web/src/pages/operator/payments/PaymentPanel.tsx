import { useQuery, useQueryClient } from "@tanstack/react-query";
import { useState } from "react";
import { api, type OperatorPaymentDetail } from "@/api";
import {
  Badge,
  Button,
  Field,
  format,
  Id,
  Input,
  Link,
  Money,
  Problem,
  SidePanel,
  toast,
  useGo,
  useParam,
  When,
} from "@/kit";
import { usdOf } from "@/kit/format";
import { isNothing, nano, readTypedUsd } from "@/kit/records/money";
import { Facts, PanelSection, PanelSkeleton } from "@/kit/records/parts";
import { wordIn } from "@/kit/records/texts";
import { useTexts } from "@/text";
import { ActDialog, useIsAdmitted, useMay } from "../shared";
import { paymentsTexts } from "./texts";
import { disputeTones, paymentTones } from "./tones";

export default function PaymentPanel() {
  const texts = useTexts(paymentsTexts);
  const t = texts.one;
  const id = useParam("id");
  const go = useGo();
  const may = useMay("money.write");
  const [isRefunded, setRefunded] = useState(false);
  const { data, error, refetch } = useQuery({
    queryKey: ["operator", "payment", id],
    queryFn: ({ signal }) =>
      api.get<OperatorPaymentDetail>(`/api/operator/payments/${encodeURIComponent(id)}`, { signal }),
    enabled: useIsAdmitted(),
  });
  return (
    <SidePanel
      title={t.title}
      onClose={() => go("/operator/payments")}
      lead={<Id value={id} />}
      footer={
        data !== undefined && (
          <>
            {data.receipt_url !== null && (
              <a
                href={data.receipt_url}
                target="_blank"
                rel="noreferrer"
                className="inline-flex h-9 items-center px-3 font-medium text-accent-ink hover:underline"
              >
                {t.receipt}
              </a>
            )}
            {may && !isNothing(data.refundable_usd) && (
              <Button variant="danger" onClick={() => setRefunded(true)}>
                {t.refund}
              </Button>
            )}
          </>
        )
      }
    >
      {error !== null && data === undefined ? (
        <Problem error={error} retry={() => void refetch()} />
      ) : data === undefined ? (
        <PanelSkeleton />
      ) : (
        <>
          <PaymentFacts payment={data} />
          <PanelSection title={t.reversals}>
            {data.reversals.length === 0 ? (
              <p className="text-ink-3">{t.none}</p>
            ) : (
              <ul className="space-y-2">
                {data.reversals.map((one) => (
                  <li key={one.id} className="flex flex-wrap items-center gap-2">
                    <span className="font-medium">{t.kinds[one.kind]}</span>
                    {one.kind === "dispute" && (
                      <Badge tone={disputeTones[one.state]}>{texts.disputeStates[one.state]}</Badge>
                    )}
                    <Money usd={one.amount_usd} kind="balance" />
                    <span className="text-xs text-ink-3">
                      <When at={one.changed_at} />
                    </span>
                  </li>
                ))}
              </ul>
            )}
          </PanelSection>
          {isRefunded && <Refund payment={data} onClose={() => setRefunded(false)} />}
        </>
      )}
    </SidePanel>
  );
}

function PaymentFacts({ payment }: { payment: OperatorPaymentDetail }) {
  const texts = useTexts(paymentsTexts);
  const t = texts.one.facts;
  return (
    <Facts
      className="pb-5"
      facts={[
        {
          name: t.customer,
          value: (
            <Link className="text-accent-ink hover:underline" href={`/operator/customers/${payment.customer_id}`}>
              {payment.customer_name}
            </Link>
          ),
        },
        { name: t.state, value: <Badge tone={paymentTones[payment.state]}>{texts.states[payment.state]}</Badge> },
        { name: t.amount, value: <Money usd={payment.amount_usd} kind="balance" /> },
        { name: t.returned, value: <Money usd={payment.returned_usd} kind="balance" /> },
        { name: t.kind, value: wordIn(texts.kinds, payment.kind) },
        { name: t.provider, value: payment.provider },
        {
          name: t.reference,
          value: payment.provider_payment === null ? "–" : <Id value={payment.provider_payment} />,
        },
        { name: t.created, value: <When at={payment.created_at} /> },
        { name: t.paid, value: payment.paid_at === null ? "–" : <When at={payment.paid_at} /> },
        ...(payment.failure === null ? [] : [{ name: t.failure, value: payment.failure }]),
      ]}
    />
  );
}

function Refund({ payment, onClose }: { payment: OperatorPaymentDetail; onClose: () => void }) {
  const t = useTexts(paymentsTexts).refund;
  const client = useQueryClient();
  const [typed, setTyped] = useState(() => wholeCents(payment.refundable_usd));
  const amount = readTypedUsd(typed);
  const isReady = amount !== null && !isNothing(amount) && wholeCents(amount) === amount;
  return (
    <ActDialog
      open
      onClose={onClose}
      tone="danger"
      title={t.title}
      lead={t.lead(format.money(payment.refundable_usd, "balance"))}
      ready={isReady}
      consequence={isReady ? t.act(format.money(amount, "balance")) : t.idle}
      onAct={async (reason) => {
        const path = `/api/operator/payments/${encodeURIComponent(payment.id)}/refund`;
        const changed = await api.post<OperatorPaymentDetail>(path, { amount_usd: amount, reason });
        client.setQueryData(["operator", "payment", payment.id], changed);
        await client.invalidateQueries({ queryKey: ["operator", "payments"] });
        toast(t.done);
      }}
    >
      <Field label={t.amount} error={typed !== "" && !isReady ? t.wrong : undefined}>
        <Input before="$" inputMode="decimal" mono value={typed} onChange={(event) => setTyped(event.target.value)} />
      </Field>
    </ActDialog>
  );
}

/** Providers move whole cents; what is left of a cent stays in the wallet. */
function wholeCents(usd: string): string {
  const nanos = nano(usd);
  return usdOf(nanos - (nanos % 10_000_000n));
}
