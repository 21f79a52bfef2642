/** Where to go after sign-in: pages of ours only, whatever the address asks for. */
const SIGN_IN_PATHS = ["/sign-in", "/sign-up", "/setup", "/dev", "/verify", "/forgot", "/reset", "/invitation"];

export function safeReturn(wanted: string | undefined): string {
  if (wanted === undefined || !wanted.startsWith("/")) return "/";
  // The same reading as the browser's: tabs vanish, backslashes become slashes.
  const url = new URL(wanted, "http://here.invalid");
  const path = url.pathname;
  if (url.host !== "here.invalid" || path.startsWith("//") || path.startsWith("/api/") || SIGN_IN_PATHS.includes(path))
    return "/";
  return path + url.search + url.hash;
}
