import { useInfiniteQuery } from "@tanstack/react-query";
import { Download, ReceiptText, X } from "lucide-react";
import { useMemo } from "react";
import { api, type LedgerLine, type PageOf, withQuery } from "@/api";
import {
  Badge,
  Button,
  type Column,
  DataTable,
  Empty,
  Id,
  Link,
  Money,
  Section,
  Select,
  type Tone,
  useSearch,
  When,
} from "@/kit";
import { DayRange } from "@/kit/records/DayRange";
import { dayOf } from "@/kit/records/days";
import { nano } from "@/kit/records/money";
import { Clip, quietHeads } from "@/kit/records/parts";
import { recordTexts, wordIn } from "@/kit/records/texts";
import { useTexts } from "@/text";
import { KINDS, type LedgerFilters, readLedgerFilters, writeLedgerFilters } from "./filters";
import { walletTexts } from "./texts";

const PAGE = 50;
const tones: Record<LedgerLine["kind"], Tone> = {
  charge: "neutral",
  refund: "refund",
  settlement_adjustment: "refund",
  undelivered: "refund",
  top_up: "ok",
  trial_grant: "ok",
  redemption: "ok",
  adjust: "info",
  trial_expiry: "warn",
};

/** Every movement of money, newest first. */
export function Ledger() {
  const t = useTexts(walletTexts);
  const [search, change] = useSearch();
  const today = dayOf(new Date());
  const filters = useMemo(() => readLedgerFilters(search, new Date(`${today}T12:00:00Z`)), [search, today]);
  const asked = writeLedgerFilters(filters);
  const query = useInfiniteQuery({
    queryKey: ["wallet", "ledger", asked],
    queryFn: ({ pageParam, signal }) =>
      api.get<PageOf<LedgerLine>>("/api/wallet/ledger", { query: { ...asked, after: pageParam, limit: PAGE }, signal }),
    initialPageParam: null as string | null,
    getNextPageParam: (last) => last.next,
    refetchOnWindowFocus: false,
  });
  const lines = useMemo(() => query.data?.pages.flatMap((page) => page.data), [query.data]);
  const columns = useColumns();
  const filtered = filters.kind !== "" || filters.from !== "" || filters.to !== "";
  const set = (next: Partial<LedgerFilters>) => {
    const written = writeLedgerFilters({ ...filters, ...next });
    change({ kind: written.kind, from: written.from, to: written.to });
  };
  const clear = () => set({ kind: "", from: "", to: "" });
  return (
    <Section
      title={t.movements}
      lead={t.movementsLead}
      action={
        <Button size="small" icon={<Download aria-hidden />} href={withQuery("/api/wallet/ledger.csv", asked)}>
          {t.csv}
        </Button>
      }
    >
      <div className="mb-3 flex flex-wrap items-center gap-2">
        <KindFilter kind={filters.kind} onChange={(kind) => set({ kind })} />
        <DayRange
          days={filters}
          word={t.anyDay}
          hint={t.daysHint}
          today={today}
          chosen={filters.from !== "" && filters.to !== ""}
          onChange={set}
        />
        {filtered && (
          <Button variant="link" className="h-9 px-1 text-[13px]!" icon={<X aria-hidden />} onClick={clear}>
            {t.clear}
          </Button>
        )}
      </div>
      <DataTable
        label={t.movements}
        columns={quietHeads(columns)}
        rows={lines}
        rowKey={(line) => line.id}
        error={query.error}
        retry={() => void query.refetch()}
        hasMore={query.hasNextPage}
        loadingMore={query.isFetchingNextPage}
        onMore={() => {
          if (!query.isFetchingNextPage) void query.fetchNextPage();
        }}
        skeletonRows={10}
        cardFields={["about", "kind", "amount", "time"]}
        empty={
          filtered ? (
            <Empty
              icon={<ReceiptText aria-hidden />}
              title={t.noneTitle}
              text={t.noneText}
              action={<Button onClick={clear}>{t.clear}</Button>}
            />
          ) : (
            <Empty icon={<ReceiptText aria-hidden />} title={t.emptyTitle} text={t.emptyText} />
          )
        }
      />
    </Section>
  );
}

function KindFilter({
  kind,
  onChange,
}: {
  kind: LedgerFilters["kind"];
  onChange: (kind: LedgerFilters["kind"]) => void;
}) {
  const t = useTexts(walletTexts);
  const r = useTexts(recordTexts);
  return (
    <div className="w-52">
      <Select<LedgerFilters["kind"]>
        aria-label={t.kind}
        value={kind}
        className={kind === "" ? "text-ink-2!" : "border-accent!"}
        onChange={onChange}
        options={[
          { value: "", label: t.anyKind },
          ...KINDS.map((value) => ({ value, label: wordIn(r.kinds, value), hint: t.kindsHelp[value] })),
        ]}
      />
    </div>
  );
}

function useColumns(): Column<LedgerLine>[] {
  const t = useTexts(walletTexts);
  const r = useTexts(recordTexts);
  return [
    { id: "time", head: t.cols.time, width: 132, cell: (line) => <When at={line.at} /> },
    {
      id: "kind",
      head: t.cols.kind,
      width: 210,
      cell: (line) => (
        <span data-tip={t.kindsHelp[line.kind]}>
          <Badge tone={tones[line.kind]}>{wordIn(r.kinds, line.kind)}</Badge>
        </span>
      ),
    },
    { id: "about", head: t.cols.about, width: 300, cell: (line) => <About line={line} /> },
    {
      id: "call",
      head: t.call,
      width: 210,
      cell: (line) =>
        line.request_id === null ? <span className="text-ink-3">–</span> : <Id value={line.request_id} />,
    },
    { id: "wallet", head: t.cols.wallet, width: 90, cell: (line) => r.wallets[line.wallet] },
    {
      id: "amount",
      head: t.cols.amount,
      align: "right",
      cell: (line) => (
        <Money usd={line.amount_usd} kind="call" className={nano(line.amount_usd) > 0n ? "text-ok" : "text-ink"} />
      ),
    },
  ];
}

function About({ line }: { line: LedgerLine }) {
  const r = useTexts(recordTexts);
  const text = line.text ?? line.model ?? wordIn(r.kinds, line.kind);
  if (line.request_id === null) return <Clip text={text} />;
  return (
    <Link href={`/logs/${encodeURIComponent(line.request_id)}`} className="block text-accent-ink hover:underline">
      <Clip text={text} />
    </Link>
  );
}
