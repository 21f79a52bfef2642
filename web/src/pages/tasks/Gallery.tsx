import { clsx } from "clsx";
import type { Task } from "@/api";
import { Button, Link, Problem, Skeleton, When } from "@/kit";
import { useTexts } from "@/text";
import { isRunning } from "./logic";
import { Preview } from "./Preview";
import { StateBadge, TaskMoney, TaskProgress } from "./pieces";
import type { TaskListProps } from "./TasksPage";
import { taskTexts } from "./texts";

const grid = "grid grid-cols-[repeat(auto-fill,minmax(min(100%,17rem),1fr))] gap-4";

export function Gallery({ tasks, href, current, error, retry, hasMore, loadingMore, onMore, empty }: TaskListProps) {
  const t = useTexts(taskTexts);
  if (tasks === undefined) {
    if (error !== null && error !== undefined) return <Problem error={error} retry={retry} />;
    return (
      <div className={grid} aria-hidden>
        {["a", "b", "c", "d", "e", "f", "g", "h"].map((name) => (
          <div key={name} className="overflow-hidden rounded-card border border-line bg-surface">
            <div className="skeleton aspect-video rounded-none!" />
            <div className="space-y-2.5 p-3">
              <Skeleton className="w-2/3" />
              <Skeleton className="h-3! w-1/2" />
              <Skeleton className="h-3! w-3/4" />
            </div>
          </div>
        ))}
      </div>
    );
  }
  if (tasks.length === 0) return <div className="rounded-card border border-line bg-surface">{empty}</div>;
  return (
    <>
      {error !== null && error !== undefined && <Problem error={error} retry={retry} compact className="mb-4" />}
      <ul className={grid} aria-label={t.title}>
        {tasks.map((task) => (
          <li key={task.id} className="flex min-w-0">
            <TaskCard task={task} href={href(task)} current={task.id === current} />
          </li>
        ))}
      </ul>
      {hasMore && (
        <div className="mt-6 flex justify-center">
          <Button busy={loadingMore} onClick={onMore}>
            {t.more}
          </Button>
        </div>
      )}
    </>
  );
}

function TaskCard({ task, href, current }: { task: Task; href: string; current: boolean }) {
  return (
    <article
      className={clsx(
        "relative flex w-full min-w-0 flex-col overflow-hidden rounded-card border bg-surface transition-colors duration-100 hover:border-line-strong has-focus-visible:outline-2 has-focus-visible:outline-accent",
        current ? "border-accent" : "border-line",
      )}
    >
      <Preview task={task} className="border-b border-line" />
      <div className="flex flex-1 flex-col p-3">
        <div className="flex items-start justify-between gap-2">
          <Link href={href} className="min-w-0 truncate font-medium text-ink outline-none after:absolute after:inset-0">
            {task.model}
          </Link>
          <StateBadge state={task.state} />
        </div>
        <p className="mt-0.5 text-xs text-ink-3">
          <When at={task.created_at} />
        </p>
        <div className="mt-3 flex min-h-9 flex-1 items-end">
          {isRunning(task) ? (
            <div className="w-full min-w-0">
              <TaskProgress task={task} aside={<TaskMoney task={task} />} />
            </div>
          ) : (
            <div className="flex w-full min-w-0 items-baseline justify-between gap-3 text-[13px]">
              <span className="min-w-0 truncate text-xs text-ink-3">{task.key_name ?? ""}</span>
              <TaskMoney task={task} />
            </div>
          )}
        </div>
      </div>
    </article>
  );
}
