import { useQuery } from "@tanstack/react-query";
import { Search } from "lucide-react";
import { useState } from "react";
import { api } from "@/api";
import { type Column, DataTable, Empty, Input } from "@/kit";
import { useTexts } from "@/text";
import { OperatorPage, useIsAdmitted } from "../shared";
import { serverSettingsTexts } from "./texts";

interface Setting {
  name: string;
  value: string;
}

export default function ServerSettingsPage() {
  const t = useTexts(serverSettingsTexts);
  const [word, setWord] = useState("");
  const { data, error, refetch } = useQuery({
    queryKey: ["operator", "settings"],
    queryFn: ({ signal }) => api.get<{ data: Setting[] }>("/api/operator/settings", { signal }),
    enabled: useIsAdmitted(),
  });
  const wanted = word.trim().toLowerCase();
  const columns: Column<Setting>[] = [
    { id: "name", head: t.columns.name, primary: true, mono: true, width: 340, cell: (row) => row.name },
    {
      id: "value",
      head: t.columns.value,
      mono: true,
      cell: (row) => <span className="whitespace-normal">{row.value}</span>,
    },
  ];
  return (
    <OperatorPage title={t.title} lead={t.lead}>
      <div className="mb-4">
        <Input
          type="search"
          aria-label={t.search}
          placeholder={t.search}
          before={<Search aria-hidden />}
          className="sm:w-80!"
          value={word}
          onChange={(event) => setWord(event.target.value)}
        />
      </div>
      <DataTable
        label={t.title}
        columns={columns}
        rows={data?.data.filter((one) => `${one.name} ${one.value}`.toLowerCase().includes(wanted))}
        error={error}
        retry={() => void refetch()}
        rowKey={(row) => row.name}
        cardFields={["name", "value"]}
        empty={<Empty icon={<Search aria-hidden />} title={t.empty} />}
      />
    </OperatorPage>
  );
}
