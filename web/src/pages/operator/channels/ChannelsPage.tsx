import { useQuery } from "@tanstack/react-query";
import { Outlet } from "@tanstack/react-router";
import { Plus, Route } from "lucide-react";
import { api, type Channel } from "@/api";
import { Badge, Button, type Column, DataTable, Empty, Money, Num, useParam, useSearch } from "@/kit";
import { locale, useLanguage, useTexts } from "@/text";
import { OperatorPage, useIsAdmitted, useMay } from "../shared";
import { ChannelForm } from "./ChannelForm";
import { channelsTexts } from "./texts";
import { channelTones } from "./tones";

export function useChannels() {
  return useQuery({
    queryKey: ["operator", "channels"],
    queryFn: ({ signal }) => api.get<{ data: Channel[] }>("/api/operator/channels", { signal }),
    enabled: useIsAdmitted(),
    refetchInterval: 30_000,
  });
}

export default function ChannelsPage() {
  const t = useTexts(channelsTexts);
  const lang = locale(useLanguage());
  const may = useMay("channels.write");
  const [search, setSearch] = useSearch();
  const open = useParam("id");
  const { data, error, refetch } = useChannels();
  const columns: Column<Channel>[] = [
    {
      id: "name",
      head: t.columns.name,
      primary: true,
      clip: true,
      cell: (row) => (
        <span className="flex min-w-0 items-center gap-2">
          <span className="min-w-0 truncate">{row.name}</span>
          <span className="truncate text-xs font-normal text-ink-3">{row.provider}</span>
        </span>
      ),
    },
    {
      id: "state",
      head: t.columns.state,
      width: 130,
      bare: true,
      cell: (row) => <Badge tone={channelTones[row.state]}>{t.states[row.state]}</Badge>,
    },
    {
      id: "credentials",
      head: t.columns.credentials,
      width: 150,
      cell: (row) => {
        const usable = row.credentials.filter((one) => one.state === "usable").length;
        const text = t.usable(usable, row.credentials.length);
        return usable === row.credentials.length ? text : <Badge tone={usable === 0 ? "bad" : "warn"}>{text}</Badge>;
      },
    },
    {
      id: "models",
      head: t.columns.models,
      align: "right",
      width: 90,
      cell: (row) => <Num value={Object.keys(row.models).length} />,
    },
    {
      id: "today",
      head: t.columns.today,
      align: "right",
      width: 110,
      cell: (row) => <Num value={row.last_24_hours?.calls ?? 0} />,
    },
    {
      id: "errors",
      head: t.columns.errors,
      align: "right",
      width: 120,
      cell: (row) => (
        <span className="num">{share(row.last_24_hours?.failed_calls ?? 0, row.last_24_hours?.calls ?? 0, lang)}</span>
      ),
    },
    {
      id: "cost",
      head: t.columns.cost,
      align: "right",
      width: 130,
      cell: (row) => <Money usd={row.last_24_hours?.cost_usd ?? "0"} kind="balance" />,
    },
    {
      id: "revenue",
      head: t.columns.revenue,
      align: "right",
      width: 140,
      cell: (row) => <Money usd={row.last_24_hours?.charged_usd ?? "0"} kind="balance" />,
    },
  ];
  const add = may && (
    <Button variant="primary" icon={<Plus aria-hidden />} onClick={() => setSearch({ add: 1 })}>
      {t.add}
    </Button>
  );
  return (
    <OperatorPage title={t.title} lead={t.lead} wide action={add}>
      <DataTable
        label={t.title}
        columns={columns}
        rows={data?.data}
        error={error}
        retry={() => void refetch()}
        rowKey={(row) => String(row.id)}
        rowHref={(row) => `/operator/channels/${row.id}`}
        current={open === "" ? undefined : open}
        cardFields={["name", "state", "credentials", "errors"]}
        empty={<Empty icon={<Route aria-hidden />} title={t.empty} text={t.emptyText} action={add} />}
      />
      {may && search["add"] !== undefined && (
        <ChannelForm channel={null} onClose={() => setSearch({ add: undefined })} />
      )}
      <Outlet />
    </OperatorPage>
  );
}

function share(part: number, whole: number, lang: string): string {
  if (whole === 0) return "–";
  return new Intl.NumberFormat(lang, { style: "percent", maximumFractionDigits: 1 }).format(part / whole);
}
