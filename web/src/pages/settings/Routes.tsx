/** Which routes all keys of the organisation are served by. */
import { useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { type FormEvent, useState } from "react";
import { type AccountRoutes, api } from "@/api";
import { useRight } from "@/app/session";
import { Button, Problem, toast } from "@/kit";
import { RoutesFields } from "@/pages/keys/RoutesFields";
import { type PriceField, priceFaults, type RoutesDraft, routesDraftOf, routesOf } from "@/pages/keys/routes";
import { useTexts } from "@/text";
import { settingsTexts } from "./texts";

const KEY = ["account", "routes"];

export function Routes() {
  const routes = useQuery({
    queryKey: KEY,
    queryFn: ({ signal }) => api.get<AccountRoutes>("/api/account/routes", { signal }),
  });
  if (routes.error !== null) return <Problem error={routes.error} compact />;
  if (routes.data === undefined) return <div className="h-40" aria-busy="true" />;
  return <RoutesForm known={routes.data} />;
}

function RoutesForm({ known }: { known: AccountRoutes }) {
  const t = useTexts(settingsTexts);
  const may = useRight("account.write");
  const client = useQueryClient();
  const [draft, setDraft] = useState<RoutesDraft>(() => routesDraftOf(known));
  const [faults, setFaults] = useState<PriceField[]>([]);
  const save = useMutation({
    mutationFn: () => api.put<AccountRoutes>("/api/account/routes", routesOf(draft)),
    onSuccess: (routes) => {
      client.setQueryData(KEY, routes);
      toast(t.saved);
    },
  });
  const submit = (event: FormEvent) => {
    event.preventDefault();
    const found = priceFaults(draft);
    setFaults(found);
    if (found.length === 0) save.mutate();
  };
  return (
    <form className="space-y-4" onSubmit={submit} noValidate>
      <RoutesFields
        draft={draft}
        onChange={(next) => setDraft({ ...draft, ...next })}
        faults={faults}
        disabled={!may}
      />
      {save.error !== null && <Problem error={save.error} compact />}
      {may && (
        <Button type="submit" busy={save.isPending}>
          {t.save}
        </Button>
      )}
    </form>
  );
}
