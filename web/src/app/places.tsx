/** The places of the console: the rail, the bottom bar and the search all read this one list. */
import {
  Activity,
  BookOpen,
  ChartColumn,
  FlaskConical,
  House,
  KeyRound,
  LibraryBig,
  ListChecks,
  type LucideIcon,
  Mails,
  Settings,
  Users,
  Wallet,
} from "lucide-react";

export type PlaceName =
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
  | "letters";
export interface Place {
  name: PlaceName;
  href: string;
  /** Addresses below this belong to the place. */
  under: string;
  icon: LucideIcon;
  group: "customer" | "operator";
}
export const places: readonly Place[] = [
  { name: "home", href: "/", under: "/", icon: House, group: "customer" },
  { name: "keys", href: "/keys", under: "/keys", icon: KeyRound, group: "customer" },
  { name: "catalog", href: "/catalog", under: "/catalog", icon: LibraryBig, group: "customer" },
  { name: "playground", href: "/playground/chat", under: "/playground", icon: FlaskConical, group: "customer" },
  { name: "tasks", href: "/tasks", under: "/tasks", icon: ListChecks, group: "customer" },
  { name: "logs", href: "/logs", under: "/logs", icon: Activity, group: "customer" },
  { name: "usage", href: "/usage", under: "/usage", icon: ChartColumn, group: "customer" },
  { name: "wallet", href: "/wallet", under: "/wallet", icon: Wallet, group: "customer" },
  { name: "members", href: "/members", under: "/members", icon: Users, group: "customer" },
  { name: "settings", href: "/settings", under: "/settings", icon: Settings, group: "customer" },
  { name: "letters", href: "/operator/letters", under: "/operator/letters", icon: Mails, group: "operator" },
];
export const docsIcon = BookOpen;

export function isHere(place: Place, path: string): boolean {
  if (place.under === "/") return path === "/";
  // The page that waits for a key's first call belongs to the keys.
  if (place.name === "keys" && path.startsWith("/connect/")) return true;
  return path === place.under || path.startsWith(`${place.under}/`);
}
/** The four places of a phone's bottom bar; the fifth is More. */
export const bottom: readonly PlaceName[] = ["home", "keys", "playground", "logs"];
