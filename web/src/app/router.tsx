/** The routes of routes.ts as a tree the router walks. */
import {
  type AnyRoute,
  createRootRoute,
  createRoute,
  createRouter,
  lazyRouteComponent,
  Outlet,
} from "@tanstack/react-router";
import { routes } from "@/routes";
import { ErrorBoundary } from "./ErrorBoundary";
import { Root } from "./Root";
import { Shell } from "./Shell";

/** Plain words in the address: `?key=3` is "3", nothing is JSON. */
function parseSearch(text: string): Record<string, string> {
  return Object.fromEntries(new URLSearchParams(text));
}
function stringifySearch(search: Record<string, unknown>): string {
  const params = new URLSearchParams();
  for (const [name, value] of Object.entries(search)) {
    if (value !== undefined && value !== null && value !== "") params.set(name, String(value));
  }
  const text = params.toString();
  return text === "" ? "" : `?${text}`;
}

const NotFound = lazyRouteComponent(() => import("@/pages/not-found/NotFoundPage"));
const root = createRootRoute({ component: Root, notFoundComponent: NotFound });
const shell = createRoute({ getParentRoute: () => root, id: "console", component: Shell });
const plain = createRoute({ getParentRoute: () => root, id: "plain", component: Outlet });

const made = new Map<string, AnyRoute>();
const children = new Map<string, AnyRoute[]>();
for (const entry of routes) {
  const parent = entry.under === undefined ? undefined : made.get(entry.under);
  const frame: AnyRoute = entry.frame === "console" ? shell : plain;
  const path = parent === undefined || entry.under === undefined ? entry.path : entry.path.slice(entry.under.length);
  const route = createRoute({
    getParentRoute: () => parent ?? frame,
    path,
    component: lazyRouteComponent(entry.page),
  });
  made.set(entry.path, route);
  const under = parent === undefined ? entry.frame : entry.under;
  if (under !== undefined) children.set(under, [...(children.get(under) ?? []), route]);
}
for (const entry of routes) {
  const below = children.get(entry.path);
  if (below !== undefined) made.get(entry.path)?.addChildren(below);
}
const tree = root.addChildren([
  shell.addChildren(children.get("console") ?? []),
  plain.addChildren(children.get("plain") ?? []),
]);

export const router = createRouter({
  routeTree: tree,
  parseSearch,
  stringifySearch,
  defaultPreload: "intent",
  scrollRestoration: true,
  defaultErrorComponent: ErrorBoundary,
  defaultNotFoundComponent: NotFound,
});
