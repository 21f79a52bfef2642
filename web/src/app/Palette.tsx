/** Search over everything: `/` or Ctrl-K. What is on this page answers at once, the server a moment later. */
import { useQuery } from "@tanstack/react-query";
import { clsx } from "clsx";
import {
  Activity,
  Box,
  CornerDownLeft,
  FlaskConical,
  KeyRound,
  ListChecks,
  type LucideIcon,
  Plus,
  Search,
  Ticket,
  UserPlus,
} from "lucide-react";
import { Dialog } from "radix-ui";
import { type KeyboardEvent, useEffect, useId, useMemo, useRef, useState } from "react";
import { api, type Key, type LogRow, type PageOf } from "@/api";
import { format, Kbd, useGo, useSettled } from "@/kit";
import { usePricing } from "@/pages/catalog/data";
import { useTexts } from "@/text";
import { docsIcon, places } from "./places";
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

function matches(word: string, ...texts: (string | undefined)[]): boolean {
  const parts = word.toLowerCase().split(/\s+/).filter(Boolean);
  const all = texts.join(" ").toLowerCase();
  return parts.every((part) => all.includes(part));
}

function useHits(word: string): Hit[] {
  const t = useTexts(appTexts);
  const { person, rights, account } = useSession();
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
  return useMemo(() => {
    const pages: Hit[] = places
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
    const hits: Hit[] = [];
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
  }, [word, isRequest, requests.data, keys.data, models.data, person, rights, t]);
}

export function Palette({ onClose }: { onClose: () => void }) {
  const t = useTexts(appTexts);
  const go = useGo();
  const list = useId();
  const [word, setWord] = useState("");
  const [at, setAt] = useState(0);
  const hits = useHits(word);
  const current = useRef<HTMLDivElement>(null);
  // biome-ignore lint/correctness/useExhaustiveDependencies: the marked entry must stay in sight when it changes
  useEffect(() => {
    current.current?.scrollIntoView({ block: "nearest" });
  }, [at, hits]);
  const open = (hit: Hit | undefined) => {
    if (hit === undefined) return;
    onClose();
    if (hit.href === "/docs") location.assign(hit.href);
    else go(hit.href);
  };
  const onKeyDown = (event: KeyboardEvent) => {
    if (event.key === "ArrowDown") setAt((now) => Math.min(now + 1, hits.length - 1));
    else if (event.key === "ArrowUp") setAt((now) => Math.max(now - 1, 0));
    else if (event.key === "Enter") open(hits[at]);
    else return;
    event.preventDefault();
  };
  return (
    <Dialog.Root open onOpenChange={(next) => !next && onClose()}>
      <Dialog.Portal>
        <Dialog.Overlay className="anim-fade fixed inset-0 z-50 bg-overlay" />
        <Dialog.Content
          aria-describedby={undefined}
          className="anim-rise fixed inset-x-2 top-2 z-50 flex max-h-[min(560px,calc(100dvh-1rem))] flex-col overflow-hidden rounded-xl border border-line bg-surface shadow-raised outline-none sm:inset-x-auto sm:top-[12vh] sm:left-1/2 sm:w-[600px] sm:max-w-[calc(100vw-2rem)] sm:-translate-x-1/2"
        >
          <Dialog.Title className="sr-only">{t.search.title}</Dialog.Title>
          <div className="flex h-12 shrink-0 items-center gap-3 border-b border-line px-4">
            <Search aria-hidden className="size-4 shrink-0 text-ink-3" />
            <input
              // biome-ignore lint/a11y/noAutofocus: a dialog that is only a search takes the focus where one types
              autoFocus
              role="combobox"
              aria-expanded
              aria-controls={list}
              aria-activedescendant={hits[at] === undefined ? undefined : `${list}-${at}`}
              aria-label={t.search.placeholder}
              autoComplete="off"
              spellCheck={false}
              value={word}
              placeholder={t.search.placeholder}
              onChange={(event) => {
                setWord(event.target.value);
                setAt(0);
              }}
              onKeyDown={onKeyDown}
              className="h-full min-w-0 flex-1 bg-transparent text-[15px] outline-none"
            />
          </div>
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
                  onPointerMove={() => setAt(index)}
                  onClick={() => open(hit)}
                  onKeyDown={() => {}}
                  className={clsx(
                    "flex h-9 cursor-pointer items-center gap-3 rounded-md px-2",
                    index === at && "bg-hover",
                  )}
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
          <div className="hidden shrink-0 items-center gap-4 border-t border-line px-4 py-2 text-xs text-ink-3 sm:flex">
            <span className="flex items-center gap-1.5">
              <Kbd>↑</Kbd>
              <Kbd>↓</Kbd> {t.search.hintMove}
            </span>
            <span className="flex items-center gap-1.5">
              <Kbd>↵</Kbd> {t.search.hintOpen}
            </span>
            <span className="flex items-center gap-1.5">
              <Kbd>esc</Kbd> {t.search.hintClose}
            </span>
          </div>
        </Dialog.Content>
      </Dialog.Portal>
    </Dialog.Root>
  );
}
