/** The navigation of the console: the rail, the bottom bar and the search all read this one list. */
import {
  Activity,
  BellRing,
  BookOpen,
  Building2,
  Cable,
  ChartColumn,
  ChartNoAxesCombined,
  CreditCard,
  FlaskConical,
  Gauge,
  Home,
  KeyRound,
  LibraryBig,
  ListChecks,
  type LucideIcon,
  Mails,
  Route,
  ScrollText,
  Settings,
  ShieldUser,
  SlidersHorizontal,
  Tags,
  Ticket,
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
  | "overview"
  | "customers"
  | "connections"
  | "channels"
  | "prices"
  | "margins"
  | "payments"
  | "codes"
  | "alarms"
  | "actions"
  | "operators"
  | "emails"
  | "server";
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
  { name: "overview", href: "/operator", under: "/operator", icon: Gauge, group: "operator" },
  { name: "customers", href: "/operator/customers", under: "/operator/customers", icon: Building2, group: "operator" },
  {
    name: "connections",
    href: "/operator/connections",
    under: "/operator/connections",
    icon: Cable,
    group: "operator",
  },
  { name: "channels", href: "/operator/channels", under: "/operator/channels", icon: Route, group: "operator" },
  { name: "prices", href: "/operator/prices", under: "/operator/prices", icon: Tags, group: "operator" },
  {
    name: "margins",
    href: "/operator/margins",
    under: "/operator/margins",
    icon: ChartNoAxesCombined,
    group: "operator",
  },
  { name: "payments", href: "/operator/payments", under: "/operator/payments", icon: CreditCard, group: "operator" },
  { name: "codes", href: "/operator/codes", under: "/operator/codes", icon: Ticket, group: "operator" },
  { name: "alarms", href: "/operator/alarms", under: "/operator/alarms", icon: BellRing, group: "operator" },
  { name: "actions", href: "/operator/actions", under: "/operator/actions", icon: ScrollText, group: "operator" },
  { name: "operators", href: "/operator/operators", under: "/operator/operators", icon: ShieldUser, group: "operator" },
  { name: "emails", href: "/operator/emails", under: "/operator/emails", icon: Mails, group: "operator" },
  {
    name: "server",
    href: "/operator/settings",
    under: "/operator/settings",
    icon: SlidersHorizontal,
    group: "operator",
  },
];
export const docsIcon = BookOpen;

export function isHere(place: NavItem, path: string): boolean {
  if (place.under === "/" || place.under === "/operator") return path === place.under;
  // A single call is opened from a customer or from a margin, and belongs to the customers.
  if (place.name === "customers" && path.startsWith("/operator/calls/")) return true;
  // The page that waits for a key's first call belongs to the keys.
  if (place.name === "keys" && path.startsWith("/connect/")) return true;
  return path === place.under || path.startsWith(`${place.under}/`);
}
/** The four navigation of a phone's bottom bar; the fifth is More. */
export const bottom: readonly NavName[] = ["home", "keys", "playground", "logs"];
