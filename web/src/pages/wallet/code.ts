// Redemption codes as people type them: from an email, a photograph, a chat.

const GROUP = 4;
const GROUPS = 4;
/** The longest thing worth sending; a code itself has 18 letters and digits. */
const MOST = 32;

/** "tl 7k3m-oi…" as "TL-7K3M-01…": case, blanks and dashes do not matter, and O, I, L are the digits they look like. */
export function tidyCode(typed: string): string {
  const bare = typed
    .toUpperCase()
    .replace(/[\s\-_–—.:·]/g, "")
    .slice(0, MOST);
  if (!bare.startsWith("TL")) return bare;
  const rest = bare.slice(2).replace(/O/g, "0").replace(/[IL]/g, "1");
  const groups = rest.match(/.{1,4}/g) ?? [];
  return ["TL", ...groups].join("-");
}

export function looksWhole(typed: string): boolean {
  return new RegExp(`^TL(-[0-9A-Z]{${GROUP}}){${GROUPS}}$`).test(tidyCode(typed));
}
