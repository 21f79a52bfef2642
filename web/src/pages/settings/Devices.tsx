import { useQuery, useQueryClient } from "@tanstack/react-query";
import { LogOut, Monitor, Smartphone } from "lucide-react";
import { useState } from "react";
import { api, type SignIn } from "@/api";
import { useSignOut } from "@/app/TopBar";
import { Badge, Button, Confirm, Problem, SkeletonRows, toast, When } from "@/kit";
import { useTexts } from "@/text";
import { agentName, isHandheld } from "./agent";
import { settingsTexts } from "./texts";

export function Devices() {
  const t = useTexts(settingsTexts);
  const client = useQueryClient();
  const signOut = useSignOut();
  const [ending, setEnding] = useState<SignIn | null>(null);
  const { data, error, refetch } = useQuery({
    queryKey: ["sessions"],
    queryFn: ({ signal }) => api.get<{ data: SignIn[] }>("/api/sessions", { signal }),
  });
  if (error !== null && data === undefined) return <Problem error={error} retry={() => void refetch()} />;
  const named = (one: SignIn) => agentName(one.agent) ?? t.unknownAgent;
  return (
    <div className="rounded-card border border-line bg-surface">
      {data === undefined && <SkeletonRows rows={2} height={60} />}
      <ul>
        {data?.data.map((one) => (
          <li key={one.id} className="flex items-center gap-3 border-b border-line px-4 py-3 last:border-b-0">
            <span aria-hidden className="text-ink-3 [&_svg]:size-5">
              {isHandheld(one.agent) ? <Smartphone /> : <Monitor />}
            </span>
            <div className="min-w-0 flex-1">
              <div className="flex flex-wrap items-center gap-x-2 gap-y-1">
                <span className="min-w-0 truncate font-medium" data-tip={one.agent}>
                  {named(one)}
                </span>
                {one.current && <Badge tone="info">{t.thisDevice}</Badge>}
              </div>
              <div className="mt-0.5 flex flex-wrap gap-x-3 text-xs text-ink-3">
                <span className="num [overflow-wrap:anywhere]">{one.address}</span>
                <span>
                  {t.columns.seen} <When at={one.last_seen_at} />
                </span>
                <span>
                  {t.columns.since} <When at={one.created_at} />
                </span>
              </div>
            </div>
            {one.current ? (
              <Button size="small" icon={<LogOut aria-hidden />} onClick={() => void signOut()}>
                {t.signOut}
              </Button>
            ) : (
              <Button size="small" onClick={() => setEnding(one)}>
                {t.end}
              </Button>
            )}
          </li>
        ))}
      </ul>
      <Confirm
        open={ending !== null}
        onClose={() => setEnding(null)}
        title={t.endTitle}
        consequence={t.end}
        onConfirm={async () => {
          if (ending === null) return;
          await api.delete(`/api/sessions/${encodeURIComponent(ending.id)}`);
          await client.invalidateQueries({ queryKey: ["sessions"] });
          toast(t.ended);
        }}
      >
        {ending !== null && t.endText(named(ending))}
      </Confirm>
    </div>
  );
}
