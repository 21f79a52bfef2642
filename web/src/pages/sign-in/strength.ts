/** A hint, not a gate: the server decides. Counts what a guesser would have to try, in the roughest way that helps. */
export const PASSWORD_LEAST = 10;
export type Strength = "empty" | "short" | "weak" | "fair" | "strong";

const common = /^(?:passw|qwert|asdf|zxcv|letme|welcome|admin|iloveyou|abc|123|111|000|trunkline)/i;

export function strength(password: string, known: readonly string[] = []): Strength {
  const characters = [...password];
  if (characters.length === 0) return "empty";
  if (characters.length < PASSWORD_LEAST) return "short";
  const different = new Set(characters.map((character) => character.toLowerCase())).size;
  const lower = password.toLowerCase();
  const guessed = known.some((word) => word.length >= 4 && lower.includes(word.toLowerCase()));
  if (different < 6 || guessed || (common.test(password) && characters.length < 16)) return "weak";
  const kinds = [/\p{Ll}/u, /\p{Lu}/u, /\p{N}/u, /[^\p{L}\p{N}]/u].filter((kind) => kind.test(password)).length;
  const bits = Math.min(characters.length, different * 1.6) * (kinds >= 3 ? 4.2 : kinds === 2 ? 3.6 : 3);
  if (bits < 40) return "weak";
  return bits < 56 ? "fair" : "strong";
}
