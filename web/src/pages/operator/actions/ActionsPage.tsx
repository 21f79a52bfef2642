import { useInfiniteQuery } from "@tanstack/react-query";
import { Download, ScrollText, Search } from "lucide-react";
import { useState } from "react";
import { type Action, api, withQuery } from "@/api";
import {
  Button,
  Code,
  type Column,
  DataTable,
  Dialog,
  Empty,
  Input,
  Link,
  Menu,
  Select,
  useSearch,
  useSettled,
  When,
} from "@/kit";
import { Facts } from "@/kit/records/parts";
import { textOf } from "@/kit/records/search";
import { useTexts } from "@/text";
import { OperatorPage, useIsAdmitted } from "../shared";
import { operatorTexts } from "../texts";
import { actionsTexts } from "./texts";

interface Page {
  data: Action[];
  next_before: number | string | null;
}
const FIELDS = ["actor", "action", "customer"] as const;

export default function ActionsPage() {
  const t = useTexts(actionsTexts);
  const o = useTexts(operatorTexts);
  const [search, setSearch] = useSearch();
  const [open, setOpen] = useState<Action | null>(null);
  const typed = {
    actor: textOf(search, "actor"),
    action: textOf(search, "action"),
    customer: textOf(search, "customer"),
    kind: textOf(search, "kind"),
  };
  const filters = useSettled(JSON.stringify(typed));
  const query: typeof typed = JSON.parse(filters);
  const list = useInfiniteQuery({
    queryKey: ["operator", "actions", query],
    initialPageParam: undefined as number | string | undefined,
    queryFn: ({ signal, pageParam }) =>
      api.get<Page>("/api/operator/actions", { query: { ...query, before: pageParam, limit: 50 }, signal }),
    getNextPageParam: (page) => page.next_before ?? undefined,
    enabled: useIsAdmitted(),
  });
  const columns: Column<Action>[] = [
    { id: "time", head: t.columns.time, width: 130, cell: (row) => <When at={row.at} /> },
    { id: "actor", head: t.columns.actor, width: 220, clip: true, cell: (row) => row.actor },
    {
      id: "action",
      head: t.columns.action,
      primary: true,
      cell: (row) => (
        <button type="button" className="num text-left hover:underline" onClick={() => setOpen(row)}>
          {row.action}
        </button>
      ),
    },
    { id: "subject", head: t.columns.subject, clip: true, cell: (row) => row.subject },
    { id: "reason", head: t.columns.reason, clip: true, cell: (row) => row.reason ?? "–" },
    { id: "from", head: t.columns.from, width: 140, mono: true, cell: (row) => row.address ?? "–" },
  ];
  const isNarrowed = Object.values(query).some((value) => value !== "");
  const exported = (format: string) => withQuery("/api/operator/actions/export", { ...query, format });
  return (
    <OperatorPage
      title={t.title}
      lead={t.lead}
      wide
      action={
        <Menu
          trigger={<Button icon={<Download aria-hidden />}>{t.exportAs}</Button>}
          items={[
            { label: t.exportCsv, href: exported("csv") },
            { label: t.exportJson, href: exported("jsonl") },
          ]}
        />
      }
    >
      <div className="mb-4 flex flex-wrap gap-2">
        {FIELDS.map((name) => (
          <Input
            key={name}
            type="search"
            aria-label={t.search[name]}
            placeholder={t.search[name]}
            className="sm:w-52!"
            value={typed[name]}
            onChange={(event) => setSearch({ [name]: event.target.value.trim() })}
          />
        ))}
        <Select
          aria-label={t.kind}
          className="w-40!"
          value={typed.kind}
          onChange={(kind) => setSearch({ kind })}
          options={[
            { value: "", label: o.all },
            { value: "operator", label: t.kinds.operator },
            { value: "member", label: t.kinds.member },
            { value: "command", label: t.kinds.command },
          ]}
        />
      </div>
      <DataTable
        label={t.title}
        columns={columns}
        rows={list.data?.pages.flatMap((page) => page.data)}
        error={list.error}
        retry={() => void list.refetch()}
        rowKey={(row) => row.id}
        hasMore={list.hasNextPage}
        loadingMore={list.isFetchingNextPage}
        onMore={() => void list.fetchNextPage()}
        cardFields={["action", "actor", "subject", "time"]}
        empty={
          isNarrowed ? (
            <Empty icon={<Search aria-hidden />} title={t.noMatch} />
          ) : (
            <Empty icon={<ScrollText aria-hidden />} title={t.empty} text={t.emptyText} />
          )
        }
      />
      {open !== null && <ActionDialog action={open} onClose={() => setOpen(null)} />}
    </OperatorPage>
  );
}

function ActionDialog({ action, onClose }: { action: Action; onClose: () => void }) {
  const texts = useTexts(actionsTexts);
  const t = texts.one;
  const shown = (value: Record<string, unknown> | null) =>
    value === null ? t.nothing : JSON.stringify(value, null, 2);
  return (
    <Dialog open wide onClose={onClose} title={action.action}>
      <Facts
        facts={[
          { name: t.facts.time, value: <When at={action.at} /> },
          { name: t.facts.actor, value: action.actor },
          { name: t.facts.kind, value: texts.kinds[action.kind] },
          { name: t.facts.address, value: action.address ?? "–" },
          { name: t.facts.agent, value: action.agent ?? "–" },
          {
            name: t.facts.customer,
            value:
              action.customer_id === null ? (
                "–"
              ) : (
                <Link
                  className="text-accent-ink hover:underline"
                  href={`/operator/customers/${action.customer_id}`}
                  onClick={onClose}
                >
                  #{action.customer_id}
                </Link>
              ),
          },
          { name: t.facts.subject, value: action.subject },
          { name: t.facts.reason, value: action.reason ?? "–" },
        ]}
      />
      <div className="mt-4 grid gap-4 sm:grid-cols-2">
        <Code tall language={t.before} text={shown(action.before)} />
        <Code tall language={t.after} text={shown(action.after)} />
      </div>
    </Dialog>
  );
}
