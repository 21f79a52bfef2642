import { useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { CircleAlert, CircleCheck } from "lucide-react";
import { useState } from "react";
import { api, type Channel, type ChannelTest, type Margins } from "@/api";
import {
  Badge,
  Button,
  Code,
  format,
  Link,
  Money,
  Num,
  Problem,
  SidePanel,
  toast,
  useGo,
  useNow,
  useParam,
} from "@/kit";
import { dayOf, daysOfPreset } from "@/kit/records/days";
import { Facts, PanelSection, PanelSkeleton } from "@/kit/records/parts";
import { locale, useLanguage, useTexts } from "@/text";
import { ActDialog, useIsAdmitted, useMay } from "../shared";
import { operatorTexts } from "../texts";
import { ChannelForm } from "./ChannelForm";
import { Credentials } from "./Credentials";
import { channelsTexts } from "./texts";
import { channelTones } from "./tones";

export default function ChannelPanel() {
  const texts = useTexts(channelsTexts);
  const t = texts.one;
  const lang = locale(useLanguage());
  const go = useGo();
  const id = useParam("id");
  const may = useMay("channels.write");
  const client = useQueryClient();
  const [isEdited, setEdited] = useState(false);
  const [isDrained, setDrained] = useState(false);
  const { data, error, refetch } = useQuery({
    queryKey: ["operator", "channel", id],
    queryFn: ({ signal }) => api.get<Channel>(`/api/operator/channels/${encodeURIComponent(id)}`, { signal }),
    enabled: useIsAdmitted(),
  });
  const path = `/api/operator/channels/${encodeURIComponent(id)}`;
  const take = async (changed: Channel) => {
    client.setQueryData(["operator", "channel", id], changed);
    await client.invalidateQueries({ queryKey: ["operator", "channels"] });
  };
  const resume = useMutation({
    mutationFn: () => api.post<Channel>(`${path}/resume`),
    onSuccess: take,
    onError: (problem) => toast(problem.message, "bad"),
  });
  return (
    <SidePanel
      title={data?.name ?? t.title}
      onClose={() => go("/operator/channels")}
      lead={data !== undefined && <Badge tone={channelTones[data.state]}>{texts.states[data.state]}</Badge>}
      footer={
        data !== undefined &&
        may && (
          <>
            {data.state === "active" ? (
              <Button onClick={() => setDrained(true)}>{t.drain}</Button>
            ) : (
              <Button busy={resume.isPending} onClick={() => resume.mutate()}>
                {t.resume}
              </Button>
            )}
            <Button variant="primary" onClick={() => setEdited(true)}>
              {t.edit}
            </Button>
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
          <ChannelFacts channel={data} />
          <Spend channel={data} />
          <Credentials channel={data} onChange={take} />
          {may && <Test path={path} />}
          <Models channel={data} />
          <PriceList channel={data} />
          {isEdited && <ChannelForm channel={data} onClose={() => setEdited(false)} />}
          <ActDialog
            open={isDrained}
            onClose={() => setDrained(false)}
            title={texts.drainDialog.title(data.name)}
            lead={texts.drainDialog.lead}
            hasReason={false}
            tone="danger"
            consequence={texts.drainDialog.act(format.count(data.last_24_hours?.calls ?? 0, lang))}
            onAct={async () => take(await api.post<Channel>(`${path}/drain`))}
          />
        </>
      )}
    </SidePanel>
  );
}

function ChannelFacts({ channel }: { channel: Channel }) {
  const t = useTexts(channelsTexts).one;
  const number = (value: number | null) => (value === null ? "–" : <Num value={value} />);
  return (
    <Facts
      className="pb-5"
      facts={[
        { name: t.facts.provider, value: channel.provider },
        { name: t.facts.address, value: channel.base_url ?? t.standard },
        { name: t.facts.priority, value: <Num value={channel.priority} /> },
        { name: t.facts.weight, value: <Num value={channel.weight} /> },
        { name: t.facts.region, value: channel.region ?? "–" },
        { name: t.facts.groups, value: channel.groups.length === 0 ? t.everyGroup : channel.groups.join(", ") },
        { name: t.facts.rpm, value: number(channel.requests_per_minute) },
        { name: t.facts.concurrent, value: number(channel.concurrent_calls) },
        { name: t.facts.retention, value: channel.zero_retention ? t.yes : t.no },
        { name: t.facts.proxy, value: channel.has_proxy ? t.yes : t.no },
      ]}
    />
  );
}

function Spend({ channel }: { channel: Channel }) {
  const t = useTexts(channelsTexts).one;
  const o = useTexts(operatorTexts);
  const today = dayOf(new Date(useNow()));
  const query = { ...daysOfPreset("7d", today), channel: channel.id, group_by: "channel" };
  const week = useQuery({
    queryKey: ["operator", "margins", "channel", query],
    queryFn: ({ signal }) => api.get<Margins>("/api/operator/margins", { query, signal }),
  });
  const day = channel.last_24_hours;
  const totals = week.data?.totals;
  const periods = [
    {
      name: t.day,
      calls: day?.calls ?? 0,
      failed: day?.failed_calls ?? 0,
      cost: day?.cost_usd ?? "0",
      sale: day?.charged_usd ?? "0",
    },
    ...(totals === undefined
      ? []
      : [
          {
            name: t.week,
            calls: totals.calls,
            failed: totals.failed_calls,
            cost: totals.cost_usd,
            sale: totals.revenue_usd,
          },
        ]),
  ];
  return (
    <PanelSection
      title={t.spend}
      aside={
        <Link href={`/operator/margins?channel=${channel.id}&by=model`} className="text-accent-ink hover:underline">
          {t.margins}
        </Link>
      }
    >
      <table className="w-full text-left">
        <thead>
          <tr className="text-xs text-ink-3 [&>th]:pb-1 [&>th]:font-medium">
            <th scope="col">{o.period}</th>
            {[o.calls, o.failed, o.cost, o.revenue].map((head) => (
              <th key={head} scope="col" className="text-right">
                {head}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {periods.map(({ name, calls, failed, cost, sale }) => (
            <tr key={name} className="[&>td]:py-1 [&>td]:text-right">
              <th scope="row" className="font-normal">
                {name}
              </th>
              <td>
                <Num value={calls} />
              </td>
              <td>
                <Num value={failed} />
              </td>
              <td>
                <Money usd={cost} kind="balance" />
              </td>
              <td>
                <Money usd={sale} kind="balance" />
              </td>
            </tr>
          ))}
        </tbody>
      </table>
    </PanelSection>
  );
}

function Test({ path }: { path: string }) {
  const t = useTexts(channelsTexts).one;
  const test = useMutation({ mutationFn: () => api.post<ChannelTest>(`${path}/test`) });
  return (
    <PanelSection
      title={t.tested}
      aside={
        <Button size="small" busy={test.isPending} onClick={() => test.mutate()}>
          {test.isPending ? t.testing : t.test}
        </Button>
      }
    >
      {test.error !== null && <Problem error={test.error} compact />}
      {test.data !== undefined && (
        <div role="status">
          <p className="mb-2 flex items-center gap-2 font-medium">
            {test.data.is_ok ? (
              <CircleCheck aria-hidden className="size-4 text-ok" />
            ) : (
              <CircleAlert aria-hidden className="size-4 text-bad" />
            )}
            {test.data.is_ok ? t.testOk : t.testBad}
          </p>
          <ul className="space-y-1 text-[13px]">
            {test.data.credentials.map((one) => (
              <li key={one.label} className="flex flex-wrap items-center gap-x-2">
                <Badge tone={one.is_ok ? "ok" : "bad"}>{one.label}</Badge>
                {one.status !== null && <span className="num">{one.status}</span>}
                {one.problem !== null && <span className="[overflow-wrap:anywhere]">{one.problem}</span>}
                {one.models_listed !== null && <span className="text-ink-3">{t.listed(one.models_listed)}</span>}
                {one.models_missing.length > 0 && (
                  <span className="text-warn">{t.missing(one.models_missing.join(", "))}</span>
                )}
              </li>
            ))}
          </ul>
        </div>
      )}
    </PanelSection>
  );
}

function Models({ channel }: { channel: Channel }) {
  const t = useTexts(channelsTexts).one;
  return (
    <PanelSection title={t.models} aside={<Num value={Object.keys(channel.models).length} />}>
      <ul className="max-h-64 space-y-1 overflow-y-auto">
        {Object.entries(channel.models).map(([ours, theirs]) => (
          <li key={ours} className="flex flex-wrap items-center gap-x-2 text-[13px]">
            <span className="num [overflow-wrap:anywhere]">{ours}</span>
            {theirs !== ours && <span className="num [overflow-wrap:anywhere] text-ink-3">→ {theirs}</span>}
            {channel.models_not_sold.includes(ours) && <Badge tone="warn">{t.notSold}</Badge>}
          </li>
        ))}
      </ul>
    </PanelSection>
  );
}

function PriceList({ channel }: { channel: Channel }) {
  const t = useTexts(channelsTexts).one;
  if (channel.cost === null) {
    return (
      <PanelSection title={t.prices}>
        <p className="text-ink-2">{t.noPrices}</p>
      </PanelSection>
    );
  }
  const { currency, rate } = channel.cost;
  const day = typeof rate === "object" && rate !== null && "as_of" in rate ? String(rate.as_of) : "";
  return (
    <PanelSection title={t.prices} aside={t.pricesAsOf(String(currency), day)}>
      <Code tall language="JSON" text={JSON.stringify(channel.cost, null, 2)} />
    </PanelSection>
  );
}
