import { clsx } from "clsx";
import { Ban, CircleAlert, Clapperboard, Hourglass, LoaderCircle } from "lucide-react";
import { type ReactNode, useEffect, useRef, useState } from "react";
import type { Task } from "@/api";
import { useTexts } from "@/text";
import { firstFrame } from "./logic";
import { taskTexts } from "./texts";

/** True once the element was near the window: a page of videos does not fetch them all. */
function useSeen(): [React.RefObject<HTMLDivElement | null>, boolean] {
  const ref = useRef<HTMLDivElement>(null);
  const [seen, setSeen] = useState(false);
  useEffect(() => {
    const element = ref.current;
    if (element === null || seen) return;
    const observer = new IntersectionObserver(
      (entries) => {
        if (entries.some((entry) => entry.isIntersecting)) setSeen(true);
      },
      { rootMargin: "200px" },
    );
    observer.observe(element);
    return () => observer.disconnect();
  }, [seen]);
  return [ref, seen];
}

/** The first frame of a video, or what is there instead of one. Always of the same shape. */
export function Preview({ task, className }: { task: Task; className?: string }) {
  const t = useTexts(taskTexts);
  const [ref, seen] = useSeen();
  const [broken, setBroken] = useState(false);
  const playable = task.state === "completed" && task.media !== null && !broken;
  return (
    <div
      ref={ref}
      className={clsx("relative flex aspect-video items-center justify-center overflow-hidden bg-sunken", className)}
    >
      {playable && seen && task.media !== null ? (
        <video
          src={firstFrame(task.media.url)}
          preload="metadata"
          muted
          playsInline
          tabIndex={-1}
          aria-hidden
          onError={() => setBroken(true)}
          className="size-full object-cover"
        />
      ) : (
        !playable && (
          <Instead task={task} word={task.state === "completed" && task.media === null ? t.noPreviewGone : undefined} />
        )
      )}
    </div>
  );
}

function Instead({ task, word }: { task: Task; word: string | undefined }) {
  const t = useTexts(taskTexts);
  const looks: Record<Task["state"], { icon: ReactNode; text: string }> = {
    queued: { icon: <Hourglass aria-hidden />, text: t.waiting },
    in_progress: {
      icon: <LoaderCircle aria-hidden className="animate-spin [animation-duration:2s]" />,
      text: t.notReady,
    },
    completed: { icon: <Clapperboard aria-hidden />, text: word ?? t.noPreview },
    failed: { icon: <CircleAlert aria-hidden />, text: task.error?.message ?? t.states.failed },
    cancelled: { icon: <Ban aria-hidden />, text: t.states.cancelled },
  };
  const look = looks[task.state];
  return (
    <div className="flex flex-col items-center gap-2 px-4 text-center text-xs text-ink-3 [&_svg]:size-5">
      {look.icon}
      <span className="line-clamp-4 [overflow-wrap:anywhere]">{look.text}</span>
    </div>
  );
}
