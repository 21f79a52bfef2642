/** Social platforms: which capability each has, what one call costs, whether it is on sale. */
import { CircleCheck, CirclePause, Search } from "lucide-react";
import { useMemo, useState } from "react";
import {
  Badge,
  Button,
  Card,
  type Column,
  DataTable,
  Empty,
  Input,
  Link,
  Money,
  Problem,
  Select,
  usePhone,
  useSearch,
} from "@/kit";
import { useTexts } from "@/text";
import { useSocialCatalog } from "./data";
import { dollarsOfNumber } from "./price";
import type { SocialCell } from "./record";
import { type CatalogTexts, catalogTexts } from "./texts";

export function capabilityName(t: CatalogTexts, capability: string): string {
  return (t.social.capabilities as Record<string, string>)[capability] ?? capability;
}

function columnsOf(t: CatalogTexts, phone: boolean): Column<SocialCell>[] {
  const words = t.social;
  return [
    {
      id: "platform",
      head: words.platform,
      primary: true,
      cell: (cell) => (
        <>
          {cell.name}
          {phone && ` · ${capabilityName(t, cell.capability)}`}
        </>
      ),
    },
    { id: "capability", head: words.capability, cell: (cell) => capabilityName(t, cell.capability) },
    {
      id: "price",
      head: words.price,
      align: "right",
      cell: (cell) =>
        cell.price_usd === null ? (
          <span className="text-ink-3">{words.noPrice}</span>
        ) : (
          <Money usd={dollarsOfNumber(cell.price_usd)} kind="price" unit={t.perUnit.call} />
        ),
    },
    {
      id: "params",
      head: words.params,
      clip: true,
      cell: (cell) => {
        const needed = cell.params.filter((param) => param.required).map((param) => param.name);
        const groups = (cell.require_one_of ?? []).map((names) => names.join(" | "));
        const all = [...needed, ...groups];
        const others = cell.params.length - needed.length - (cell.require_one_of ?? []).flat().length;
        return (
          <span className="num">
            {all.join(", ")}
            {others > 0 && <span className="text-ink-3">{all.length > 0 ? ` +${others}` : `+${others}`}</span>}
          </span>
        );
      },
    },
    {
      id: "pages",
      head: words.pages,
      cell: (cell) => (cell.pages ? words.hasPages : <span className="text-ink-3">–</span>),
    },
    {
      id: "status",
      head: words.status,
      cell: (cell) =>
        cell.status === "available" ? (
          <Badge tone="ok" icon={<CircleCheck aria-hidden />}>
            {words.available}
          </Badge>
        ) : (
          <Badge tone="warn" icon={<CirclePause aria-hidden />}>
            {words.paused}
          </Badge>
        ),
    },
  ];
}

export function SocialTab() {
  const t = useTexts(catalogTexts);
  const social = useSocialCatalog();
  const [search, setSearch] = useSearch();
  const [q, setQ] = useState("");
  const platform = search["platform"] ?? "";
  const cells = social.data?.cells;
  const platforms = useMemo(() => new Map((cells ?? []).map((cell) => [cell.platform, cell.name])), [cells]);
  const found = useMemo(() => {
    const words = q
      .toLowerCase()
      .split(/\s+/)
      .filter((word) => word !== "");
    return cells?.filter((cell) => {
      if (platform !== "" && cell.platform !== platform) return false;
      const text =
        `${cell.name} ${cell.platform} ${cell.capability} ${capabilityName(t, cell.capability)}`.toLowerCase();
      return words.every((word) => text.includes(word));
    });
  }, [cells, q, platform, t]);
  const phone = usePhone();
  const columns = useMemo(() => columnsOf(t, phone), [t, phone]);
  if (social.error !== null && cells === undefined)
    return <Problem error={social.error} retry={() => void social.refetch()} />;
  if (cells !== undefined && cells.length === 0) {
    return (
      <Card>
        <Empty title={t.noModels} text={t.noModelsText} />
      </Card>
    );
  }
  return (
    <>
      <p className="mb-4 max-w-[68ch] text-ink-2">
        {t.social.lead} {t.social.paidOnly} {t.social.rule}{" "}
        <Link href="/docs/social#acceptable-use" className="text-accent-ink underline underline-offset-2">
          {t.social.ruleLink}
        </Link>
      </p>
      <div className="mb-3 flex flex-wrap items-center gap-2">
        <div className="min-w-40 flex-1 basis-52 sm:max-w-72">
          <Input
            type="search"
            aria-label={t.social.search}
            placeholder={t.social.search}
            before={<Search aria-hidden />}
            value={q}
            onChange={(event) => setQ(event.target.value)}
          />
        </div>
        <div className="min-w-40 flex-1 sm:max-w-52">
          <Select
            aria-label={t.social.platform}
            value={platform}
            onChange={(next) => setSearch({ platform: next })}
            options={[
              { value: "", label: t.anyOf(t.social.platform) },
              ...[...platforms].map(([value, label]) => ({ value, label })),
            ]}
          />
        </div>
        <p role="status" className="ml-auto text-xs text-ink-3">
          {cells === undefined || found === undefined
            ? ""
            : t.social.count(found.length, new Set(found.map((cell) => cell.platform)).size)}
        </p>
      </div>
      <DataTable
        label={t.tabs.social}
        columns={columns}
        rows={found}
        rowKey={(cell) => cell.model}
        rowHref={(cell) =>
          `/playground/social?platform=${encodeURIComponent(cell.platform)}&capability=${encodeURIComponent(cell.capability)}`
        }
        loading={social.isPending}
        cardFields={["platform", "price", "status"]}
        empty={
          <Empty
            title={t.social.none}
            action={
              <Button
                onClick={() => {
                  setQ("");
                  setSearch({ platform: "" });
                }}
              >
                {t.clear}
              </Button>
            }
          />
        }
      />
    </>
  );
}
