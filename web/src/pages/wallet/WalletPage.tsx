import { useQuery } from "@tanstack/react-query";
import { TriangleAlert } from "lucide-react";
import { api, type Wallet } from "@/api";
import { Card, Link, Money, Page, Problem, Progress, SkeletonStat, Stat, Stats, When } from "@/kit";
import { compareUsd, money } from "@/kit/format";
import { isNothing, shareOf } from "@/kit/records/money";
import { named, sentences, useTexts } from "@/text";
import { Ledger } from "./Ledger";
import { LowBalanceForm } from "./LowBalanceForm";
import { Pay, PaymentsCard } from "./Pay";
import { Redeem } from "./Redeem";
import { walletTexts } from "./texts";

/** The same answer as the balance in the top bar: asked once for both. */
export const WALLET = ["wallet", "balance"] as const;

export default function WalletPage() {
  const t = useTexts(walletTexts);
  const { data, error, refetch } = useQuery({
    queryKey: WALLET,
    queryFn: ({ signal }) => api.get<Wallet>("/api/wallet", { signal }),
  });
  return (
    <Page title={t.title} lead={t.lead}>
      {error !== null && data === undefined ? (
        <Problem error={error} retry={() => void refetch()} />
      ) : (
        <WalletOverview wallet={data} />
      )}
      <div className="mt-8">
        <Ledger />
      </div>
    </Page>
  );
}

function WalletOverview({ wallet }: { wallet: Wallet | undefined }) {
  return (
    <div className="space-y-4">
      <Balances wallet={wallet} />
      <div className="grid items-stretch gap-4 lg:grid-cols-3">
        <Redeem />
        <Pay wallet={wallet} />
        <LowBalanceForm wallet={wallet} />
      </div>
      {wallet === undefined ? null : <Budgets wallet={wallet} />}
      <PaymentsCard />
    </div>
  );
}

function Balances({ wallet }: { wallet: Wallet | undefined }) {
  const t = useTexts(walletTexts);
  if (wallet === undefined) {
    return (
      <Stats>
        <SkeletonStat />
        <SkeletonStat />
        <SkeletonStat />
        <SkeletonStat />
      </Stats>
    );
  }
  const { balance, low_balance_threshold_usd } = wallet;
  const low = balance.is_low && low_balance_threshold_usd !== null;
  const ended = balance.trial_expires_at !== null && Date.parse(balance.trial_expires_at) < Date.now();
  const trial =
    isNothing(balance.trial_usd) && balance.trial_expires_at === null
      ? t.trialNone
      : balance.trial_expires_at === null
        ? t.trialNoEnd
        : null;
  return (
    <div>
      <Stats>
        <Stat
          label={t.available}
          value={<Money usd={balance.available_usd} kind="balance" className="whitespace-normal!" />}
          {...(low ? { tone: "warn" as const } : {})}
          hint={
            low ? (
              <span className="inline-flex items-center gap-1 text-warn">
                <TriangleAlert aria-hidden className="size-3.5 shrink-0" />
                {t.availableLow(money(low_balance_threshold_usd, "balance"))}
              </span>
            ) : (
              t.availableHint
            )
          }
        />
        <Stat
          label={t.paid}
          value={<Money usd={balance.paid_usd} kind="balance" className="whitespace-normal!" />}
          hint={t.paidHint}
        />
        <Stat
          label={t.trial}
          value={<Money usd={balance.trial_usd} kind="balance" className="whitespace-normal!" />}
          hint={
            trial ?? (
              <>
                {ended ? t.trialEndedWord : t.trialEndsWord} <When at={balance.trial_expires_at ?? ""} />
              </>
            )
          }
        />
        <Stat
          label={t.reserved}
          value={<Money usd={balance.reserved_usd} kind="balance" className="whitespace-normal!" />}
          hint={t.reservedHint}
        />
      </Stats>
      <p className="mt-2 px-1 text-xs [overflow-wrap:anywhere] text-ink-3">
        {isNothing(balance.trial_usd) ? t.order : sentences([t.order, t.trialBuys])}
      </p>
    </div>
  );
}

function Budgets({ wallet }: { wallet: Wallet }) {
  const t = useTexts(walletTexts);
  return (
    <Card
      title={t.budgets}
      action={
        <Link href="/keys" className="text-[13px] text-accent-ink hover:underline">
          {t.budgetsKeys}
        </Link>
      }
    >
      {wallet.budgets.length === 0 ? (
        <p className="text-ink-2">{t.budgetsNone}</p>
      ) : (
        <ul className="grid gap-x-8 gap-y-4 sm:grid-cols-2">
          {wallet.budgets.map((budget) => {
            const reached = compareUsd(budget.used_usd, budget.limit_usd) >= 0;
            const share = shareOf(budget.used_usd, budget.limit_usd);
            const said = t.budgetOf(money(budget.used_usd, "balance"), money(budget.limit_usd, "balance"));
            return (
              <li key={budget.id} className="min-w-0">
                <div className="mb-1.5 flex flex-wrap items-baseline justify-between gap-x-3">
                  <span className="font-medium text-ink">{t.periods[budget.period]}</span>
                  <span className="num text-ink-2">{said}</span>
                </div>
                <Progress
                  value={share}
                  label={named(t.periods[budget.period], said)}
                  tone={reached ? "bad" : share >= 0.8 ? "warn" : "accent"}
                />
                <p className="mt-1.5 flex flex-wrap gap-x-2 text-xs text-ink-3">
                  {reached && <span className="text-bad">{t.budgetReached}</span>}
                  {budget.ends_at !== null && (
                    <span className="min-w-0 [overflow-wrap:anywhere]">
                      {t.budgetAnew} <When at={budget.ends_at} /> · {budget.timezone}
                    </span>
                  )}
                </p>
              </li>
            );
          })}
        </ul>
      )}
    </Card>
  );
}
