/**
 * Every address of the console. A page is loaded when it is first opened. `under` opens inside another page, which
 * stays where it was: a side panel with its own address. `plain` stands alone, without rail and top bar.
 */
import type { ComponentType } from "react";

type Load = () => Promise<{ default: ComponentType }>;
export interface RouteEntry {
  path: string;
  page: Load;
  frame: "console" | "plain";
  under?: string;
}

export const routes: RouteEntry[] = [
  { path: "/", frame: "console", page: () => import("@/pages/home/HomePage") },
  { path: "/keys", frame: "console", page: () => import("@/pages/keys/KeysPage") },
  { path: "/keys/$id", frame: "console", under: "/keys", page: () => import("@/pages/keys/KeyPanel") },
  { path: "/keys/new", frame: "console", page: () => import("@/pages/keys/NewKeyPage") },
  { path: "/connect/$keyId", frame: "console", page: () => import("@/pages/connect/ConnectPage") },
  { path: "/catalog", frame: "console", page: () => import("@/pages/catalog/CatalogPage") },
  { path: "/catalog/compare", frame: "console", page: () => import("@/pages/catalog/ComparePage") },
  { path: "/catalog/$model", frame: "console", page: () => import("@/pages/catalog/ModelPage") },
  { path: "/playground/$task", frame: "console", page: () => import("@/pages/playground/PlaygroundPage") },
  { path: "/tasks", frame: "console", page: () => import("@/pages/tasks/TasksPage") },
  { path: "/tasks/$id", frame: "console", under: "/tasks", page: () => import("@/pages/tasks/TaskPanel") },
  { path: "/logs", frame: "console", page: () => import("@/pages/logs/LogsPage") },
  { path: "/logs/$requestId", frame: "console", under: "/logs", page: () => import("@/pages/logs/LogPanel") },
  { path: "/usage", frame: "console", page: () => import("@/pages/usage/UsagePage") },
  { path: "/wallet", frame: "console", page: () => import("@/pages/wallet/WalletPage") },
  { path: "/members", frame: "console", page: () => import("@/pages/members/MembersPage") },
  { path: "/settings", frame: "console", page: () => import("@/pages/settings/SettingsPage") },
  {
    path: "/settings/second-factor",
    frame: "console",
    page: () => import("@/pages/operator/security/SecondFactorPage"),
  },
  { path: "/operator", frame: "console", page: () => import("@/pages/operator/overview/OverviewPage") },
  { path: "/operator/customers", frame: "console", page: () => import("@/pages/operator/customers/CustomersPage") },
  { path: "/operator/customers/$id", frame: "console", page: () => import("@/pages/operator/customers/CustomerPage") },
  { path: "/operator/calls/$requestId", frame: "console", page: () => import("@/pages/operator/calls/CallPage") },
  {
    path: "/operator/connections",
    frame: "console",
    page: () => import("@/pages/operator/connections/ConnectionsPage"),
  },
  { path: "/operator/channels", frame: "console", page: () => import("@/pages/operator/channels/ChannelsPage") },
  {
    path: "/operator/channels/$id",
    frame: "console",
    under: "/operator/channels",
    page: () => import("@/pages/operator/channels/ChannelPanel"),
  },
  { path: "/operator/prices", frame: "console", page: () => import("@/pages/operator/prices/PricesPage") },
  {
    path: "/operator/prices/$model",
    frame: "console",
    under: "/operator/prices",
    page: () => import("@/pages/operator/prices/PricePanel"),
  },
  { path: "/operator/margins", frame: "console", page: () => import("@/pages/operator/margins/MarginsPage") },
  {
    path: "/operator/margins/$requestId",
    frame: "console",
    under: "/operator/margins",
    page: () => import("@/pages/operator/margins/MarginCallPanel"),
  },
  { path: "/operator/payments", frame: "console", page: () => import("@/pages/operator/payments/PaymentsPage") },
  {
    path: "/operator/payments/$id",
    frame: "console",
    under: "/operator/payments",
    page: () => import("@/pages/operator/payments/PaymentPanel"),
  },
  { path: "/operator/codes", frame: "console", page: () => import("@/pages/operator/codes/CodesPage") },
  { path: "/operator/alarms", frame: "console", page: () => import("@/pages/operator/alarms/AlarmsPage") },
  { path: "/operator/actions", frame: "console", page: () => import("@/pages/operator/actions/ActionsPage") },
  { path: "/operator/operators", frame: "console", page: () => import("@/pages/operator/operators/OperatorsPage") },
  { path: "/operator/settings", frame: "console", page: () => import("@/pages/operator/settings/ServerSettingsPage") },
  {
    path: "/operator/second-factor",
    frame: "console",
    page: () => import("@/pages/operator/security/SecondFactorPage"),
  },
  { path: "/operator/emails", frame: "console", page: () => import("@/pages/emails/EmailsPage") },
  { path: "/sign-in", frame: "plain", page: () => import("@/pages/sign-in/SignInPage") },
  { path: "/sign-up", frame: "plain", page: () => import("@/pages/sign-in/SignUpPage") },
  { path: "/setup", frame: "plain", page: () => import("@/pages/sign-in/SetupPage") },
  { path: "/dev", frame: "plain", page: () => import("@/pages/sign-in/DevPage") },
  { path: "/verify", frame: "plain", page: () => import("@/pages/sign-in/VerifyPage") },
  { path: "/forgot", frame: "plain", page: () => import("@/pages/sign-in/ForgotPage") },
  { path: "/reset", frame: "plain", page: () => import("@/pages/sign-in/ResetPage") },
  { path: "/invitation", frame: "plain", page: () => import("@/pages/sign-in/InvitationPage") },
];
