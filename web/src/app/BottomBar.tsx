import { clsx } from "clsx";
import { Ellipsis } from "lucide-react";
import { useState } from "react";
import { Dialog, Link, usePath } from "@/kit";
import { useTexts } from "@/text";
import { bottom, docsIcon as DocsIcon, isHere, type NavItem, navigation } from "./navigation";
import { useSession } from "./session";
import { appTexts } from "./texts";

/** The rail of a phone: four navigation and a sheet with the others. */
export function BottomBar() {
  const t = useTexts(appTexts);
  const path = usePath();
  const { person } = useSession();
  const [open, setOpen] = useState(false);
  const shown = bottom.flatMap((name) => navigation.filter((place) => place.name === name));
  const rest = navigation.filter(
    (place) => !bottom.includes(place.name) && (place.group === "customer" || person?.is_operator === true),
  );
  const restHere = rest.some((place) => isHere(place, path));
  const look = (here: boolean) =>
    clsx(
      "flex h-14 w-full flex-col items-center justify-center gap-0.5 text-[11px] font-medium",
      here ? "text-accent-ink" : "text-ink-3",
    );
  return (
    <nav
      aria-label={t.places}
      className="fixed inset-x-0 bottom-0 z-20 border-t border-line bg-surface pb-[env(safe-area-inset-bottom)] sm:hidden"
    >
      <ul className="grid grid-cols-5">
        {shown.map((place) => {
          const here = isHere(place, path);
          return (
            <li key={place.name}>
              <Link href={place.href} aria-current={here ? "page" : undefined} className={look(here)}>
                <place.icon aria-hidden className="size-5" />
                {t.nav[place.name]}
              </Link>
            </li>
          );
        })}
        <li>
          <button type="button" aria-haspopup="dialog" className={look(restHere)} onClick={() => setOpen(true)}>
            <Ellipsis aria-hidden className="size-5" />
            {t.more}
          </button>
        </li>
      </ul>
      <Dialog open={open} onClose={() => setOpen(false)} title={t.more}>
        <ul className="-mx-2 -mt-2 grid grid-cols-2 gap-1 pb-2">
          {rest.map((place) => (
            <li key={place.name}>
              <Row
                href={place.href}
                label={t.nav[place.name]}
                icon={place.icon}
                here={isHere(place, path)}
                close={() => setOpen(false)}
              />
            </li>
          ))}
          <li>
            <Row href="/docs" label={t.docs} icon={DocsIcon} here={false} close={() => setOpen(false)} />
          </li>
        </ul>
      </Dialog>
    </nav>
  );
}

function Row({
  href,
  label,
  icon: Icon,
  here,
  close,
}: {
  href: string;
  label: string;
  icon: NavItem["icon"];
  here: boolean;
  close: () => void;
}) {
  return (
    <Link
      href={href}
      onClick={close}
      aria-current={here ? "page" : undefined}
      className={clsx(
        "flex h-11 items-center gap-3 rounded-card px-3 font-medium",
        here ? "bg-accent-soft text-accent-ink" : "text-ink hover:bg-hover",
      )}
    >
      <Icon aria-hidden className="size-4.5 text-ink-3" />
      <span className="truncate">{label}</span>
    </Link>
  );
}
