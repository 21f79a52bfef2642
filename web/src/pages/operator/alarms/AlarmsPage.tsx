import { useQuery } from "@tanstack/react-query";
import { BellOff } from "lucide-react";
import { type Alarm, api } from "@/api";
import { Badge, Button, type Column, DataTable, Empty, When } from "@/kit";
import { useTexts } from "@/text";
import { OperatorPage, useIsAdmitted } from "../shared";
import { alarmsTexts } from "./texts";

export default function AlarmsPage() {
  const t = useTexts(alarmsTexts);
  const { data, error, refetch } = useQuery({
    queryKey: ["operator", "alarms"],
    queryFn: ({ signal }) => api.get<{ data: Alarm[] }>("/api/operator/alarms", { signal }),
    enabled: useIsAdmitted(),
    refetchInterval: 15_000,
  });
  const columns: Column<Alarm>[] = [
    {
      id: "name",
      head: t.columns.name,
      primary: true,
      width: 220,
      cell: (row) => <span className="num">{row.name}</span>,
    },
    {
      id: "state",
      head: t.columns.state,
      width: 110,
      bare: true,
      cell: (row) => <Badge tone={row.is_firing ? "bad" : "ok"}>{row.is_firing ? t.firing : t.over}</Badge>,
    },
    {
      id: "subject",
      head: t.columns.subject,
      width: 220,
      clip: true,
      cell: (row) => [row.subject, row.node].filter((word) => word !== "").join(" · ") || t.all,
    },
    {
      id: "summary",
      head: t.columns.summary,
      cell: (row) => <span className="whitespace-normal">{row.summary}</span>,
    },
    { id: "changed", head: t.columns.changed, width: 140, cell: (row) => <When at={row.changed_at} /> },
  ];
  const rows = data?.data.toSorted((one, other) => Number(other.is_firing) - Number(one.is_firing));
  return (
    <OperatorPage
      title={t.title}
      lead={t.lead}
      wide
      action={<Button href="/docs/operate/alerting">{t.whatToDo}</Button>}
    >
      <DataTable
        label={t.title}
        columns={columns}
        rows={rows}
        error={error}
        retry={() => void refetch()}
        rowKey={(row) => `${row.name} ${row.subject} ${row.node}`}
        skeletonRows={5}
        cardFields={["name", "state", "subject", "summary"]}
        empty={<Empty icon={<BellOff aria-hidden />} title={t.empty} text={t.emptyText} />}
      />
    </OperatorPage>
  );
}
