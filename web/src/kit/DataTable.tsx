import { useWindowVirtualizer } from "@tanstack/react-virtual";
import { clsx } from "clsx";
import {
  type KeyboardEvent,
  type MouseEvent,
  type ReactNode,
  type RefObject,
  useEffect,
  useLayoutEffect,
  useRef,
  useState,
} from "react";
import { Link, useGo } from "@/app/nav";
import { useTexts } from "@/text";
import { Button } from "./Button";
import { usePhone } from "./hooks";
import { Problem, Skeleton } from "./states";
import { kitTexts } from "./texts";

export interface Column<T> {
  id: string;
  head: ReactNode;
  cell: (row: T) => ReactNode;
  align?: "left" | "right" | "center";
  mono?: boolean;
  /** What names the row: bold on a card, and the link to its detail. */
  primary?: boolean;
  /** A fixed width in pixels, so that columns do not move when more rows come. */
  width?: number;
  /** Takes what width is left, and is cut off with dots instead of widening the table. */
  clip?: boolean;
  /** The value says by itself what it is (a badge, a time): no label beside it on a card. */
  bare?: boolean;
}
export interface DataTableProps<T> {
  columns: readonly Column<T>[];
  rows: readonly T[] | undefined;
  rowKey: (row: T) => string | number;
  rowHref?: (row: T) => string;
  onMore?: () => void;
  hasMore?: boolean;
  loadingMore?: boolean;
  empty?: ReactNode;
  loading?: boolean;
  error?: unknown;
  retry?: () => void;
  /** Ids of the columns a card on a phone shows: the first names it, the others are the facts that matter. */
  cardFields?: readonly string[];
  /** Name of the table for a screen reader. */
  label?: string;
  /** The row that is open in the panel. */
  current?: string | number | undefined;
  /** How many rows the skeleton has. */
  skeletonRows?: number;
  className?: string;
}

const ROW = 36;
const CARD = 76;
/** Below this all rows are drawn: find-in-page and printing then work as anywhere. */
const VIRTUAL_FROM = 120;

export function DataTable<T>(props: DataTableProps<T>) {
  const phone = usePhone();
  const { rows, error, retry, loading = false, empty, className } = props;
  if (error !== undefined && error !== null && rows === undefined) return <Problem error={error} retry={retry} />;
  const frame = clsx("min-w-0 rounded-card border border-line bg-surface", className);
  if (rows !== undefined && rows.length === 0 && !loading) return <div className={frame}>{empty}</div>;
  return (
    <div className={frame}>
      {error !== undefined && error !== null && <Problem error={error} retry={retry} compact className="m-2" />}
      {phone ? <Cards {...props} /> : <Rows {...props} />}
      <More {...props} />
    </div>
  );
}

function More<T>({ rows, hasMore = false, onMore, loadingMore = false }: DataTableProps<T>) {
  const t = useTexts(kitTexts);
  const mark = useRef<HTMLDivElement>(null);
  const act = useRef(onMore);
  useEffect(() => {
    act.current = onMore;
  });
  const length = rows?.length ?? 0;
  // biome-ignore lint/correctness/useExhaustiveDependencies: a longer list must look again whether its end is in sight
  useEffect(() => {
    const element = mark.current;
    if (!hasMore || loadingMore || element === null) return;
    const observer = new IntersectionObserver(
      (entries) => {
        if (entries.some((entry) => entry.isIntersecting)) act.current?.();
      },
      { rootMargin: "400px" },
    );
    observer.observe(element);
    return () => observer.disconnect();
  }, [hasMore, loadingMore, length]);
  if (!hasMore) return null;
  return (
    <div ref={mark} className="flex h-12 items-center justify-center border-t border-line">
      <Button variant="link" className="text-[13px]!" disabled={loadingMore} onClick={() => onMore?.()}>
        {loadingMore ? t.loadingMore : t.more}
      </Button>
    </div>
  );
}

function useVirtual(length: number, size: number) {
  const body = useRef<HTMLDivElement>(null);
  const [offset, setOffset] = useState(0);
  useLayoutEffect(() => {
    if (body.current !== null) setOffset(body.current.getBoundingClientRect().top + window.scrollY);
  }, []);
  const virtual = length > VIRTUAL_FROM;
  const virtualizer = useWindowVirtualizer({
    count: virtual ? length : 0,
    estimateSize: () => size,
    overscan: 20,
    scrollMargin: offset,
  });
  const items = virtualizer.getVirtualItems();
  const first = items[0];
  const end = items[items.length - 1];
  const indices = virtual ? items.map((item) => item.index) : Array.from({ length }, (_, index) => index);
  return {
    body,
    indices,
    before: virtual && first !== undefined ? first.start - offset : 0,
    after: virtual && end !== undefined ? virtualizer.getTotalSize() - (end.end - offset) : 0,
    reveal: (index: number) => {
      if (virtual) virtualizer.scrollToIndex(index);
    },
  };
}

/** j and k or the arrows move the mark, Enter opens it. */
function useMarkedRow<T>(props: DataTableProps<T>, reveal: (index: number) => void) {
  const go = useGo();
  const { rows, rowHref } = props;
  const [marked, setMarked] = useState(-1);
  const rootRef = useRef<HTMLDivElement>(null);
  const length = rows?.length ?? 0;
  const move = (to: number) => {
    if (length === 0) return;
    const next = Math.min(Math.max(to, 0), length - 1);
    setMarked(next);
    reveal(next);
    requestAnimationFrame(() => {
      const row = rootRef.current?.querySelector<HTMLElement>(`[data-row="${next}"]`);
      row?.focus({ preventScroll: false });
    });
  };
  const onKeyDown = (event: KeyboardEvent) => {
    const own = event.target instanceof HTMLElement && event.target.matches("[data-row], [data-table]");
    if (event.metaKey || event.ctrlKey || event.altKey || length === 0 || !own) return;
    if (event.key === "j" || event.key === "ArrowDown") move(marked + 1);
    else if (event.key === "k" || event.key === "ArrowUp") move(marked - 1);
    else if (event.key === "Home") move(0);
    else if (event.key === "End") move(length - 1);
    else if (event.key === "Enter" && marked >= 0 && rowHref !== undefined) {
      const row = rows?.[marked];
      if (row !== undefined) go(rowHref(row));
    } else return;
    event.preventDefault();
  };
  // From anywhere on the page j takes hold of the first row, unless the user is typing.
  const start = useRef(move);
  useEffect(() => {
    start.current = move;
  });
  useEffect(() => {
    if (rowHref === undefined) return;
    const onKey = (event: globalThis.KeyboardEvent) => {
      if (event.key !== "j" || event.metaKey || event.ctrlKey || event.altKey) return;
      if (document.activeElement !== null && document.activeElement !== document.body) return;
      event.preventDefault();
      start.current(0);
    };
    document.addEventListener("keydown", onKey);
    return () => document.removeEventListener("keydown", onKey);
  }, [rowHref]);
  return { marked, setMarked, onKeyDown, rootRef };
}

/** Whether the table is wider than its place: it then scrolls sideways by itself, and its head no longer sticks. */
function useTight(root: RefObject<HTMLDivElement | null>) {
  const table = useRef<HTMLTableElement>(null);
  const [tight, setTight] = useState(false);
  useLayoutEffect(() => {
    const outer = root.current;
    const inner = table.current;
    if (outer === null || inner === null) return;
    const measure = () => setTight(inner.offsetWidth > outer.clientWidth + 1);
    measure();
    const observer = new ResizeObserver(measure);
    observer.observe(outer);
    observer.observe(inner);
    return () => observer.disconnect();
  }, [root]);
  return { table, tight };
}

function isControl(event: MouseEvent): boolean {
  return event.target instanceof Element && event.target.closest("a, button, input, label, [role=menuitem]") !== null;
}

function Rows<T>(props: DataTableProps<T>) {
  const { columns, rows, rowKey, rowHref, label, current, loading = false, skeletonRows = 8 } = props;
  const go = useGo();
  const { body, indices, before, after, reveal } = useVirtual(rows?.length ?? 0, ROW);
  const { marked, setMarked, onKeyDown, rootRef } = useMarkedRow(props, reveal);
  const { table, tight } = useTight(rootRef);
  const alignment = (column: Column<T>) =>
    column.align === "right" ? "text-right" : column.align === "center" ? "text-center" : "text-left";
  return (
    // biome-ignore lint/a11y/noStaticElementInteractions: the keys of its rows, which are focusable, arrive here
    <div
      ref={rootRef}
      className={clsx(tight && "overflow-x-auto")}
      onKeyDown={onKeyDown}
      tabIndex={tight && rowHref === undefined ? 0 : undefined}
    >
      <div ref={body} />
      <table
        ref={table}
        className="w-full border-separate border-spacing-0"
        aria-label={label}
        aria-busy={loading || undefined}
        data-table
      >
        <thead>
          <tr>
            {columns.map((column) => (
              <th
                key={column.id}
                scope="col"
                style={column.width === undefined ? undefined : { width: column.width }}
                className={clsx(
                  "h-9 border-b border-line bg-surface px-3 text-xs font-medium whitespace-nowrap text-ink-3 first:rounded-tl-card first:pl-4 last:rounded-tr-card last:pr-4",
                  !tight && "sticky top-14 z-10",
                  alignment(column),
                )}
              >
                {column.head}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {rows === undefined &&
            Array.from({ length: skeletonRows }, (_, index) => (
              // biome-ignore lint/suspicious/noArrayIndexKey: rows without anything in them have no other name
              <tr key={index} aria-hidden>
                {columns.map((column, at) => (
                  <td key={column.id} className="h-9 border-b border-line px-3 first:pl-4 last:pr-4">
                    <Skeleton
                      className={clsx("h-3.5!", column.align === "right" && "ml-auto", at === 0 ? "w-32" : "w-20")}
                    />
                  </td>
                ))}
              </tr>
            ))}
          {before > 0 && <Gap height={before} span={columns.length} />}
          {indices.map((index) => {
            const row = rows?.[index];
            if (row === undefined) return null;
            const key = rowKey(row);
            const href = rowHref?.(row);
            return (
              <tr
                key={key}
                data-row={index}
                tabIndex={href === undefined ? undefined : index === Math.max(marked, 0) ? 0 : -1}
                onFocus={() => setMarked(index)}
                onClick={(event) => {
                  if (href === undefined || isControl(event) || (window.getSelection()?.toString() ?? "") !== "")
                    return;
                  if (event.metaKey || event.ctrlKey) window.open(href, "_blank", "noopener");
                  else go(href);
                }}
                className={clsx(
                  "group focus-visible:-outline-offset-2",
                  href !== undefined && "cursor-pointer hover:bg-hover",
                  current !== undefined && key === current && "bg-accent-soft hover:bg-accent-soft",
                )}
              >
                {columns.map((column) => (
                  <td
                    key={column.id}
                    className={clsx(
                      "h-9 overflow-hidden border-b border-line px-3 py-1 text-ellipsis whitespace-nowrap text-ink-2 first:pl-4 last:pr-4",
                      index === (rows?.length ?? 0) - 1 && !props.hasMore && "border-b-0",
                      alignment(column),
                      column.mono === true && "num",
                      column.primary === true && "font-medium text-ink",
                      column.clip === true ? "max-w-72 min-w-32" : "max-w-96",
                    )}
                  >
                    {column.primary === true && href !== undefined ? (
                      <Link href={href} tabIndex={-1} className="block truncate">
                        {column.cell(row)}
                      </Link>
                    ) : (
                      column.cell(row)
                    )}
                  </td>
                ))}
              </tr>
            );
          })}
          {after > 0 && <Gap height={after} span={columns.length} />}
        </tbody>
      </table>
    </div>
  );
}

function Gap({ height, span }: { height: number; span: number }) {
  return (
    <tr aria-hidden>
      <td colSpan={span} style={{ height, padding: 0 }} />
    </tr>
  );
}

function Cards<T>(props: DataTableProps<T>) {
  const { columns, rows, rowKey, rowHref, label, loading = false, skeletonRows = 6 } = props;
  const { body, indices, before, after } = useVirtual(rows?.length ?? 0, CARD);
  const chosen = props.cardFields ?? columns.slice(0, 4).map((column) => column.id);
  const fields = chosen.flatMap((id) => columns.filter((column) => column.id === id));
  // What has no heading is a button or a menu: it goes to the corner of the card.
  const [name, ...rest] = fields;
  const facts = rest.filter((column) => column.head !== "");
  const corner = rest.filter((column) => column.head === "");
  return (
    <div>
      <div ref={body} style={{ height: before }} />
      <ul aria-label={label} aria-busy={loading || undefined}>
        {rows === undefined &&
          Array.from({ length: skeletonRows }, (_, index) => (
            // biome-ignore lint/suspicious/noArrayIndexKey: rows without anything in them have no other name
            <li key={index} aria-hidden className="border-b border-line p-4 last:border-b-0">
              <Skeleton className="w-2/3" />
              <Skeleton className="mt-2.5 h-3! w-1/2" />
            </li>
          ))}
        {indices.map((index) => {
          const row = rows?.[index];
          if (row === undefined || name === undefined) return null;
          const href = rowHref?.(row);
          return (
            <li key={rowKey(row)} className="relative border-b border-line px-4 py-3 last:border-b-0">
              <div className="flex items-start justify-between gap-3">
                <div className="min-w-0 flex-1 font-medium [overflow-wrap:anywhere] text-ink">
                  {href === undefined ? (
                    name.cell(row)
                  ) : (
                    <Link href={href} className="after:absolute after:inset-0">
                      {name.cell(row)}
                    </Link>
                  )}
                </div>
                {corner.map((column) => (
                  <div key={column.id} className="relative z-1 -my-1 -mr-1 shrink-0">
                    {column.cell(row)}
                  </div>
                ))}
              </div>
              <dl className="mt-1.5 flex flex-wrap items-center gap-x-4 gap-y-1 text-[13px] text-ink-2">
                {facts.map((column) => (
                  <div key={column.id} className="flex min-w-0 items-center gap-1.5">
                    <dt className={clsx("shrink-0 text-xs text-ink-3", column.bare === true && "sr-only")}>
                      {column.head}
                    </dt>
                    <dd
                      className={clsx(
                        "relative min-w-0 [&_a]:relative [&_a]:z-1 [&_button]:z-1",
                        column.mono === true && "num",
                      )}
                    >
                      {column.cell(row)}
                    </dd>
                  </div>
                ))}
              </dl>
            </li>
          );
        })}
      </ul>
      <div style={{ height: after }} />
    </div>
  );
}
