import { useQuery, useQueryClient } from "@tanstack/react-query";
import { CircleAlert, Ellipsis, Eye, FileDown, Landmark, Pencil, Scale, UserPlus, UserX } from "lucide-react";
import { useState } from "react";
import { api, type CustomerDetail, type Session } from "@/api";
import { useTakeSession } from "@/app/session";
import {
  Button,
  Card,
  format,
  IconButton,
  Link,
  Menu,
  type MenuItem,
  Money,
  Problem,
  Skeleton,
  SkeletonStat,
  Stat,
  Stats,
  toast,
  useGo,
  useParam,
  When,
} from "@/kit";
import { isNothing } from "@/kit/records/money";
import { Facts } from "@/kit/records/parts";
import { locale, useLanguage, useTexts } from "@/text";
import { OperatorPage, percentText, StateBadge, useIsAdmitted, useMay } from "../shared";
import { operatorTexts } from "../texts";
import { type CustomerAct, CustomerDialogs } from "./CustomerDialogs";
import { CustomerCalls, CustomerKeys, CustomerMembers, CustomerNotes, CustomerStatement } from "./CustomerParts";
import { customersTexts } from "./texts";

export default function CustomerPage() {
  const t = useTexts(customersTexts).one;
  const id = useParam("id");
  const [act, setAct] = useState<CustomerAct | null>(null);
  const { data, error, refetch } = useQuery({
    queryKey: ["operator", "customer", id],
    queryFn: ({ signal }) => api.get<CustomerDetail>(`/api/operator/customers/${encodeURIComponent(id)}`, { signal }),
    enabled: useIsAdmitted(),
  });
  return (
    <OperatorPage
      above={
        <Link href="/operator/customers" className="hover:text-ink hover:underline">
          {t.back}
        </Link>
      }
      name={data?.name ?? t.back}
      title={
        data === undefined ? (
          <Skeleton className="h-6! w-48" />
        ) : (
          <span className="flex flex-wrap items-center gap-2">
            {data.name} <StateBadge state={data.state} />
          </span>
        )
      }
      {...(data === undefined ? {} : { action: <Actions customer={data} onAct={setAct} /> })}
    >
      {error !== null && data === undefined ? (
        <Problem error={error} retry={() => void refetch()} />
      ) : (
        <div className="space-y-6">
          {data?.state === "suspended" && <Suspension customer={data} />}
          <Figures customer={data} />
          {data !== undefined && (
            <>
              <div className="grid gap-6 lg:grid-cols-2">
                <Profile customer={data} />
                <CustomerNotes customer={data} />
              </div>
              <CustomerMembers customer={data} />
              <CustomerKeys id={data.id} />
              <CustomerCalls id={data.id} />
              <CustomerStatement id={data.id} />
              <CustomerDialogs customer={data} act={act} onClose={() => setAct(null)} />
            </>
          )}
        </div>
      )}
    </OperatorPage>
  );
}

function Suspension({ customer }: { customer: CustomerDetail }) {
  const t = useTexts(customersTexts).one;
  return (
    <p className="flex items-start gap-2.5 rounded-card border border-bad-line/40 bg-bad-soft px-4 py-2.5">
      <CircleAlert aria-hidden className="mt-0.5 size-4 shrink-0 text-bad" />
      <span className="min-w-0 [overflow-wrap:anywhere]">
        {t.suspendedSince} {customer.suspended_at !== null && <When at={customer.suspended_at} />}
        {customer.suspension_reason !== null && ` · ${customer.suspension_reason}`}
      </span>
    </p>
  );
}

function Actions({ customer, onAct }: { customer: CustomerDetail; onAct: (act: CustomerAct) => void }) {
  const t = useTexts(customersTexts).one;
  const client = useQueryClient();
  const take = useTakeSession();
  const go = useGo();
  const [write, money, view, out, erase] = [
    useMay("customers.write"),
    useMay("money.write"),
    useMay("customers.view"),
    useMay("customers.export"),
    useMay("customers.erase"),
  ];
  const isOpen = customer.state !== "closed";
  const path = `/api/operator/customers/${customer.id}`;
  const look = async () => {
    try {
      take(await api.post<Session>(`${path}/view`));
      go("/");
    } catch (problem) {
      toast(problem instanceof Error ? problem.message : String(problem), "bad");
    }
  };
  const save = async () => {
    try {
      const document_ = await api.post<unknown>(`${path}/export`);
      const file = URL.createObjectURL(new Blob([JSON.stringify(document_, null, 2)], { type: "application/json" }));
      const link = Object.assign(document.createElement("a"), { href: file, download: `customer-${customer.id}.json` });
      link.click();
      URL.revokeObjectURL(file);
      await client.invalidateQueries({ queryKey: ["operator", "actions"] });
    } catch (problem) {
      toast(problem instanceof Error ? problem.message : String(problem), "bad");
    }
  };
  const items: MenuItem[] = [];
  if (write && isOpen) {
    items.push({ label: t.edit, icon: <Pencil aria-hidden />, onSelect: () => onAct("edit") });
    items.push({ label: t.invite, icon: <UserPlus aria-hidden />, onSelect: () => onAct("invite") });
  }
  if (money && isOpen) items.push({ label: t.topUp, icon: <Landmark aria-hidden />, onSelect: () => onAct("top_up") });
  if (view) items.push({ label: t.view, icon: <Eye aria-hidden />, onSelect: () => void look() });
  if (out) items.push({ label: t.exportData, icon: <FileDown aria-hidden />, onSelect: () => void save() });
  if (erase && isOpen) {
    items.push({ kind: "line" });
    items.push({ label: t.close, icon: <UserX aria-hidden />, danger: true, onSelect: () => onAct("close") });
  }
  return (
    <>
      {money && isOpen && (
        <Button icon={<Scale aria-hidden />} onClick={() => onAct("adjust")}>
          {t.adjust}
        </Button>
      )}
      {write && customer.state === "active" && (
        <Button variant="danger" onClick={() => onAct("suspend")}>
          {t.suspend}
        </Button>
      )}
      {write && customer.state === "suspended" && (
        <Button variant="primary" onClick={() => onAct("resume")}>
          {t.resume}
        </Button>
      )}
      {items.length > 0 && (
        <Menu
          trigger={<IconButton variant="quiet" label={t.moreFor(customer.name)} icon={<Ellipsis aria-hidden />} />}
          items={items}
        />
      )}
    </>
  );
}

function Figures({ customer }: { customer: CustomerDetail | undefined }) {
  const t = useTexts(customersTexts).one;
  const o = useTexts(operatorTexts);
  const lang = locale(useLanguage());
  if (customer === undefined) {
    return (
      <Stats>
        {["a", "b", "c", "d"].map((name) => (
          <SkeletonStat key={name} />
        ))}
      </Stats>
    );
  }
  const { balance, last_30_days: month } = customer;
  return (
    <Stats>
      <Stat
        label={t.available}
        value={<Money usd={balance.available_usd} kind="balance" />}
        hint={t.reserved(format.money(balance.reserved_usd, "balance"))}
      />
      <Stat
        label={t.paid}
        value={<Money usd={customer.paid_usd} kind="balance" />}
        hint={`${t.trial} ${format.money(customer.trial_usd, "balance")}`}
      />
      {!isNothing(customer.owed_usd) && (
        <Stat label={t.owed} tone="bad" value={<Money usd={customer.owed_usd} kind="balance" />} hint={t.owedHint} />
      )}
      <Stat
        label={t.revenue30}
        value={<Money usd={month.revenue_usd} kind="balance" />}
        hint={o.callCount(format.count(month.calls, lang))}
      />
      <Stat
        label={t.margin30}
        tone={month.margin_usd.startsWith("-") ? "bad" : "neutral"}
        value={<Money usd={month.margin_usd} kind="balance" />}
        hint={percentText(month.margin_percent)}
      />
      <Stat
        label={t.errors30}
        value={percentText(month.error_percent)}
        hint={o.failedCount(format.count(month.failed_calls, lang))}
      />
    </Stats>
  );
}

function Profile({ customer }: { customer: CustomerDetail }) {
  const t = useTexts(customersTexts).one;
  const lang = locale(useLanguage());
  const limit = (value: number | null) => (value === null ? t.unlimited : format.count(value, lang));
  const low = customer.low_balance_usd;
  return (
    <Card title={t.profile}>
      <Facts
        className="sm:grid-cols-1! [&_dt]:w-32"
        facts={[
          { name: t.facts.id, value: <span className="num">{customer.id}</span> },
          { name: t.facts.group, value: customer.group },
          {
            name: t.facts.allowed,
            value: customer.allowed_groups.length === 0 ? "–" : customer.allowed_groups.join(", "),
          },
          { name: t.facts.created, value: <When at={customer.created_at} /> },
          {
            name: t.facts.toppedUp,
            value: customer.topped_up_at === null ? t.never : <When at={customer.topped_up_at} />,
          },
          { name: t.facts.low, value: low === null ? t.off : <Money usd={low} kind="balance" /> },
          { name: t.facts.rpm, value: limit(customer.limits.requests_per_minute) },
          { name: t.facts.tpm, value: limit(customer.limits.tokens_per_minute) },
          { name: t.facts.concurrent, value: limit(customer.limits.concurrent_calls) },
        ]}
      />
    </Card>
  );
}
