/** The frame of every signed-in page: rail, top bar, content; on a phone a bar at the bottom. */
import { useMutation } from "@tanstack/react-query";
import { Outlet } from "@tanstack/react-router";
import { clsx } from "clsx";
import { useEffect, useState } from "react";
import { api, type Session } from "@/api";
import { Button, toast, useGo, usePath, useRemembered } from "@/kit";
import { useTexts } from "@/text";
import { BottomBar } from "./BottomBar";
import { SearchBox } from "./SearchBox";
import { Sidebar } from "./Sidebar";
import { useSession, useTakeSession } from "./session";
import { TopBar } from "./TopBar";
import { appTexts } from "./texts";

/** Whether a key press is meant for a text field. */
function typing(target: EventTarget | null): boolean {
  return (
    target instanceof HTMLElement &&
    (target.isContentEditable || target.matches("input, textarea, select, [role=combobox]"))
  );
}

export function Shell() {
  const t = useTexts(appTexts);
  const { signed_in, instance } = useSession();
  const go = useGo();
  const path = usePath();
  const [narrow, setNarrow] = useRemembered("rail.narrow", false);
  const [searching, setSearching] = useState(false);

  useEffect(() => {
    if (signed_in) return;
    if (instance.needs_setup) {
      go("/setup", undefined, true);
      return;
    }
    const here = location.pathname + location.search;
    go("/sign-in", here === "/" ? undefined : { return_to: here }, true);
  }, [signed_in, instance.needs_setup, go]);

  useEffect(() => {
    const onKey = (event: KeyboardEvent) => {
      const palette =
        (event.key === "k" && (event.ctrlKey || event.metaKey)) || (event.key === "/" && !typing(event.target));
      if (!palette || event.defaultPrevented) return;
      event.preventDefault();
      setSearching(true);
    };
    document.addEventListener("keydown", onKey);
    return () => document.removeEventListener("keydown", onKey);
  }, []);

  if (!signed_in) return null;
  return (
    <div className={clsx("min-h-dvh", narrow ? "sm:pl-[60px]" : "sm:pl-[216px]")}>
      <a
        href="#content"
        className="fixed top-2 left-2 z-60 -translate-y-16 rounded-card bg-accent px-3 py-2 font-medium text-on-accent focus:translate-y-0"
      >
        {t.skip}
      </a>
      <Sidebar narrow={narrow} onNarrow={setNarrow} />
      <TopBar onSearch={() => setSearching(true)} />
      <ViewingNotice />
      <VerifyNotice />
      <main id="content" tabIndex={-1} key={path.split("/")[1]} className="pb-20 outline-none sm:pb-0">
        <Outlet />
      </main>
      <BottomBar />
      {searching && <SearchBox onClose={() => setSearching(false)} />}
    </div>
  );
}

/** An operator looks at a customer's pages: said on each of them, with the way back. */
function ViewingNotice() {
  const t = useTexts(appTexts);
  const session: Session = useSession();
  const take = useTakeSession();
  const go = useGo();
  const end = useMutation({
    mutationFn: () => api.post<Session>("/api/operator/view/end", {}),
    onSuccess: (next) => {
      const customer = session.account?.id;
      take(next);
      go(customer === undefined ? "/operator/customers" : `/operator/customers/${customer}`);
    },
    onError: (problem) => toast(problem.message, "bad"),
  });
  if (session.viewing !== true) return null;
  return (
    <div
      role="status"
      className="flex flex-wrap items-center gap-x-4 gap-y-1 border-b border-line bg-info-soft px-4 py-2 text-[13px] text-ink sm:px-8"
    >
      <span className="min-w-0">{t.viewing(session.account?.name ?? "")}</span>
      <Button variant="link" busy={end.isPending} onClick={() => end.mutate()}>
        {t.endViewing}
      </Button>
    </div>
  );
}

function VerifyNotice() {
  const t = useTexts(appTexts);
  const { person } = useSession();
  const again = useMutation({
    mutationFn: () => api.post("/api/email/verify/again", {}),
    onSuccess: () => toast(t.verifySent),
    onError: (problem) => toast(problem.message, "bad"),
  });
  if (person === null || person.email_verified) return null;
  return (
    <div
      role="status"
      className="flex flex-wrap items-center gap-x-4 gap-y-1 border-b border-line bg-warn-soft px-4 py-2 text-[13px] text-ink sm:px-8"
    >
      <span className="min-w-0">{t.verifyFirst}</span>
      <Button variant="link" busy={again.isPending} onClick={() => again.mutate()}>
        {t.verifyAgain}
      </Button>
    </div>
  );
}
