import { useInfiniteQuery, useQueryClient } from "@tanstack/react-query";
import { Plus, Search, Users } from "lucide-react";
import { useState } from "react";
import { api, type Customer, type CustomerDetail } from "@/api";
import {
  Badge,
  Button,
  type Column,
  DataTable,
  Empty,
  Field,
  Input,
  Money,
  Select,
  useGo,
  useSearch,
  useSettled,
  When,
} from "@/kit";
import { textOf } from "@/kit/records/search";
import { useTexts } from "@/text";
import { ActDialog, OperatorPage, StateBadge, useIsAdmitted, useMay } from "../shared";
import { operatorTexts } from "../texts";
import { customersTexts } from "./texts";

interface Page {
  data: Customer[];
  next_after: number | null;
}

export default function CustomersPage() {
  const t = useTexts(customersTexts);
  const o = useTexts(operatorTexts);
  const may = useMay("customers.write");
  const [search, setSearch] = useSearch();
  const [word, setWord] = useState(textOf(search, "search"));
  const settled = useSettled(word.trim());
  const state = textOf(search, "state");
  const list = useInfiniteQuery({
    queryKey: ["operator", "customers", settled, state],
    initialPageParam: undefined as number | undefined,
    queryFn: ({ signal, pageParam }) =>
      api.get<Page>("/api/operator/customers", {
        query: { search: settled, state, after: pageParam, limit: 50 },
        signal,
      }),
    getNextPageParam: (page) => page.next_after ?? undefined,
    enabled: useIsAdmitted(),
  });
  const columns: Column<Customer>[] = [
    {
      id: "name",
      head: t.columns.name,
      primary: true,
      clip: true,
      cell: (row) => (
        <span className="flex min-w-0 items-center gap-2">
          <span className="min-w-0 truncate">{row.name}</span>
          {row.kind === "test" && <Badge>{t.test}</Badge>}
          <span className="num shrink-0 text-xs font-normal whitespace-nowrap text-ink-3">{o.number(row.id)}</span>
          {row.owner_email !== null && (
            <span className="hidden min-w-0 truncate text-xs font-normal text-ink-3 lg:inline">{row.owner_email}</span>
          )}
        </span>
      ),
    },
    { id: "state", head: t.columns.state, width: 120, bare: true, cell: (row) => <StateBadge state={row.state} /> },
    { id: "group", head: t.columns.group, width: 120, cell: (row) => row.group },
    {
      id: "paid",
      head: t.columns.paid,
      align: "right",
      width: 130,
      cell: (row) => <Money usd={row.paid_usd} kind="balance" />,
    },
    {
      id: "trial",
      head: t.columns.trial,
      align: "right",
      width: 110,
      cell: (row) => <Money usd={row.trial_usd} kind="balance" />,
    },
    { id: "created", head: t.columns.created, width: 150, cell: (row) => <When at={row.created_at} /> },
  ];
  const isNarrowed = settled !== "" || state !== "";
  return (
    <OperatorPage
      title={t.title}
      lead={t.lead}
      action={
        may && (
          <Button variant="primary" icon={<Plus aria-hidden />} onClick={() => setSearch({ add: 1 })}>
            {t.add}
          </Button>
        )
      }
    >
      <div className="mb-4 flex flex-wrap gap-2">
        <Input
          type="search"
          aria-label={t.search}
          placeholder={t.search}
          before={<Search aria-hidden />}
          className="sm:w-80!"
          value={word}
          onChange={(event) => {
            setWord(event.target.value);
            setSearch({ search: event.target.value.trim() });
          }}
        />
        <Select
          aria-label={t.columns.state}
          className="w-40!"
          value={state}
          onChange={(next) => setSearch({ state: next })}
          options={[
            { value: "", label: o.all },
            { value: "active", label: o.states.active },
            { value: "suspended", label: o.states.suspended },
            { value: "closed", label: o.states.closed },
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
        rowHref={(row) => `/operator/customers/${row.id}`}
        hasMore={list.hasNextPage}
        loadingMore={list.isFetchingNextPage}
        onMore={() => void list.fetchNextPage()}
        cardFields={["name", "state", "paid", "group"]}
        empty={
          isNarrowed ? (
            <Empty icon={<Search aria-hidden />} title={t.noMatch} text={t.noMatchText} />
          ) : (
            <Empty icon={<Users aria-hidden />} title={t.empty} text={t.emptyText} />
          )
        }
      />
      {may && <NewCustomer open={search["add"] !== undefined} onClose={() => setSearch({ add: undefined })} />}
    </OperatorPage>
  );
}

function NewCustomer({ open, onClose }: { open: boolean; onClose: () => void }) {
  const t = useTexts(customersTexts).dialog;
  const client = useQueryClient();
  const go = useGo();
  const [name, setName] = useState("");
  const [group, setGroup] = useState("");
  return (
    <ActDialog
      open={open}
      onClose={onClose}
      title={t.title}
      lead={t.lead}
      consequence={t.create}
      hasReason={false}
      ready={name.trim() !== ""}
      onAct={async () => {
        const body = { name: name.trim(), ...(group.trim() === "" ? {} : { group: group.trim() }) };
        const made = await api.post<CustomerDetail>("/api/operator/customers", body);
        await client.invalidateQueries({ queryKey: ["operator", "customers"] });
        go(`/operator/customers/${made.id}`);
      }}
    >
      <Field label={t.name}>
        <Input value={name} maxLength={100} onChange={(event) => setName(event.target.value)} />
      </Field>
      <Field label={t.group} hint={t.groupHint}>
        <Input value={group} onChange={(event) => setGroup(event.target.value)} />
      </Field>
    </ActDialog>
  );
}
