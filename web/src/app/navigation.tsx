/** The navigation of the console: the rail, the bottom bar and the search all read this one list. */
import {
  Activity,
  BookOpen,
  ChartColumn,
  FlaskConical,
  Home,
  KeyRound,
  LibraryBig,
  ListChecks,
  type LucideIcon,
  Mails,
  Settings,
  Users,
  Wallet,
} from "lucide-react";

export type NavName =
  | "home"
  | "keys"
  | "catalog"
  | "playground"
  | "tasks"
  | "logs"
  | "usage"
  | "wallet"
  | "members"
  | "settings"
  | "emails";
export interface NavItem {
  name: NavName;
  href: string;
  /** Addresses below this belong to the place. */
  under: string;
  icon: LucideIcon;
  group: "customer" | "operator";
}
export const navigation: readonly NavItem[] = [
  { name: "home", href: "/", under: "/", icon: Home, group: "customer" },
  { name: "keys", href: "/keys", under: "/keys", icon: KeyRound, group: "customer" },
  { name: "catalog", href: "/catalog", under: "/catalog", icon: LibraryBig, group: "customer" },
  { name: "playground", href: "/playground/chat", under: "/playground", icon: FlaskConical, group: "customer" },
  { name: "tasks", href: "/tasks", under: "/tasks", icon: ListChecks, group: "customer" },
  { name: "logs", href: "/logs", under: "/logs", icon: Activity, group: "customer" },
  { name: "usage", href: "/usage", under: "/usage", icon: ChartColumn, group: "customer" },
  { name: "wallet", href: "/wallet", under: "/wallet", icon: Wallet, group: "customer" },
  { name: "members", href: "/members", under: "/members", icon: Users, group: "customer" },
  { name: "settings", href: "/settings", under: "/settings", icon: Settings, group: "customer" },
  { name: "emails", href: "/operator/emails", under: "/operator/emails", icon: Mails, group: "operator" },
];
export const docsIcon = BookOpen;

export function isHere(place: NavItem, path: string): boolean {
  if (place.under === "/") return path === "/";
  // The page that waits for a key's first call belongs to the keys.
  if (place.name === "keys" && path.startsWith("/connect/")) return true;
  return path === place.under || path.startsWith(`${place.under}/`);
}
/** The four navigation of a phone's bottom bar; the fifth is More. */
export const bottom: readonly NavName[] = ["home", "keys", "playground", "logs"];
