import { useQuery } from "@tanstack/react-query";
import { History } from "lucide-react";
import { useState } from "react";
import { api, type PriceRevision, type PriceRevisionDetail } from "@/api";
import { Badge, Button, type Column, DataTable, Dialog, Empty, Problem, SkeletonRows, When } from "@/kit";
import { useTexts } from "@/text";
import { useIsAdmitted, useMay } from "../shared";
import { Differences, PreviewDialog } from "./PreviewDialog";
import { pricesTexts } from "./texts";

export function HistoryTab() {
  const t = useTexts(pricesTexts).history;
  const may = useMay("prices.write");
  const [shown, setShown] = useState<number | null>(null);
  const [back, setBack] = useState<number | null>(null);
  const { data, error, refetch } = useQuery({
    queryKey: ["operator", "price-history"],
    queryFn: ({ signal }) =>
      api.get<{ data: PriceRevision[] }>("/api/operator/catalog/history", { query: { limit: 100 }, signal }),
    enabled: useIsAdmitted(),
  });
  const newest = data?.data[0]?.revision;
  const columns: Column<PriceRevision>[] = [
    {
      id: "revision",
      head: t.columns.revision,
      primary: true,
      width: 130,
      cell: (row) => (
        <span className="flex items-center gap-2">
          <span className="num">{row.revision}</span>
          {row.revision === newest && <Badge tone="ok">{t.current}</Badge>}
        </span>
      ),
    },
    { id: "note", head: t.columns.note, clip: true, cell: (row) => row.note },
    { id: "author", head: t.columns.author, width: 180, clip: true, cell: (row) => row.author },
    { id: "time", head: t.columns.time, width: 140, cell: (row) => <When at={row.created_at} /> },
    {
      id: "act",
      head: "",
      align: "right",
      width: 260,
      cell: (row) => (
        <span className="inline-flex gap-2">
          <Button size="small" aria-label={`${t.show} ${row.revision}`} onClick={() => setShown(row.revision)}>
            {t.show}
          </Button>
          {may && row.revision !== newest && (
            <Button size="small" aria-label={`${t.rollback} ${row.revision}`} onClick={() => setBack(row.revision)}>
              {t.rollback}
            </Button>
          )}
        </span>
      ),
    },
  ];
  return (
    <>
      <DataTable
        label={t.columns.revision}
        columns={columns}
        rows={data?.data}
        error={error}
        retry={() => void refetch()}
        rowKey={(row) => row.revision}
        skeletonRows={6}
        cardFields={["revision", "note", "time", "act"]}
        empty={<Empty icon={<History aria-hidden />} title={t.empty} text={t.emptyText} />}
      />
      {shown !== null && <Revision revision={shown} onClose={() => setShown(null)} />}
      {back !== null && <PreviewDialog asked={{ revision: back }} onClose={() => setBack(null)} />}
    </>
  );
}

function Revision({ revision, onClose }: { revision: number; onClose: () => void }) {
  const t = useTexts(pricesTexts).history;
  const { data, error } = useQuery({
    queryKey: ["operator", "price-history", revision],
    queryFn: ({ signal }) => api.get<PriceRevisionDetail>(`/api/operator/catalog/history/${revision}`, { signal }),
  });
  return (
    <Dialog open wide onClose={onClose} title={t.title(revision)} {...(data === undefined ? {} : { lead: data.note })}>
      {error !== null ? (
        <Problem error={error} compact />
      ) : data === undefined ? (
        <SkeletonRows rows={4} />
      ) : data.prices.length === 0 ? (
        <p className="text-ink-2">{t.nothing}</p>
      ) : (
        <Differences prices={data.prices} />
      )}
    </Dialog>
  );
}
