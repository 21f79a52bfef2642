/**
 * Secrets of keys that were made in this tab, so that snippets can be filled in. They live in the tab's own storage, are
 * gone with it, and are never sent.
 */
const PREFIX = "trunkline.made.";

export function rememberSecret(keyId: number, secret: string): void {
  try {
    sessionStorage.setItem(`${PREFIX}${keyId}`, secret);
  } catch {
    // Without storage the snippets keep their placeholder.
  }
}

export function secretOf(keyId: string): string | null {
  try {
    return sessionStorage.getItem(`${PREFIX}${keyId}`);
  } catch {
    return null;
  }
}

export function forgetSecret(keyId: number): void {
  try {
    sessionStorage.removeItem(`${PREFIX}${keyId}`);
  } catch {
    // Nothing was kept.
  }
}
