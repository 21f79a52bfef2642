import { useQuery, useQueryClient } from "@tanstack/react-query";
import { Cable } from "lucide-react";
import { useState } from "react";
import { api, type OpenConnection } from "@/api";
import { Badge, Button, type Column, DataTable, Empty, Id, Link, toast, When } from "@/kit";
import { useTexts } from "@/text";
import { ActDialog, OperatorPage, useIsAdmitted, useMay } from "../shared";
import { connectionsTexts } from "./texts";

const queryKey = ["operator", "connections"];

export default function ConnectionsPage() {
  const t = useTexts(connectionsTexts);
  const may = useMay("customers.write");
  const client = useQueryClient();
  const [chosen, setChosen] = useState<OpenConnection | null>(null);
  const { data, error, refetch } = useQuery({
    queryKey,
    queryFn: ({ signal }) => api.get<{ data: OpenConnection[] }>("/api/operator/connections", { signal }),
    enabled: useIsAdmitted(),
    refetchInterval: 5_000,
  });
  const columns: Column<OpenConnection>[] = [
    {
      id: "customer",
      head: t.columns.customer,
      primary: true,
      clip: true,
      cell: (row) => (
        <Link href={`/operator/customers/${row.customer_id}`}>{row.customer ?? `#${row.customer_id}`}</Link>
      ),
    },
    { id: "model", head: t.columns.model, clip: true, cell: (row) => row.model ?? t.anyModel },
    { id: "key", head: t.columns.key, width: 140, clip: true, cell: (row) => row.key_name ?? `#${row.key_id}` },
    { id: "channel", head: t.columns.channel, width: 140, clip: true, cell: (row) => row.channel ?? "–" },
    { id: "node", head: t.columns.node, width: 110, clip: true, cell: (row) => row.node },
    { id: "opened", head: t.columns.opened, width: 130, cell: (row) => <When at={row.opened_at} /> },
    { id: "id", head: t.columns.id, width: 160, cell: (row) => <Id value={row.id} head={8} tail={4} /> },
    {
      id: "act",
      head: "",
      align: "right",
      width: 110,
      cell: (row) => {
        if (row.is_closing) return <Badge tone="info">{t.closing}</Badge>;
        if (!may) return null;
        return (
          <Button size="small" aria-label={`${t.close} ${row.id}`} onClick={() => setChosen(row)}>
            {t.close}
          </Button>
        );
      },
    },
  ];
  return (
    <OperatorPage title={t.title} lead={t.lead} wide>
      <DataTable
        label={t.title}
        columns={columns}
        rows={data?.data}
        error={error}
        retry={() => void refetch()}
        rowKey={(row) => row.id}
        skeletonRows={5}
        cardFields={["customer", "model", "opened", "act"]}
        empty={<Empty icon={<Cable aria-hidden />} title={t.empty} text={t.emptyText} />}
      />
      <ActDialog
        open={chosen !== null}
        onClose={() => setChosen(null)}
        title={t.closeTitle}
        lead={t.closeLead}
        consequence={t.closeDo}
        tone="danger"
        onAct={async (reason) => {
          await api.post(`/api/operator/connections/${chosen?.id}/close`, { reason });
          await client.invalidateQueries({ queryKey });
          toast(t.closed);
        }}
      />
    </OperatorPage>
  );
}
