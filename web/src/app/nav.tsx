/** Moving between pages: plain addresses in, no typed route trees to carry around. */
import { Link as RouterLink, useNavigate, useParams, useRouterState } from "@tanstack/react-router";
import { type AnchorHTMLAttributes, type Ref, useCallback, useMemo } from "react";
import { type Query, withQuery } from "@/api";

export type Search = Record<string, string | undefined>;

/** Splits "/logs?model=x#y" into what the router wants. */
export function parts(href: string): { to: string; search: Search; hash?: string } {
  const url = new URL(href, "http://here");
  const hash = url.hash.slice(1);
  return {
    to: url.pathname,
    search: Object.fromEntries(url.searchParams),
    ...(hash === "" ? {} : { hash }),
  };
}

/** Whether an address is one of the console's own pages; the documentation and files are not. */
export function isOwnPage(href: string): boolean {
  return href.startsWith("/") && !href.startsWith("//") && !href.startsWith("/docs") && !href.startsWith("/api/");
}

type LinkProps = AnchorHTMLAttributes<HTMLAnchorElement> & { href: string; ref?: Ref<HTMLAnchorElement> };
/** A link to any address. Pages of the console open without a reload; others are plain links. */
export function Link({ href, ...rest }: LinkProps) {
  if (!isOwnPage(href) || rest.target !== undefined || rest.download !== undefined) return <a href={href} {...rest} />;
  const { to, search, hash } = parts(href);
  return <RouterLink to={to} search={search} {...(hash === undefined ? {} : { hash })} {...rest} />;
}

/** `go("/keys")`, `go("/logs", { model: "x" })`; `replace` leaves no step for Back. */
export function useGo(): (href: string, query?: Query, replace?: boolean) => void {
  const navigate = useNavigate();
  return useCallback(
    (href, query, replace = false) => {
      void navigate({ ...parts(withQuery(href, query)), replace });
    },
    [navigate],
  );
}

/** A named part of the path, decoded. */
export function useParam(name: string): string {
  const params = useParams({ strict: false }) as Record<string, string | undefined>;
  return params[name] ?? "";
}

/**
 * The query of the address as words, and a function that changes some of them (undefined or "" removes one).
 * Filters live here, so that a link shows what the sender saw.
 */
export function useSearch(): [Search, (change: Query, options?: { push?: boolean }) => void] {
  const search = useRouterState({ select: (state): Search => state.location.search as Search });
  const navigate = useNavigate();
  const change = useCallback(
    (next: Query, options?: { push?: boolean }) => {
      void navigate({
        to: ".",
        search: (now: Search) => {
          const merged: Search = { ...now };
          for (const [name, value] of Object.entries(next)) {
            if (value === undefined || value === null || value === "") delete merged[name];
            else merged[name] = String(value);
          }
          return merged;
        },
        replace: options?.push !== true,
        resetScroll: false,
      });
    },
    [navigate],
  );
  return useMemo(() => [search, change], [search, change]);
}

export function usePath(): string {
  return useRouterState({ select: (state): string => state.location.pathname });
}
