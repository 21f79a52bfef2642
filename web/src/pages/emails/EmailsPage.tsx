import { useQuery } from "@tanstack/react-query";
import { Clock, Inbox, MailWarning } from "lucide-react";
import { api, type Email } from "@/api";
import { useSession } from "@/app/session";
import { Badge, type Column, Copy, DataTable, Empty, Page, type Tone, When } from "@/kit";
import { useTexts } from "@/text";
import { emailsTexts } from "./texts";

const tones: Record<Email["state"], Tone> = { waiting: "info", sent: "ok", failed: "bad", kept: "warn" };

export default function EmailsPage() {
  const t = useTexts(emailsTexts);
  const { person, instance } = useSession();
  const operator = person?.is_operator === true;
  const { data, error, refetch } = useQuery({
    queryKey: ["emails"],
    queryFn: ({ signal }) => api.get<{ data: Email[] }>("/api/operator/emails", { signal }),
    enabled: operator,
    refetchInterval: 15_000,
  });
  const columns: Column<Email>[] = [
    { id: "to", head: t.columns.to, cell: (row) => row.to, primary: true, clip: true },
    { id: "kind", head: t.columns.kind, cell: (row) => t.kinds[row.kind], width: 160, bare: true },
    {
      id: "state",
      head: t.columns.state,
      width: 130,
      bare: true,
      cell: (row) => (
        <span data-tip={row.last_error ?? undefined}>
          <Badge
            tone={tones[row.state]}
            {...(row.state === "waiting"
              ? { icon: <Clock aria-hidden /> }
              : row.state === "kept"
                ? { icon: <Inbox aria-hidden /> }
                : {})}
          >
            {t.states[row.state]}
          </Badge>
        </span>
      ),
    },
    { id: "created", head: t.columns.created, cell: (row) => <When at={row.created_at} />, width: 150 },
    { id: "expires", head: t.columns.expires, cell: (row) => <When at={row.expires_at} />, width: 150 },
    {
      id: "link",
      head: "",
      align: "right",
      cell: (row) => (row.link === "" ? null : <Copy word text={row.link} label={t.copy} />),
      width: 130,
    },
  ];
  return (
    <Page title={t.title} lead={t.lead}>
      {!operator ? (
        <div className="rounded-card border border-line bg-surface">
          <Empty title={t.operatorsOnly} text={t.operatorsOnlyText} />
        </div>
      ) : (
        <>
          {!instance.sends_mail && (
            <p className="mb-4 flex items-start gap-2.5 rounded-card border border-warn-line/40 bg-warn-soft px-4 py-2.5">
              <MailWarning aria-hidden className="mt-0.5 size-4 shrink-0 text-warn" />
              {t.noMail}
            </p>
          )}
          <DataTable
            label={t.title}
            columns={columns}
            rows={data?.data}
            error={error}
            retry={() => void refetch()}
            rowKey={(row) => row.id}
            cardFields={["to", "kind", "state", "expires", "link"]}
            empty={<Empty icon={<Inbox aria-hidden />} title={t.empty} text={t.emptyText} />}
          />
          {data !== undefined && data.data.length > 0 && <p className="mt-3 text-xs text-ink-3">{t.secret}</p>}
        </>
      )}
    </Page>
  );
}
