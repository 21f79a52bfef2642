import { useQuery } from "@tanstack/react-query";
import { clsx } from "clsx";
import { Check } from "lucide-react";
import { api, type Home, type Key, type PageOf } from "@/api";
import { useRight } from "@/app/session";
import { Button } from "@/kit";
import { useTexts } from "@/text";
import { homeTexts } from "./texts";

/** For an account that has not called yet: key, connect, first call. */
export function Steps({ home }: { home: Home }) {
  const t = useTexts(homeTexts).steps;
  const mayKeys = useRight("keys.write");
  const mayPlay = useRight("playground");
  const keys = useQuery({
    queryKey: ["keys", "first"],
    queryFn: ({ signal }) => api.get<PageOf<Key>>("/api/keys", { query: { limit: 1 }, signal }),
    enabled: home.has_key,
  });
  const first = keys.data?.data[0];
  const connect = first === undefined ? "/keys" : `/connect/${first.id}`;
  const at = home.has_key ? 1 : 0;
  const steps = [
    { name: t.key, text: t.keyText, href: "/keys/new", action: t.keyAction, may: mayKeys },
    { name: t.connect, text: t.connectText, href: connect, action: t.connectAction, may: true },
    { name: t.call, text: t.callText, href: "/playground/chat", action: t.callAction, may: mayPlay },
  ];
  return (
    <section className="mb-6 rounded-card border border-line bg-surface">
      <div className="border-b border-line px-4 py-3">
        <h2 className="font-semibold">{t.title}</h2>
        <p className="text-xs text-ink-3">{t.lead}</p>
      </div>
      <ol className="grid md:grid-cols-3">
        {steps.map((step, index) => {
          const done = index < at;
          const next = index === at;
          return (
            <li
              key={step.name}
              className="flex gap-3 border-line p-4 not-first:border-t md:flex-col md:not-first:border-t-0 md:not-first:border-l"
            >
              <span
                aria-hidden
                className={clsx(
                  "num flex size-6 shrink-0 items-center justify-center rounded-full text-xs font-semibold",
                  done ? "bg-ok-soft text-ok" : next ? "bg-accent text-on-accent" : "bg-sunken text-ink-3",
                )}
              >
                {done ? <Check className="size-3.5" strokeWidth={3} /> : index + 1}
              </span>
              <div className="flex min-w-0 flex-1 flex-col">
                <h3 className="font-medium">
                  {step.name}
                  {done && <span className="sr-only"> ({t.done})</span>}
                </h3>
                <p className="mt-0.5 text-ink-2">{step.text}</p>
                {!done && step.may && (
                  <div className="mt-3">
                    <Button size="small" variant={next ? "primary" : "quiet"} href={step.href}>
                      {step.action}
                    </Button>
                  </div>
                )}
              </div>
            </li>
          );
        })}
      </ol>
    </section>
  );
}
