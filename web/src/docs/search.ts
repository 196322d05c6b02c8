/** The search of the documentation: build.ts writes the entries into a file, and the script of the site reads and searches them. */

/** One section of a page. */
export type Entry = { page: string; heading: string; address: string; text: string };
export type Found = { entry: Entry; excerpt: string; score: number };

const maxFound = 12;
/** Characters of the text around the first word that was found. */
const excerptLength = 140;

/** The sections that contain every word of the query, as a word or as its beginning; matches in headings come first. */
export function search(entries: readonly Entry[], query: string): Found[] {
  const words = wordsOf(query);
  if (words.length === 0) return [];
  return entries
    .flatMap((entry) => {
      const score = scoreOf(entry, words);
      return score > 0 ? [{ entry, score, excerpt: excerptOf(entry.text, words) }] : [];
    })
    .sort((a, b) => b.score - a.score)
    .slice(0, maxFound);
}

export function wordsOf(text: string): string[] {
  return text.toLowerCase().match(/[\p{L}\p{N}_]+/gu) ?? [];
}

/** 0 if a word is missing. */
function scoreOf(entry: Entry, words: readonly string[]): number {
  let total = 0;
  for (const word of words) {
    const score = 12 * hits(entry.heading, word) + 6 * hits(entry.page, word) + Math.min(3, hits(entry.text, word));
    if (score === 0) return 0;
    total += score;
  }
  return total;
}

/** A whole word counts twice. */
function hits(text: string, word: string): number {
  let count = 0;
  for (const one of wordsOf(text)) if (one.startsWith(word)) count += one === word ? 2 : 1;
  return count;
}

function excerptOf(text: string, words: readonly string[]): string {
  const lower = text.toLowerCase();
  const places = words
    .map((word) => lower.search(new RegExp(`(?<![\\p{L}\\p{N}_])${word}`, "u")))
    .filter((at) => at >= 0);
  const start = Math.max(0, Math.min(...places, text.length) - 40);
  const from = start === 0 || places.length === 0 ? 0 : text.indexOf(" ", start) + 1;
  const cut = text.slice(from, from + excerptLength);
  return `${from > 0 ? "… " : ""}${cut}${from + excerptLength < text.length ? " …" : ""}`;
}
