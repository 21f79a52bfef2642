import { useQuery } from "@tanstack/react-query";
import { CircleCheck, CircleHelp, TrendingDown } from "lucide-react";
import { api, type MarginCallDetail } from "@/api";
import {
  Button,
  type Column,
  DataTable,
  format,
  Id,
  Link,
  Money,
  Num,
  Problem,
  SidePanel,
  useGo,
  useParam,
  useSearch,
  When,
} from "@/kit";
import { negativeUsd } from "@/kit/records/money";
import { Facts, PanelSection, PanelSkeleton, Verdict } from "@/kit/records/parts";
import { wordIn } from "@/kit/records/texts";
import { locale, useLanguage, useTexts } from "@/text";
import { pricesTexts } from "../prices/texts";
import { marginsTexts } from "./texts";

/** The margin of one call: what it was sold for, and its cost by the price list of that time. */
export default function MarginCallPanel() {
  const t = useTexts(marginsTexts).call;
  const go = useGo();
  const id = useParam("requestId");
  const [search] = useSearch();
  const { data, error, refetch } = useQuery({
    queryKey: ["operator", "margin-call", id],
    queryFn: ({ signal }) =>
      api.get<MarginCallDetail>(`/api/operator/margins/calls/${encodeURIComponent(id)}`, { signal }),
  });
  return (
    <SidePanel
      title={t.title}
      onClose={() => go("/operator/margins", search)}
      lead={<Id value={id} head={16} tail={6} />}
      footer={<Button href={`/operator/calls/${encodeURIComponent(id)}`}>{t.full}</Button>}
    >
      {error !== null && data === undefined ? (
        <Problem error={error} retry={() => void refetch()} />
      ) : data === undefined ? (
        <PanelSkeleton />
      ) : (
        <Explained call={data} />
      )}
    </SidePanel>
  );
}

function Explained({ call }: { call: MarginCallDetail }) {
  const t = useTexts(marginsTexts).call;
  const margin = call.margin_usd;
  const isLoss = margin?.startsWith("-") === true;
  const link = "text-accent-ink hover:underline";
  return (
    <>
      <Verdict
        icon={
          margin === null ? (
            <CircleHelp aria-hidden />
          ) : isLoss ? (
            <TrendingDown aria-hidden />
          ) : (
            <CircleCheck aria-hidden />
          )
        }
        tone={margin === null ? "warn" : isLoss ? "bad" : "ok"}
        said={t.sold(format.money(call.revenue_usd, "price"))}
        money={
          margin === null
            ? t.unknown
            : isLoss
              ? t.loss(format.money(negativeUsd(margin), "price"))
              : t.profit(format.money(margin, "price"))
        }
      />
      <Facts
        className="pb-5"
        facts={[
          {
            name: t.facts.customer,
            value: (
              <Link className={link} href={`/operator/customers/${call.customer_id}`}>
                {call.customer ?? `#${call.customer_id}`}
              </Link>
            ),
          },
          { name: t.facts.model, value: call.model },
          {
            name: t.facts.channel,
            value:
              call.channel_id === 0 ? (
                "–"
              ) : (
                <Link className={link} href={`/operator/channels/${call.channel_id}`}>
                  {call.channel ?? `#${call.channel_id}`}
                </Link>
              ),
          },
          { name: t.facts.group, value: call.group },
          { name: t.facts.tier, value: call.tier ?? "–" },
          { name: t.facts.settled, value: <When at={call.settled_at} /> },
          { name: t.facts.charged, value: <Money usd={call.charged_usd} kind="price" /> },
          { name: t.facts.refunded, value: <Money usd={call.refunded_usd} kind="price" /> },
          { name: t.facts.cost, value: call.cost_usd === null ? "–" : <Money usd={call.cost_usd} kind="price" /> },
          { name: t.facts.prices, value: <Id value={call.price_version} head={8} tail={4} /> },
        ]}
      />
      <PriceList call={call} />
    </>
  );
}

function PriceList({ call }: { call: MarginCallDetail }) {
  const t = useTexts(marginsTexts).call;
  const faces = useTexts(pricesTexts).faces;
  const lang = locale(useLanguage());
  const list = call.price_list;
  if (list === null) {
    return (
      <PanelSection title={t.list}>
        <p className="text-ink-2">{t.noList}</p>
        {call.channel_id !== 0 && (
          <Button size="small" className="mt-3" href={`/operator/channels/${call.channel_id}`}>
            {t.openChannel}
          </Button>
        )}
      </PanelSection>
    );
  }
  type Line = MarginCallDetail["cost_lines"][number];
  const columns: Column<Line>[] = [
    { id: "face", head: t.lineColumns.face, primary: true, cell: (line) => wordIn(faces, line.face) },
    { id: "units", head: t.lineColumns.units, align: "right", cell: (line) => <Num value={line.units} /> },
    {
      id: "price",
      head: t.lineColumns.price,
      align: "right",
      cell: (line) => (
        <span className="num">
          {pricePerMillion(line.price_pico)} {list.currency} {t.perMillion}
        </span>
      ),
    },
    {
      id: "amount",
      head: t.lineColumns.amount,
      align: "right",
      cell: (line) => <Money usd={line.amount_usd} kind="price" />,
    },
  ];
  return (
    <PanelSection title={t.list}>
      <Facts
        facts={[
          { name: t.since, value: <When at={list.since} /> },
          { name: t.upstream, value: list.upstream_model },
          { name: t.exchangeRate, value: t.rate(list.currency, decimalOf(list.rate, lang)) },
        ]}
      />
      <h4 className="mt-4 mb-2 text-xs text-ink-3">{t.lines}</h4>
      {call.cost_lines.length === 0 ? (
        <p className="text-ink-2">{t.unexplained}</p>
      ) : (
        <DataTable label={t.lines} columns={columns} rows={call.cost_lines} rowKey={(line) => line.face} />
      )}
      {call.is_estimated && <p className="mt-2 text-xs text-warn">{t.estimatedText}</p>}
    </PanelSection>
  );
}

/** An exchange rate, which comes as an exact fraction, as a decimal of six digits. */
function decimalOf(rate: string, lang: string): string {
  const [whole, part = "1"] = rate.split("/");
  const value = Number(whole) / Number(part);
  return Number.isFinite(value) ? new Intl.NumberFormat(lang, { maximumSignificantDigits: 6 }).format(value) : rate;
}

/** 10^-12 of a currency for one unit, as its price for a million units: an exact decimal. */
function pricePerMillion(pico: number): string {
  const whole = Math.floor(pico / 1_000_000);
  const rest = String(pico % 1_000_000)
    .padStart(6, "0")
    .replace(/0+$/, "");
  return rest === "" ? String(whole) : `${whole}.${rest}`;
}
