/** Paste, call, see it arrive: the page that turns green. */
import { useQuery } from "@tanstack/react-query";
import { CircleAlert, CircleCheck, Radio } from "lucide-react";
import { useMemo } from "react";
import { ApiError, api, type Key, type LogRow } from "@/api";
import { useSession } from "@/app/session";
import {
  Button,
  Card,
  Combobox,
  Duration,
  Empty,
  Field,
  Link,
  Money,
  Num,
  OutcomeBadge,
  outcomeTone,
  Page,
  Problem,
  SkeletonText,
  useParam,
  useSearch,
  When,
} from "@/kit";
import { usePricing } from "@/pages/catalog/data";
import { useKey } from "@/pages/keys/data";
import { secretOf } from "@/pages/keys/secrets";
import { useTexts } from "@/text";
import { CappedRun } from "./CappedRun";
import { ClientTiles } from "./ClientTiles";
import { Steps } from "./Steps";
import { type ClientId, fitsClient, isAgent, isClient, pickModel, snippetFor } from "./snippets";
import { connectTexts } from "./texts";

export default function ConnectPage() {
  const t = useTexts(connectTexts);
  const keyId = useParam("keyId");
  const [search, setSearch] = useSearch();
  const client: ClientId = isClient(search["client"]) ? search["client"] : "curl";
  const key = useKey(keyId);
  const gone = key.error instanceof ApiError && key.error.status === 404;
  const above = (
    <Link href="/keys" className="hover:text-ink hover:underline">
      {t.toKeys}
    </Link>
  );
  if (gone) {
    return (
      <Page title={t.title} above={above}>
        <Card>
          <Empty title={t.unknownKey} text={t.unknownKeyText} action={<Button href="/keys">{t.toKeys}</Button>} />
        </Card>
      </Page>
    );
  }
  return (
    <Page title={t.title} lead={t.lead} above={above}>
      {key.error !== null && <Problem error={key.error} retry={() => void key.refetch()} className="mb-4" />}
      <div className="grid gap-6 lg:grid-cols-[minmax(0,1fr)_340px]">
        <aside className="min-w-0 lg:order-last">
          <div className="space-y-4 lg:sticky lg:top-20">
            <FirstCall keyId={keyId} keyRow={key.data} />
          </div>
        </aside>
        <div className="min-w-0 space-y-6">
          <ClientTiles client={client} onChange={(next) => setSearch({ client: next })} />
          <ClientSteps client={client} keyId={keyId} />
        </div>
      </div>
    </Page>
  );
}

function ClientSteps({ client, keyId }: { client: ClientId; keyId: string }) {
  const t = useTexts(connectTexts);
  const { instance } = useSession();
  const [search, setSearch] = useSearch();
  const pricing = usePricing();
  const secret = secretOf(keyId);
  const served = useMemo(
    () =>
      (pricing.data?.models ?? [])
        .filter((model) => model.kind === "chat" && model.record.book_faces.route_count > 0)
        .map((model) => ({
          name: model.name,
          vendor: model.vendor,
          endpoints: model.record.supported_endpoint_types as string[],
        })),
    [pricing.data],
  );
  const fitting = useMemo(() => served.filter((model) => fitsClient(client, model.endpoints)), [served, client]);
  const asked = search["model"];
  const model = asked !== undefined && fitting.some((one) => one.name === asked) ? asked : pickModel(client, served);
  if (pricing.error !== null) return <Problem error={pricing.error} retry={() => void pricing.refetch()} />;
  if (pricing.isPending) return <SkeletonText lines={10} />;
  if (model === "") return <Empty title={t.modelNone} />;
  const snippet = snippetFor(client, { base: instance.base_url, key: secret, model });
  return (
    <>
      <div className="max-w-sm">
        <Field label={t.model}>
          <Combobox
            single
            values={[model]}
            onChange={(values) => setSearch({ model: values[values.length - 1] })}
            options={fitting.map((one) => ({ value: one.name, label: one.name, hint: one.vendor }))}
          />
        </Field>
      </div>
      <p className="text-xs text-ink-3">{secret === null ? t.keyMissing : t.keyFilled}</p>
      <Steps snippet={snippet} secret={secret} />
      {isAgent(client) && <CappedRun agent={client} keyId={keyId} model={model} />}
    </>
  );
}

const LISTEN_MS = 1_000;
const LISTEN_AFTER_MS = 5_000;

/** Asks once a second until a call came, then less often; not at all while the tab is in the background. */
function FirstCall({ keyId, keyRow }: { keyId: string; keyRow: Key | undefined }) {
  const t = useTexts(connectTexts);
  const first = useQuery({
    queryKey: ["first-call", keyId],
    queryFn: ({ signal }) =>
      api.get<{ call: LogRow | null }>(`/api/keys/${encodeURIComponent(keyId)}/first-call`, { signal }),
    refetchInterval: (query) => (query.state.data?.call == null ? LISTEN_MS : LISTEN_AFTER_MS),
    refetchIntervalInBackground: false,
    staleTime: 0,
    retry: false,
  });
  const call = first.data?.call ?? null;
  return (
    <section aria-live="polite" className="min-w-0">
      {call === null ? (
        <div className="rounded-card border border-line bg-surface p-4">
          <div className="flex items-center gap-2.5 font-semibold text-ink">
            <Radio aria-hidden className="size-4 animate-pulse text-info" />
            {t.waiting}
          </div>
          <p className="mt-1 text-ink-2">{t.waitingText}</p>
          {keyRow !== undefined && (
            <p className="mt-3 flex min-w-0 flex-wrap gap-x-2 text-xs text-ink-3">
              <span className="min-w-0 [overflow-wrap:anywhere]">{t.keyName(keyRow.name)}</span>
              <span className="num">{keyRow.hint}</span>
            </p>
          )}
          {keyRow !== undefined && keyRow.state !== "active" && (
            <p className="mt-3 font-medium text-warn">{t.inactive}</p>
          )}
          {first.error !== null && <Problem error={first.error} compact className="mt-3" />}
        </div>
      ) : (
        <Arrived call={call} />
      )}
    </section>
  );
}

function Arrived({ call }: { call: LogRow }) {
  const t = useTexts(connectTexts);
  const failed = outcomeTone(call.outcome) === "bad";
  const look = failed ? "border-warn-line bg-warn-soft" : "border-ok-line bg-ok-soft";
  return (
    <div className={`anim-rise rounded-card border ${look} p-4`} data-arrived={failed ? "failed" : "ok"}>
      <div className={`flex items-center gap-2 font-semibold ${failed ? "text-warn" : "text-ok"} [&_svg]:size-5`}>
        {failed ? <CircleAlert aria-hidden /> : <CircleCheck aria-hidden />}
        {failed ? t.arrivedFailed : t.arrived}
      </div>
      <p className="mt-1 text-ink-2">{failed ? t.arrivedFailedText : t.arrivedText}</p>
      <p className="mt-4 flex min-w-0 flex-wrap items-center gap-2">
        <span className="num min-w-0 [overflow-wrap:anywhere] font-medium text-ink">{call.model}</span>
        <OutcomeBadge outcome={call.outcome} />
        <span className="text-xs text-ink-2">
          <When at={call.at} />
        </span>
      </p>
      <dl className="mt-3 grid grid-cols-2 gap-x-4 gap-y-3">
        <Fact name={t.cost}>
          <Money usd={call.cost_usd} kind="call" className="text-base font-semibold" />
        </Fact>
        <Fact name={t.took}>
          <Duration ms={call.latency_ms} />
        </Fact>
        <Fact name={t.tokensIn}>
          <Num value={call.input_units} short />
        </Fact>
        <Fact name={t.tokensOut}>
          <Num value={call.output_units} short />
        </Fact>
      </dl>
      <div className="mt-4 flex flex-wrap gap-2">
        <Button size="small" href={`/logs/${encodeURIComponent(call.request_id)}`}>
          {t.log}
        </Button>
        <Button size="small" href="/playground/chat">
          {t.nextPlayground}
        </Button>
      </div>
    </div>
  );
}

function Fact({ name, children }: { name: string; children: React.ReactNode }) {
  return (
    <div className="min-w-0">
      <dt className="text-xs text-ink-2">{name}</dt>
      <dd className="mt-0.5 text-ink">{children}</dd>
    </div>
  );
}
