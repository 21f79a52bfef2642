import type { ReactNode } from "react";
import { Mark } from "@/app/Sidebar";
import { useSession } from "@/app/session";
import { Link, useTitle } from "@/kit";
import { type Language, setLanguage, useLanguage, useTexts } from "@/text";
import { signInTexts } from "./texts";

/** A calm single column: the mark, what this is, the form, and nothing that leads away from it. */
export function Frame({
  title,
  lead,
  children,
  foot,
}: {
  title: string;
  lead?: ReactNode;
  children?: ReactNode;
  foot?: ReactNode;
}) {
  const t = useTexts(signInTexts);
  const { instance } = useSession();
  const now = useLanguage();
  const other: Language = now === "zh" ? "en" : "zh";
  useTitle(`${title} · ${instance.name}`);
  return (
    <div className="flex min-h-dvh flex-col bg-canvas">
      <main className="flex flex-1 flex-col items-center px-4 pt-[max(2.5rem,12vh)] pb-10">
        <div className="w-full max-w-[380px]">
          <div className="mb-8 flex items-center gap-2.5">
            <Mark className="size-8" />
            <span className="min-w-0 truncate text-[15px] font-semibold tracking-[-0.01em]">{instance.name}</span>
          </div>
          <h1 className="text-xl leading-7 font-semibold tracking-[-0.01em] [overflow-wrap:anywhere]">{title}</h1>
          {lead !== undefined && <div className="mt-1 [overflow-wrap:anywhere] text-ink-2">{lead}</div>}
          {children !== undefined && <div className="mt-6">{children}</div>}
          {foot !== undefined && <div className="mt-6 text-ink-2">{foot}</div>}
        </div>
      </main>
      <footer className="flex justify-center gap-6 px-4 pb-6 text-xs text-ink-3">
        <Link href="/docs" className="hover:text-ink hover:underline">
          {t.docs}
        </Link>
        <button
          type="button"
          lang={other}
          className="hover:text-ink hover:underline"
          onClick={() => setLanguage(other)}
        >
          {other === "zh" ? "中文" : "English"}
        </button>
      </footer>
    </div>
  );
}

export function TextLink({ href, children }: { href: string; children: ReactNode }) {
  return (
    <Link href={href} className="font-medium text-accent-ink underline-offset-2 hover:underline">
      {children}
    </Link>
  );
}
