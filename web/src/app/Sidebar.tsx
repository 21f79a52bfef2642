import { clsx } from "clsx";
import { PanelLeftClose, PanelLeftOpen } from "lucide-react";
import { IconButton, Link, usePath } from "@/kit";
import { useTexts } from "@/text";
import { docsIcon as DocsIcon, isHere, type NavItem, navigation } from "./navigation";
import { useSession } from "./session";
import { appTexts } from "./texts";

export function Mark({ className }: { className?: string }) {
  return (
    <svg viewBox="0 0 32 32" aria-hidden="true" className={clsx("shrink-0", className)}>
      <rect width="32" height="32" rx="8" fill="var(--accent)" />
      <path
        d="M8 10h16M16 10v13M10.5 16.5 16 23l5.5-6.5"
        fill="none"
        stroke="#fff"
        strokeWidth="2.6"
        strokeLinecap="round"
        strokeLinejoin="round"
      />
    </svg>
  );
}

function Entry({
  href,
  label,
  icon: Icon,
  here,
  narrow,
}: {
  href: string;
  label: string;
  icon: NavItem["icon"];
  here: boolean;
  narrow: boolean;
}) {
  return (
    <Link
      href={href}
      aria-current={here ? "page" : undefined}
      aria-label={narrow ? label : undefined}
      data-tip={narrow ? label : undefined}
      className={clsx(
        "flex h-8 items-center gap-2.5 rounded-md font-medium transition-colors duration-100",
        narrow ? "w-9 justify-center" : "px-2",
        here ? "bg-accent-soft text-accent-ink" : "text-ink-2 hover:bg-hover hover:text-ink",
      )}
    >
      <Icon aria-hidden className="size-4 shrink-0" />
      {!narrow && <span className="truncate">{label}</span>}
    </Link>
  );
}

export function Sidebar({ narrow, onNarrow }: { narrow: boolean; onNarrow: (narrow: boolean) => void }) {
  const t = useTexts(appTexts);
  const path = usePath();
  const { person, instance } = useSession();
  const groups = [
    { name: t.customer, entries: navigation.filter((place) => place.group === "customer"), shown: true },
    {
      name: t.operator,
      entries: navigation.filter((place) => place.group === "operator"),
      shown: person?.is_operator === true,
    },
  ];
  return (
    <div
      className={clsx(
        "fixed inset-y-0 left-0 z-20 hidden flex-col border-r border-line bg-surface sm:flex",
        narrow ? "w-[60px]" : "w-[216px]",
      )}
    >
      <div className={clsx("flex h-14 shrink-0 items-center gap-2.5", narrow ? "justify-center" : "px-4")}>
        <Mark className="size-6" />
        {!narrow && <span className="truncate text-[15px] font-semibold tracking-[-0.01em]">{instance.name}</span>}
      </div>
      <nav aria-label={t.places} className={clsx("min-h-0 flex-1 overflow-y-auto pb-3", narrow ? "px-3" : "px-2")}>
        {groups
          .filter((group) => group.shown)
          .map((group, index) => (
            <div key={group.name} className={clsx(index > 0 && "mt-4")}>
              {narrow ? (
                index > 0 && <div className="mx-1 mb-3 h-px bg-line" />
              ) : (
                <div className="px-2 pt-1 pb-1.5 text-[11px] font-medium tracking-wide text-ink-3">{group.name}</div>
              )}
              <ul className="space-y-0.5">
                {group.entries.map((place) => (
                  <li key={place.name}>
                    <Entry
                      href={place.href}
                      label={t.nav[place.name]}
                      icon={place.icon}
                      here={isHere(place, path)}
                      narrow={narrow}
                    />
                  </li>
                ))}
              </ul>
            </div>
          ))}
      </nav>
      <div
        className={clsx(
          "flex shrink-0 border-t border-line py-2",
          narrow ? "flex-col items-center gap-1 px-3" : "items-center justify-between px-2",
        )}
      >
        <Entry href="/docs" label={t.docs} icon={DocsIcon} here={false} narrow={narrow} />
        <IconButton
          label={narrow ? t.expand : t.collapse}
          icon={narrow ? <PanelLeftOpen aria-hidden /> : <PanelLeftClose aria-hidden />}
          onClick={() => onNarrow(!narrow)}
        />
      </div>
    </div>
  );
}
