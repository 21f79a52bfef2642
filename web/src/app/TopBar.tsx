import { useQuery } from "@tanstack/react-query";
import {
  Building2,
  ChevronsUpDown,
  FlaskConical,
  Languages,
  LogOut,
  Moon,
  Radio,
  Search,
  Settings,
  SunMedium,
  Terminal,
} from "lucide-react";
import { useState } from "react";
import { type AccountRef, api, type Session, type Wallet } from "@/api";
import { Button, format, Kbd, Link, Menu, type MenuItem, Money, Skeleton, toast, useGo, usePhone } from "@/kit";
import { type LanguageChoice, setLanguage, useLanguageChoice, useTexts } from "@/text";
import { Mark } from "./Sidebar";
import { useSession, useTakeSession } from "./session";
import { appTexts } from "./texts";
import { setTheme, type ThemeChoice, useTheme } from "./theme";

/** The balance in the top bar is asked again this often while a page is looked at. */
const BALANCE_MS = 30_000;

export function useWallet() {
  const { account } = useSession();
  return useQuery({
    queryKey: ["wallet", "balance"],
    queryFn: ({ signal }) => api.get<Wallet>("/api/wallet", { signal }),
    refetchInterval: BALANCE_MS,
    enabled: account !== null,
  });
}

export function TopBar({ onSearch }: { onSearch: () => void }) {
  const t = useTexts(appTexts);
  const { instance } = useSession();
  return (
    <header className="sticky top-0 z-20 flex h-14 items-center gap-2 border-b border-line bg-surface px-3 sm:gap-3 sm:px-6">
      <Link href="/" aria-label={instance.name} className="rounded-md sm:hidden">
        <Mark className="size-7" />
      </Link>
      <AccountSwitch />
      <Environment />
      <div className="min-w-0 flex-1" />
      <button
        type="button"
        onClick={onSearch}
        aria-keyshortcuts="/ Control+K"
        className="flex size-9 shrink-0 items-center justify-center gap-2 rounded-card border border-line text-[13px] text-ink-3 hover:border-line-strong hover:text-ink-2 lg:h-8 lg:w-64 lg:justify-start lg:bg-canvas lg:px-2.5 max-lg:border-transparent"
      >
        <Search aria-hidden className="size-4 shrink-0" />
        <span className="sr-only">{t.search.open}</span>
        <span className="hidden flex-1 truncate text-left lg:inline">{t.search.hint}</span>
        <span aria-hidden className="hidden lg:inline">
          <Kbd>/</Kbd>
        </span>
      </button>
      <BalanceLink />
      <PersonMenu />
    </header>
  );
}

function AccountSwitch() {
  const t = useTexts(appTexts);
  const session = useSession();
  const take = useTakeSession();
  const go = useGo();
  const [busy, setBusy] = useState(false);
  const { account, accounts } = session;
  if (account === null) return null;
  const change = async (next: AccountRef) => {
    if (next.id === account.id) return;
    setBusy(true);
    try {
      take(await api.post<Session>("/api/session/account", { account_id: next.id }));
      go("/");
    } catch (problem) {
      toast(problem instanceof Error ? problem.message : String(problem), "bad");
    } finally {
      setBusy(false);
    }
  };
  const name = <span className="max-w-[11rem] min-w-0 truncate sm:max-w-56">{account.name}</span>;
  if (accounts.length < 2) {
    return <span className="flex h-9 min-w-0 items-center px-1 font-medium">{name}</span>;
  }
  const items: MenuItem[] = [
    { kind: "head", label: t.accounts },
    ...accounts.map((one) => ({
      label: one.name,
      hint: `${t.roles[one.role]} · ${one.kind === "test" ? t.test : t.live}`,
      icon: <Building2 aria-hidden />,
      checked: one.id === account.id,
      onSelect: () => void change(one),
    })),
  ];
  return (
    <Menu
      align="start"
      width={240}
      items={items}
      trigger={
        <button
          type="button"
          aria-label={`${t.switchAccount}: ${account.name}`}
          aria-busy={busy || undefined}
          className="flex h-9 min-w-0 items-center gap-1.5 rounded-card px-1.5 font-medium hover:bg-hover sm:px-2"
        >
          {name}
          <ChevronsUpDown aria-hidden className="size-3.5 shrink-0 text-ink-3" />
        </button>
      }
    />
  );
}

/** Whether calls cost real money: always in sight, always in words. */
function Environment() {
  const t = useTexts(appTexts);
  const { account, instance } = useSession();
  const kind = instance.mode === "dev" ? "dev" : account?.kind === "test" ? "test" : "live";
  const looks = {
    live: { word: t.live, means: t.liveMeans, look: "bg-ok-soft text-ok", icon: <Radio aria-hidden /> },
    test: { word: t.test, means: t.testMeans, look: "bg-warn-soft text-warn", icon: <FlaskConical aria-hidden /> },
    dev: { word: t.dev, means: t.devMeans, look: "bg-info-soft text-info", icon: <Terminal aria-hidden /> },
  }[kind];
  return (
    <span
      data-tip={looks.means}
      className={`inline-flex h-[22px] shrink-0 items-center gap-1 rounded-md px-1.5 text-xs font-medium [&_svg]:size-3.5 ${looks.look}`}
    >
      {looks.icon}
      <span className="max-sm:sr-only">{looks.word}</span>
    </span>
  );
}

function BalanceLink() {
  const t = useTexts(appTexts);
  const { data } = useWallet();
  const phone = usePhone();
  const low = data?.balance.is_low === true;
  const note =
    data === undefined || format.isZeroUsd(data.balance.reserved_usd)
      ? undefined
      : t.reserved(format.money(data.balance.reserved_usd, "call"));
  return (
    <Link
      href="/wallet"
      className={`flex h-9 min-w-16 shrink-0 items-center justify-end gap-1.5 rounded-card px-1.5 hover:bg-hover sm:px-2 ${low ? "text-warn" : ""}`}
    >
      <span className="sr-only">{t.balance}</span>
      {data === undefined ? (
        <Skeleton className="w-14" />
      ) : (
        <Money
          usd={data.balance.available_usd}
          kind="balance"
          short={phone}
          className="plain-num font-medium"
          {...(note === undefined ? {} : { note })}
        />
      )}
      <span aria-hidden className="hidden text-xs text-ink-3 xl:inline">
        {t.available}
      </span>
    </Link>
  );
}

export function useSignOut(): () => Promise<void> {
  const take = useTakeSession();
  const go = useGo();
  const { instance } = useSession();
  return async () => {
    try {
      await api.delete("/api/session");
      take({
        signed_in: false,
        person: null,
        account: null,
        accounts: [],
        rights: [],
        stepped_up_until: null,
        operator: null,
        second_factor: null,
        viewing: false,
        instance,
      });
      go("/sign-in");
    } catch (problem) {
      toast(problem instanceof Error ? problem.message : String(problem), "bad");
    }
  };
}

function PersonMenu() {
  const t = useTexts(appTexts);
  const { person } = useSession();
  const theme = useTheme();
  const language = useLanguageChoice();
  const signOut = useSignOut();
  if (person === null) return null;
  const themes: ThemeChoice[] = ["system", "light", "dark"];
  const languages: LanguageChoice[] = ["browser", "en", "zh"];
  const items: MenuItem[] = [
    { kind: "head", label: <span className="block truncate">{person.email}</span> },
    { label: t.nav.settings, icon: <Settings aria-hidden />, href: "/settings" },
    { kind: "line" },
    { kind: "head", label: t.theme },
    ...themes.map((one) => ({
      label: t.themes[one],
      icon: one === "dark" ? <Moon aria-hidden /> : <SunMedium aria-hidden />,
      checked: one === theme,
      onSelect: () => setTheme(one),
    })),
    { kind: "line" },
    { kind: "head", label: t.language },
    ...languages.map((one) => ({
      label: t.languages[one],
      icon: <Languages aria-hidden />,
      checked: one === language,
      onSelect: () => setLanguage(one),
    })),
    { kind: "line" },
    { label: t.signOut, icon: <LogOut aria-hidden />, onSelect: () => void signOut() },
  ];
  return (
    <Menu
      width={220}
      items={items}
      trigger={
        <Button size="icon" className="rounded-full! bg-sunken! text-xs! font-semibold text-ink-2">
          <span className="sr-only">
            {t.you}: {person.name}
          </span>
          <span aria-hidden>{initials(person.name === "" ? person.email : person.name)}</span>
        </Button>
      }
    />
  );
}

export function initials(name: string): string {
  const words = name.split(/[\s@.]+/u).filter((word) => /\p{L}|\p{N}/u.test(word[0] ?? ""));
  const [first, second] = words;
  return `${[...(first ?? "?")][0] ?? "?"}${[...(second ?? "")][0] ?? ""}`.toUpperCase();
}
