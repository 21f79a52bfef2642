/** Links to files. */

/** The link under which a browser saves a file instead of showing it. Only our own signed links know the word. */
export function savingUrl(url: string): string {
  return /\/media\/[^?]+\?Expires=\d+&Signature=[\w-]+$/.test(url) ? `${url}&download=1` : url;
}
