import { useQuery, useQueryClient } from "@tanstack/react-query";
import { CalendarClock } from "lucide-react";
import { useState } from "react";
import { api, type ScheduledPrices } from "@/api";
import { Badge, Button, type Column, Confirm, DataTable, Empty, type Tone, toast, When } from "@/kit";
import { useTexts } from "@/text";
import { useIsAdmitted, useMay } from "../shared";
import { pricesTexts } from "./texts";

const tones: Record<ScheduledPrices["state"], Tone> = {
  waiting: "info",
  published: "ok",
  refused: "bad",
  cancelled: "neutral",
};

export function ScheduleTab() {
  const t = useTexts(pricesTexts).schedule;
  const may = useMay("prices.write");
  const client = useQueryClient();
  const [cancelled, setCancelled] = useState<ScheduledPrices | null>(null);
  const { data, error, refetch } = useQuery({
    queryKey: ["operator", "schedule"],
    queryFn: ({ signal }) => api.get<{ data: ScheduledPrices[] }>("/api/operator/catalog/schedule", { signal }),
    enabled: useIsAdmitted(),
  });
  const columns: Column<ScheduledPrices>[] = [
    { id: "at", head: t.columns.at, width: 160, primary: true, cell: (row) => <When at={row.at} /> },
    {
      id: "note",
      head: t.columns.note,
      clip: true,
      cell: (row) => (
        <span className="truncate">
          {row.note}
          {row.problem !== null && <span className="text-bad"> · {row.problem}</span>}
        </span>
      ),
    },
    { id: "author", head: t.columns.author, width: 180, clip: true, cell: (row) => row.author },
    {
      id: "state",
      head: t.columns.state,
      width: 120,
      bare: true,
      cell: (row) => <Badge tone={tones[row.state]}>{t.states[row.state]}</Badge>,
    },
    {
      id: "act",
      head: "",
      align: "right",
      width: 130,
      cell: (row) =>
        may && row.state === "waiting" ? (
          <Button size="small" onClick={() => setCancelled(row)}>
            {t.cancel}
          </Button>
        ) : null,
    },
  ];
  return (
    <>
      <DataTable
        label={t.columns.at}
        columns={columns}
        rows={data?.data}
        error={error}
        retry={() => void refetch()}
        rowKey={(row) => row.id}
        skeletonRows={4}
        cardFields={["note", "state", "at", "act"]}
        empty={<Empty icon={<CalendarClock aria-hidden />} title={t.empty} text={t.emptyText} />}
      />
      <Confirm
        open={cancelled !== null}
        onClose={() => setCancelled(null)}
        title={t.cancelTitle}
        consequence={t.cancel}
        onConfirm={async () => {
          await api.post(`/api/operator/catalog/schedule/${cancelled?.id}/cancel`);
          await client.invalidateQueries({ queryKey: ["operator", "schedule"] });
          toast(t.cancelled);
        }}
      >
        {t.cancelText}
      </Confirm>
    </>
  );
}
