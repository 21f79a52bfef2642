import { type InfiniteData, useInfiniteQuery } from "@tanstack/react-query";
import { Outlet } from "@tanstack/react-router";
import { Clapperboard, LayoutGrid, List, X } from "lucide-react";
import { useMemo } from "react";
import { api, type PageOf, type Task, withQuery } from "@/api";
import { useRight } from "@/app/session";
import {
  Button,
  type Column,
  DataTable,
  Duration,
  Empty,
  Page,
  Segments,
  Select,
  useParam,
  useRemembered,
  useSearch,
  When,
} from "@/kit";
import { useModelOptions } from "@/kit/records/filterOptions";
import { MultiSelect } from "@/kit/records/MultiSelect";
import { Clip, quietHeads } from "@/kit/records/parts";
import { textOf, wordOf } from "@/kit/records/search";
import { recordTexts } from "@/kit/records/texts";
import { useTexts } from "@/text";
import { Gallery } from "./Gallery";
import { isRunning, STATES, type State, waitBeforeAsking } from "./logic";
import { StateBadge, TaskMoney, TaskProgress } from "./pieces";
import { taskTexts } from "./texts";

type Layout = "gallery" | "table";
const PAGE = 24;

export default function TasksPage() {
  const t = useTexts(taskTexts);
  const open = useParam("id");
  const mayMake = useRight("playground");
  const [search, change] = useSearch();
  const state = wordOf<State | "">(search, "state", ["", ...STATES]);
  const model = textOf(search, "model");
  const [kept, keep] = useRemembered<Layout>("tasks.layout", "gallery");
  const asked = textOf(search, "view");
  const layout: Layout = asked === "table" || asked === "gallery" ? asked : kept;
  const query = useTasks(state, model);
  const tasks = useMemo(() => query.data?.pages.flatMap((page) => page.data), [query.data]);
  const running = tasks?.filter(isRunning).length ?? 0;
  const href = (task: Task) => withQuery(`/tasks/${encodeURIComponent(task.id)}`, { state, model, view: asked });
  const make = mayMake ? (
    <Button variant="primary" icon={<Clapperboard aria-hidden />} href="/playground/video">
      {t.make}
    </Button>
  ) : undefined;
  const list = {
    tasks,
    href,
    current: open === "" ? undefined : open,
    error: query.error,
    retry: () => void query.refetch(),
    hasMore: query.hasNextPage,
    loadingMore: query.isFetchingNextPage,
    onMore: () => {
      if (!query.isFetchingNextPage) void query.fetchNextPage();
    },
    empty:
      state === "" && model === "" ? (
        <Empty icon={<Clapperboard aria-hidden />} title={t.emptyTitle} text={t.emptyText} action={make} />
      ) : (
        <Empty
          icon={<Clapperboard aria-hidden />}
          title={t.noneTitle}
          text={t.noneText}
          action={<Button onClick={() => change({ state: "", model: "" })}>{t.clear}</Button>}
        />
      ),
  };
  return (
    <Page title={t.title} lead={t.lead} wide action={make}>
      <div className="mb-4 flex flex-wrap items-center gap-2">
        <Filters state={state} model={model} onChange={change} />
        <span role="status" className="min-h-5 text-[13px] text-ink-3 max-sm:order-last max-sm:w-full">
          {running > 0 ? t.watching(running) : ""}
        </span>
        <Segments
          className="ml-auto"
          label={t.layout}
          value={layout}
          onChange={(next) => {
            keep(next);
            change({ view: "" });
          }}
          options={[
            {
              value: "gallery",
              label: <LayoutWord icon={<LayoutGrid aria-hidden className="size-4" />} word={t.gallery} />,
            },
            { value: "table", label: <LayoutWord icon={<List aria-hidden className="size-4" />} word={t.table} /> },
          ]}
        />
      </div>
      {layout === "gallery" ? <Gallery {...list} /> : <TaskTable {...list} />}
      <Outlet />
    </Page>
  );
}

function LayoutWord({ icon, word }: { icon: React.ReactNode; word: string }) {
  return (
    <span className="flex items-center gap-1.5">
      {icon}
      <span className="max-sm:sr-only">{word}</span>
    </span>
  );
}

/** Asks again while something runs; the browser pauses it while the page is hidden. */
function useTasks(state: string, model: string) {
  return useInfiniteQuery({
    queryKey: ["tasks", "list", { state, model }],
    queryFn: ({ pageParam, signal }) =>
      api.get<PageOf<Task>>("/api/tasks", { query: { state, model, after: pageParam, limit: PAGE }, signal }),
    initialPageParam: null as string | null,
    getNextPageParam: (last) => last.next,
    refetchInterval: (query) => {
      const data = query.state.data as InfiniteData<PageOf<Task>> | undefined;
      const running = data?.pages.some((page) => page.data.some(isRunning)) ?? false;
      const wait = waitBeforeAsking(running, query.state.dataUpdateCount);
      // All pages are asked again; the more of them, the rarer.
      return wait === false ? false : wait * Math.max(1, data?.pages.length ?? 1);
    },
  });
}

function Filters(props: { state: State | ""; model: string; onChange: (change: Record<string, string>) => void }) {
  const t = useTexts(taskTexts);
  const used = useModelOptions();
  return (
    <>
      <div className="w-40 max-sm:w-[calc(50%-4px)]">
        <Select
          aria-label={t.state}
          value={props.state}
          className={props.state === "" ? "text-ink-2!" : "border-accent!"}
          onChange={(state) => props.onChange({ state })}
          options={[
            { value: "" as State | "", label: t.anyState },
            ...STATES.map((value) => ({ value, label: t.states[value] })),
          ]}
        />
      </div>
      <div className="w-48 max-sm:w-[calc(50%-4px)]">
        <MultiSelect
          label={t.model}
          any={t.anyModel}
          free
          value={props.model}
          options={used}
          onChange={(model) => props.onChange({ model })}
        />
      </div>
      {(props.state !== "" || props.model !== "") && (
        <Button
          variant="link"
          className="h-9 px-1 text-[13px]!"
          icon={<X aria-hidden />}
          onClick={() => props.onChange({ state: "", model: "" })}
        >
          {t.clear}
        </Button>
      )}
    </>
  );
}

export interface TaskListProps {
  tasks: Task[] | undefined;
  href: (task: Task) => string;
  current: string | undefined;
  error: unknown;
  retry: () => void;
  hasMore: boolean;
  loadingMore: boolean;
  onMore: () => void;
  empty: React.ReactNode;
}

function TaskTable(props: TaskListProps) {
  const t = useTexts(taskTexts);
  const r = useTexts(recordTexts);
  const columns: Column<Task>[] = [
    { id: "submitted", head: t.cols.submitted, width: 132, cell: (task) => <When at={task.created_at} /> },
    { id: "state", head: t.cols.state, width: 132, cell: (task) => <StateBadge state={task.state} /> },
    { id: "model", head: t.cols.model, primary: true, width: 220, cell: (task) => <Clip text={task.model} /> },
    {
      id: "progress",
      head: t.cols.progress,
      width: 240,
      cell: (task) =>
        isRunning(task) ? (
          <div className="w-52">
            <TaskProgress task={task} />
          </div>
        ) : null,
    },
    { id: "key", head: t.cols.key, width: 180, cell: (task) => <Clip text={task.key_name ?? r.noKey} /> },
    {
      id: "took",
      head: t.cols.took,
      align: "right",
      cell: (task) =>
        task.ended_at === null ? null : <Duration ms={Date.parse(task.ended_at) - Date.parse(task.created_at)} />,
    },
    { id: "cost", head: t.cols.cost, align: "right", cell: (task) => <TaskMoney task={task} /> },
  ];
  return (
    <DataTable
      label={t.title}
      columns={quietHeads(columns)}
      rows={props.tasks}
      rowKey={(task) => task.id}
      rowHref={props.href}
      current={props.current}
      error={props.error}
      retry={props.retry}
      hasMore={props.hasMore}
      loadingMore={props.loadingMore}
      onMore={props.onMore}
      empty={props.empty}
      cardFields={["model", "state", "cost", "submitted"]}
    />
  );
}
