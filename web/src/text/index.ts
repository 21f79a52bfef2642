/** Every word on a page comes from here: English first, Chinese second, the same keys by type. */
import { useSyncExternalStore } from "react";

export type Language = "en" | "zh";
export type LanguageChoice = Language | "browser";

/** The shape of a set of texts, whatever the language: the keys and parameters of the English one. */
export type Texts<T> = {
  [K in keyof T]: T[K] extends (...args: infer A) => string
    ? (...args: A) => string
    : T[K] extends string
      ? string
      : Texts<T[K]>;
};

/** Write a page's texts with this: a key that one language lacks does not compile. */
export function defineTexts<T>(en: T, zh: Texts<T>): { en: T; zh: Texts<T> } {
  return { en, zh };
}

const STORED = "trunkline.language";
const listeners = new Set<() => void>();

function stored(): LanguageChoice {
  try {
    const value = localStorage.getItem(STORED);
    return value === "en" || value === "zh" ? value : "browser";
  } catch {
    return "browser";
  }
}

let choice: LanguageChoice = stored();

function resolve(): Language {
  if (choice !== "browser") return choice;
  const first = navigator.languages?.[0] ?? navigator.language ?? "en";
  return first.toLowerCase().startsWith("zh") ? "zh" : "en";
}

export function setLanguage(next: LanguageChoice): void {
  choice = next;
  try {
    if (next === "browser") localStorage.removeItem(STORED);
    else localStorage.setItem(STORED, next);
  } catch {
    // A browser that keeps nothing forgets the choice with the page.
  }
  document.documentElement.lang = language();
  for (const listener of listeners) listener();
}

function subscribe(listener: () => void): () => void {
  listeners.add(listener);
  return () => listeners.delete(listener);
}

export function language(): Language {
  return resolve();
}
/** The BCP 47 name for `Intl`, so that numbers and dates follow the language of the words. */
export function locale(of: Language = resolve()): string {
  return of === "zh" ? "zh-CN" : "en-US";
}

/** Words in a row as the language writes them: "text, image" and "文本、图片". */
export function listed(words: readonly string[], of: Language = resolve()): string {
  return words.join(of === "zh" ? "、" : ", ");
}
/** Sentences one after the other: Chinese ones need no space between them. */
export function sentences(all: readonly string[], of: Language = resolve()): string {
  return all.join(of === "zh" ? "" : " ");
}
/** A name with its value as the language writes it: "Task: Any" and "任务：不限". */
export function named(name: string, value = "", of: Language = resolve()): string {
  return of === "zh" ? `${name}：${value}` : `${name}: ${value}`;
}

export function useLanguage(): Language {
  return useSyncExternalStore(subscribe, resolve);
}
export function useLanguageChoice(): LanguageChoice {
  return useSyncExternalStore(subscribe, () => choice);
}

export function useTexts<T>(texts: { en: T; zh: Texts<T> }): Texts<T> {
  const now = useLanguage();
  return now === "zh" ? texts.zh : (texts.en as Texts<T>);
}
