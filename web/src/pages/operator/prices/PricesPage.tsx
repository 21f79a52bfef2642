import { useQuery } from "@tanstack/react-query";
import { Outlet } from "@tanstack/react-router";
import { Search, Tags } from "lucide-react";
import { useState } from "react";
import { api, type CatalogModel, type OperatorCatalog } from "@/api";
import { Badge, type Column, DataTable, Empty, Input, Num, Tabs, useParam, useSearch } from "@/kit";
import { textOf, wordOf } from "@/kit/records/search";
import { useTexts } from "@/text";
import { OperatorPage, useIsAdmitted } from "../shared";
import { HistoryTab } from "./HistoryTab";
import { PriceText } from "./PriceText";
import { ScheduleTab } from "./ScheduleTab";
import { pricesTexts } from "./texts";

const TABS = ["prices", "schedule", "history"] as const;

export default function PricesPage() {
  const t = useTexts(pricesTexts);
  const [search, setSearch] = useSearch();
  return (
    <OperatorPage title={t.title} lead={t.lead} wide>
      <Tabs
        label={t.title}
        value={wordOf(search, "tab", TABS)}
        onChange={(tab) => setSearch({ tab: tab === "prices" ? undefined : tab }, { push: true })}
        tabs={[
          { value: "prices", label: t.tabs.prices, content: <ModelPrices /> },
          { value: "schedule", label: t.tabs.schedule, content: <ScheduleTab /> },
          { value: "history", label: t.tabs.history, content: <HistoryTab /> },
        ]}
      />
      <Outlet />
    </OperatorPage>
  );
}

function ModelPrices() {
  const t = useTexts(pricesTexts);
  const [search, setSearch] = useSearch();
  const [word, setWord] = useState(textOf(search, "q"));
  const open = useParam("model");
  const { data, error, refetch } = useQuery({
    queryKey: ["operator", "catalog"],
    queryFn: ({ signal }) => api.get<OperatorCatalog>("/api/operator/catalog", { signal }),
    enabled: useIsAdmitted(),
  });
  const wanted = word.trim().toLowerCase();
  const fits = (model: CatalogModel) =>
    `${model.name} ${model.vendor ?? ""} ${model.groups.join(" ")}`.toLowerCase().includes(wanted);
  const price = (row: CatalogModel, face: string) => {
    const pico = row.prices[face];
    return pico === undefined ? "–" : <PriceText pico={pico} face={face} />;
  };
  const columns: Column<CatalogModel>[] = [
    {
      id: "model",
      head: t.columns.model,
      primary: true,
      clip: true,
      cell: (row) => (
        <span className="flex min-w-0 items-center gap-2">
          <span className="min-w-0 truncate">{row.name}</span>
          {!row.is_served && <Badge tone="warn">{t.notServed}</Badge>}
        </span>
      ),
    },
    { id: "input", head: t.columns.input, align: "right", width: 140, cell: (row) => price(row, "input") },
    { id: "output", head: t.columns.output, align: "right", width: 140, cell: (row) => price(row, "output") },
    {
      id: "other",
      head: t.columns.other,
      align: "right",
      width: 150,
      cell: (row) => {
        const face = Object.keys(row.prices).find((one) => one !== "input" && one !== "output");
        return face === undefined ? "–" : price(row, face);
      },
    },
    { id: "groups", head: t.columns.groups, width: 160, clip: true, cell: (row) => row.groups.join(", ") },
    {
      id: "channels",
      head: t.columns.channels,
      align: "right",
      width: 100,
      cell: (row) => <Num value={row.channels} />,
    },
  ];
  return (
    <>
      <div className="mb-4">
        <Input
          type="search"
          aria-label={t.search}
          placeholder={t.search}
          before={<Search aria-hidden />}
          className="sm:w-80!"
          value={word}
          onChange={(event) => {
            setWord(event.target.value);
            setSearch({ q: event.target.value.trim() });
          }}
        />
      </div>
      <DataTable
        label={t.tabs.prices}
        columns={columns}
        rows={data?.models.filter(fits)}
        error={error}
        retry={() => void refetch()}
        rowKey={(row) => row.name}
        rowHref={(row) => `/operator/prices/${encodeURIComponent(row.name)}`}
        current={open === "" ? undefined : open}
        cardFields={["model", "input", "output", "other"]}
        empty={
          wanted === "" ? (
            <Empty icon={<Tags aria-hidden />} title={t.empty} text={t.emptyText} />
          ) : (
            <Empty icon={<Search aria-hidden />} title={t.noMatch} />
          )
        }
      />
    </>
  );
}
