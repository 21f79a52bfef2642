/** One tile a client; a radio group, so arrows move through it. */
import { clsx } from "clsx";
import { Bot, Braces, Code, MessagesSquare, MousePointer2, SquareTerminal, Workflow } from "lucide-react";
import type { ReactNode } from "react";
import { useTexts } from "@/text";
import { CLIENT_IDS, type ClientId } from "./snippets";
import { connectTexts } from "./texts";

const ICONS: Record<ClientId, ReactNode> = {
  curl: <SquareTerminal aria-hidden />,
  python: <Code aria-hidden />,
  node: <Braces aria-hidden />,
  "claude-code": <Bot aria-hidden />,
  codex: <Bot aria-hidden />,
  "gemini-cli": <Bot aria-hidden />,
  "open-webui": <MessagesSquare aria-hidden />,
  n8n: <Workflow aria-hidden />,
  opencode: <Bot aria-hidden />,
  langchain: <Code aria-hidden />,
  cursor: <MousePointer2 aria-hidden />,
};

export function ClientTiles({ client, onChange }: { client: ClientId; onChange: (client: ClientId) => void }) {
  const t = useTexts(connectTexts);
  return (
    <div role="radiogroup" aria-label={t.clients} className="grid grid-cols-2 gap-2 sm:grid-cols-3 xl:grid-cols-4">
      {CLIENT_IDS.map((id) => (
        <label
          key={id}
          className={clsx(
            "flex min-w-0 items-center gap-3 rounded-card border px-3 py-2.5 transition-colors duration-100 has-focus-visible:outline-2 has-focus-visible:outline-accent",
            id === client ? "border-accent bg-accent-soft" : "border-line bg-surface hover:bg-hover",
          )}
        >
          <input type="radio" name="client" className="sr-only" checked={id === client} onChange={() => onChange(id)} />
          <span className={clsx("[&_svg]:size-4", id === client ? "text-accent-ink" : "text-ink-3")}>{ICONS[id]}</span>
          <span className="min-w-0">
            <span className="block truncate font-medium text-ink">{t.names[id]}</span>
            <span className={clsx("block truncate text-xs", id === client ? "text-ink-2" : "text-ink-3")}>
              {t.kinds[id]}
            </span>
          </span>
        </label>
      ))}
    </div>
  );
}
