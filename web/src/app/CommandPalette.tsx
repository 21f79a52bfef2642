/** The hits of a search: what is on this page answers at once, the server a moment later. */
import { useQuery } from "@tanstack/react-query";
import { clsx } from "clsx";
import {
  Activity,
  Box,
  Building2,
  CornerDownLeft,
  CreditCard,
  FlaskConical,
  KeyRound,
  ListChecks,
  type LucideIcon,
  Plus,
  Route,
  Tags,
  Ticket,
  User,
  UserPlus,
} from "lucide-react";
import { useEffect, useMemo, useRef } from "react";
import { api, type HitKind, type Key, type LogRow, type OperatorHit, type PageOf, type Session } from "@/api";
import { format, useGo, useSettled } from "@/kit";
import { usePricing } from "@/pages/catalog/data";
import { useTexts } from "@/text";
import { docsIcon, navigation } from "./navigation";
import type { Search, SearchStep } from "./search";
import { useSession } from "./session";
import { appTexts } from "./texts";

interface Hit {
  id: string;
  group: string;
  label: string;
  hint?: string;
  href: string;
  icon: LucideIcon;
}
const EACH = 6;
/** A request id can be looked up from this many characters on. */
const REQUEST_FROM = 8;
/** Operators find anything by so many characters of its name or id. */
const OPERATOR_FROM = 2;
const HIT_ICONS: Record<HitKind, LucideIcon> = {
  customer: Building2,
  person: User,
  key: KeyRound,
  payment: CreditCard,
  channel: Route,
  model: Tags,
  call: Activity,
  code: Ticket,
};

/** The operator's page of what was found; what has none of its own is on its customer's. */
function hrefOf(hit: OperatorHit): string {
  const id = encodeURIComponent(hit.id);
  switch (hit.kind) {
    case "customer":
      return `/operator/customers/${id}`;
    case "payment":
      return `/operator/payments/${id}`;
    case "channel":
      return `/operator/channels/${id}`;
    case "model":
      return `/operator/prices/${id}`;
    case "call":
      return `/operator/calls/${id}`;
    case "code":
      return "/operator/codes";
    case "person":
    case "key":
      return hit.customer_id === null ? "/operator/customers" : `/operator/customers/${hit.customer_id}`;
  }
}

function matches(word: string, ...texts: (string | undefined)[]): boolean {
  const parts = word.toLowerCase().split(/\s+/).filter(Boolean);
  const all = texts.join(" ").toLowerCase();
  return parts.every((part) => all.includes(part));
}

function useHits(word: string): Hit[] {
  const t = useTexts(appTexts);
  const session: Session = useSession();
  const { person, rights, account } = session;
  const settled = useSettled(word.trim(), 150);
  const signed = account !== null;
  const models = usePricing();
  const keys = useQuery({
    queryKey: ["search", "keys", settled],
    queryFn: ({ signal }) => api.get<PageOf<Key>>("/api/keys", { query: { q: settled, limit: EACH }, signal }),
    enabled: signed && settled !== "",
  });
  const isRequest = settled.startsWith("req_") && settled.length >= REQUEST_FROM;
  const requests = useQuery({
    queryKey: ["search", "requests", settled],
    queryFn: ({ signal }) => api.get<PageOf<LogRow>>("/api/logs", { query: { q: settled, limit: EACH }, signal }),
    enabled: signed && isRequest,
  });
  const isOperator = person?.is_operator === true && session.operator?.needs_second_factor !== true;
  const found = useQuery({
    queryKey: ["search", "operator", settled],
    queryFn: ({ signal }) =>
      api.get<{ data: OperatorHit[] }>("/api/operator/search", { query: { q: settled }, signal }),
    enabled: isOperator && settled.length >= OPERATOR_FROM,
  });
  return useMemo(() => {
    const pages: Hit[] = navigation
      .filter((place) => place.group === "customer" || person?.is_operator === true)
      .map((place) => ({
        id: `page-${place.name}`,
        group: t.search.pages,
        label: t.nav[place.name],
        href: place.href,
        icon: place.icon,
      }));
    pages.push({ id: "page-docs", group: t.search.pages, label: t.docs, href: "/docs", icon: docsIcon });
    const actions: Hit[] = [];
    if (rights.includes("keys.write"))
      actions.push({ id: "new-key", group: t.search.actions, label: t.search.newKey, href: "/keys/new", icon: Plus });
    if (rights.includes("members.write"))
      actions.push({
        id: "invite",
        group: t.search.actions,
        label: t.search.invite,
        href: "/members?invite=1",
        icon: UserPlus,
      });
    if (rights.includes("wallet.write"))
      actions.push({
        id: "redeem",
        group: t.search.actions,
        label: t.search.redeem,
        href: "/wallet?redeem=1",
        icon: Ticket,
      });
    for (const task of ["image", "video", "speech", "transcription", "social"]) {
      if (word !== "" && rights.includes("playground")) {
        actions.push({
          id: `play-${task}`,
          group: t.search.actions,
          label: `${t.nav.playground}: ${task}`,
          href: `/playground/${task}`,
          icon: FlaskConical,
        });
      }
    }
    const fixed = [...pages, ...actions].filter((hit) => matches(word, hit.label, hit.href));
    if (word.trim() === "") return fixed;
    const hits: Hit[] = (found.data?.data ?? []).map((hit) => ({
      id: `operator-${hit.kind}-${hit.id}`,
      group: t.search.kinds[hit.kind],
      label: hit.title,
      hint: hit.detail,
      href: hrefOf(hit),
      icon: HIT_ICONS[hit.kind],
    }));
    for (const row of isRequest ? (requests.data?.data ?? []) : []) {
      hits.push({
        id: row.request_id,
        group: t.search.requests,
        label: row.request_id,
        hint: `${row.model} · ${format.money(row.cost_usd, "call")}`,
        href: `/logs/${encodeURIComponent(row.request_id)}`,
        icon: Activity,
      });
    }
    for (const key of keys.data?.data ?? []) {
      hits.push({
        id: `key-${key.id}`,
        group: t.search.keys,
        label: key.name,
        hint: key.hint,
        href: `/keys/${key.id}`,
        icon: KeyRound,
      });
    }
    const named = (models.data?.models ?? []).map((one) => one.name).filter((name) => matches(word, name));
    for (const name of named.slice(0, EACH)) {
      hits.push({
        id: `model-${name}`,
        group: t.search.models,
        label: name,
        href: `/catalog/${encodeURIComponent(name)}`,
        icon: Box,
      });
    }
    if (/^(video|task|job)[_-]\S{4,}$/.test(word.trim())) {
      hits.push({
        id: "task",
        group: t.search.tasks,
        label: t.search.openTask(format.shortId(word.trim(), 18, 6)),
        href: `/tasks/${encodeURIComponent(word.trim())}`,
        icon: ListChecks,
      });
    }
    return [...hits, ...fixed];
  }, [word, isRequest, requests.data, keys.data, models.data, found.data, person, rights, t]);
}

export interface PaletteProps {
  search: Search;
  /** The id of the list, which the box names as its own. */
  list: string;
  onStep: (step: SearchStep) => void;
  onHits: (count: number) => void;
  onClose: () => void;
}

export function CommandPalette({ search, list, onStep, onHits, onClose }: PaletteProps) {
  const t = useTexts(appTexts);
  const go = useGo();
  const { word, at, entered } = search;
  const hits = useHits(word);
  const current = useRef<HTMLDivElement>(null);
  // biome-ignore lint/correctness/useExhaustiveDependencies: the marked entry must stay in sight when it changes
  useEffect(() => {
    current.current?.scrollIntoView({ block: "nearest" });
  }, [at, hits]);
  useEffect(() => onHits(hits.length), [onHits, hits.length]);
  const open = (hit: Hit | undefined) => {
    if (hit === undefined) return;
    onClose();
    if (hit.href === "/docs") location.assign(hit.href);
    else go(hit.href);
  };
  // biome-ignore lint/correctness/useExhaustiveDependencies: an Enter opens what was marked when it was pressed
  useEffect(() => {
    if (!entered) return;
    onStep({ what: "opened" });
    open(hits[at]);
  }, [entered]);
  return (
    <>
      <div id={list} role="listbox" aria-label={t.search.title} className="min-h-0 flex-1 overflow-y-auto p-2">
        {hits.map((hit, index) => (
          <div key={hit.id} role="presentation">
            {hit.group !== hits[index - 1]?.group && (
              <div role="presentation" className="px-2 pt-2 pb-1 text-xs text-ink-3">
                {hit.group}
              </div>
            )}
            <div
              ref={index === at ? current : undefined}
              id={`${list}-${index}`}
              role="option"
              tabIndex={-1}
              aria-selected={index === at}
              onPointerMove={() => onStep({ what: "marked", at: index })}
              onClick={() => open(hit)}
              onKeyDown={() => {}}
              className={clsx("flex h-9 cursor-pointer items-center gap-3 rounded-md px-2", index === at && "bg-hover")}
            >
              <hit.icon aria-hidden className="size-4 shrink-0 text-ink-3" />
              <span className="min-w-0 flex-1 truncate">{hit.label}</span>
              {hit.hint !== undefined && (
                <span className="num max-w-[45%] shrink-0 truncate text-xs text-ink-3">{hit.hint}</span>
              )}
              {index === at && <CornerDownLeft aria-hidden className="size-3.5 shrink-0 text-ink-3" />}
            </div>
          </div>
        ))}
      </div>
      {hits.length === 0 && <p className="px-4 pb-6 text-center text-ink-3">{t.search.nothing}</p>}
    </>
  );
}
