/** All keys of the account: who spends what, within which budget. */
import { Outlet } from "@tanstack/react-router";
import { KeyRound, Plus, Search } from "lucide-react";
import { useMemo, useState } from "react";
import type { Key } from "@/api";
import { useRight } from "@/app/session";
import {
  Button,
  type Column,
  DataTable,
  Empty,
  Input,
  Money,
  Page,
  useParam,
  useSearch,
  useSettled,
  When,
} from "@/kit";
import { useTexts } from "@/text";
import { useKeys } from "./data";
import { tightest } from "./form";
import { BudgetBar, StateBadge } from "./parts";
import { type KeysTexts, keysTexts } from "./texts";

function columnsOf(t: KeysTexts): Column<Key>[] {
  return [
    { id: "name", head: t.name, primary: true, clip: true, cell: (key) => key.name },
    { id: "hint", head: t.hint, mono: true, cell: (key) => key.hint },
    { id: "state", head: t.state, cell: (key) => <StateBadge state={key.state} /> },
    {
      id: "budget",
      head: t.budget,
      width: 300,
      cell: (key) => {
        const budget = tightest(key.budgets);
        return budget === null ? (
          <span className="text-ink-3">{t.noBudget}</span>
        ) : (
          <BudgetBar budget={budget} compact />
        );
      },
    },
    {
      id: "spent",
      head: t.spent,
      align: "right",
      cell: (key) => <Money usd={key.spent_30_days_usd} kind="balance" />,
    },
    {
      id: "used",
      head: t.used,
      align: "right",
      cell: (key) =>
        key.last_used_at === null ? <span className="text-ink-3">{t.never}</span> : <When at={key.last_used_at} />,
    },
  ];
}

export default function KeysPage() {
  const t = useTexts(keysTexts);
  const mayWrite = useRight("keys.write");
  const open = useParam("id");
  const [search, setSearch] = useSearch();
  const [typed, setTyped] = useState(search["q"] ?? "");
  const q = useSettled(typed.trim());
  const keys = useKeys(q);
  const rows = useMemo(() => keys.data?.pages.flatMap((page) => page.data), [keys.data]);
  const columns = useMemo(() => columnsOf(t), [t]);
  const none = q === "" && rows?.length === 0;
  const create = mayWrite ? (
    <Button variant="primary" icon={<Plus aria-hidden />} href="/keys/new">
      {t.create}
    </Button>
  ) : undefined;
  return (
    <Page title={t.title} lead={mayWrite ? t.lead : t.noRight} wide action={create}>
      {!none && (
        <div className="mb-4 max-w-72">
          <Input
            type="search"
            aria-label={t.search}
            placeholder={t.searchPlaceholder}
            before={<Search aria-hidden />}
            value={typed}
            onChange={(event) => {
              setTyped(event.target.value);
              setSearch({ q: event.target.value });
            }}
          />
        </div>
      )}
      <DataTable
        label={t.title}
        columns={columns}
        rows={rows}
        rowKey={(key) => key.id}
        rowHref={(key) => `/keys/${key.id}`}
        current={open === "" ? undefined : Number(open)}
        loading={keys.isPending}
        error={keys.error}
        retry={() => void keys.refetch()}
        hasMore={keys.hasNextPage}
        loadingMore={keys.isFetchingNextPage}
        onMore={() => void keys.fetchNextPage()}
        cardFields={["name", "state", "budget", "spent"]}
        empty={
          q === "" ? (
            <Empty icon={<KeyRound aria-hidden />} title={t.empty} text={t.emptyText} action={create} />
          ) : (
            <Empty title={t.none} text={t.noneText(q)} />
          )
        }
      />
      <Outlet />
    </Page>
  );
}
