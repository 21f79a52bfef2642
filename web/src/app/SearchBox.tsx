/** The search box: `/` or Ctrl-K. It is there at once and takes every key; what finds the hits may come later. */
import { Search as SearchIcon } from "lucide-react";
import { Dialog } from "radix-ui";
import { type KeyboardEvent, lazy, Suspense, useCallback, useId, useReducer, useState } from "react";
import { Kbd } from "@/kit";
import { useTexts } from "@/text";
import { isSearchKey, NO_SEARCH, searchStep } from "./search";
import { appTexts } from "./texts";

const CommandPalette = lazy(() => import("./CommandPalette").then((module) => ({ default: module.CommandPalette })));

export function SearchBox({ onClose }: { onClose: () => void }) {
  const t = useTexts(appTexts);
  const list = useId();
  const [search, step] = useReducer(searchStep, NO_SEARCH);
  const [hits, setHits] = useState<number | null>(null);
  const onHits = useCallback((count: number) => setHits(count), []);
  const onKeyDown = (event: KeyboardEvent) => {
    // What a writing system composes is its own until it is done.
    if (!isSearchKey(event.key) || event.nativeEvent.isComposing) return;
    event.preventDefault();
    step({ what: "key", key: event.key, hits });
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
            <SearchIcon aria-hidden className="size-4 shrink-0 text-ink-3" />
            <input
              // biome-ignore lint/a11y/noAutofocus: a dialog that is only a search takes the focus where one types
              autoFocus
              role="combobox"
              aria-expanded={hits !== null}
              aria-controls={hits === null ? undefined : list}
              aria-activedescendant={hits === null || search.at >= hits ? undefined : `${list}-${search.at}`}
              aria-label={t.search.placeholder}
              autoComplete="off"
              spellCheck={false}
              value={search.word}
              placeholder={t.search.placeholder}
              onChange={(event) => step({ what: "typed", word: event.target.value })}
              onKeyDown={onKeyDown}
              className="h-full min-w-0 flex-1 bg-transparent text-[15px] outline-none"
            />
          </div>
          <Suspense fallback={<Waiting />}>
            <CommandPalette search={search} list={list} onStep={step} onHits={onHits} onClose={onClose} />
          </Suspense>
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

/** The shape of a few hits. */
function Waiting() {
  return (
    <div aria-hidden className="space-y-4 px-4 py-5">
      <div className="skeleton h-4 w-1/3" />
      <div className="skeleton h-4 w-2/3" />
      <div className="skeleton h-4 w-1/2" />
    </div>
  );
}
