/** Light or dark: follows the system until the user pins one. public/theme.js does the same before the first paint. */
import { useSyncExternalStore } from "react";

export type ThemeChoice = "system" | "light" | "dark";
const STORED = "trunkline.theme";
const system = matchMedia("(prefers-color-scheme: dark)");
const listeners = new Set<() => void>();

function stored(): ThemeChoice {
  try {
    const value = localStorage.getItem(STORED);
    return value === "light" || value === "dark" ? value : "system";
  } catch {
    return "system";
  }
}
let choice = stored();

function paint(): void {
  const dark = choice === "dark" || (choice === "system" && system.matches);
  document.documentElement.dataset["theme"] = dark ? "dark" : "light";
  for (const listener of listeners) listener();
}
system.addEventListener("change", paint);

export function setTheme(next: ThemeChoice): void {
  choice = next;
  try {
    if (next === "system") localStorage.removeItem(STORED);
    else localStorage.setItem(STORED, next);
  } catch {
    // A browser that keeps nothing forgets the choice with the page.
  }
  paint();
}
export function useTheme(): ThemeChoice {
  return useSyncExternalStore(
    (listener) => {
      listeners.add(listener);
      return () => listeners.delete(listener);
    },
    () => choice,
  );
}
