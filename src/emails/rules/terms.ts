/**
 * How free text finds an email: by words of its subject and by the beginning of any part of a recipient's address. The index (store/terms.ts)
 * has hashes of them, its terms. It may find too many emails, because it has prefixes of three lengths only, so `matches` decides.
 */
import { createHash } from "node:crypto";

export type Searchable = { subject: string; addresses: readonly string[]; metadata: Readonly<Record<string, string>> };

/** One word of a search. `terms`: every email that matches it has one of these. */
export type SearchWord = { tokens: string[]; prefix: string; terms: bigint[] };

const prefixLengths = [12, 6, 3] as const;
const mostTokens = 32;
const mostParts = 8;
const mostWords = 8;

export function termsOf({ subject, addresses, metadata }: Searchable): bigint[] {
  const tokens = new Set(tokensOf(subject));
  const starts = new Set(addresses.flatMap(partsOf).flatMap(startsOf));
  return [
    ...[...tokens].map((token) => hash("word", token)),
    ...[...starts].map((start) => hash("start", start)),
    ...Object.entries(metadata).map(([key, value]) => metadataTerm(key, value)),
  ];
}

export function metadataTerm(key: string, value: string): bigint {
  return hash("metadata", `${key}\0${value}`);
}

/** Every email that counts at this site in the statistics has this term. */
export function siteTerm(site: string): bigint {
  return hash("site", site);
}

/** Every email with a recipient at this domain has this term. Undefined if the domain is too short for the index. */
export function destinationTerm(domain: string): bigint | undefined {
  const [start] = startsOf(fold(domain));
  return start === undefined ? undefined : hash("start", start);
}

export function parseSearch(text: string): SearchWord[] {
  const words = fold(text).split(/\s+/u).filter(Boolean).slice(0, mostWords);
  const parsed = words.map((word) => {
    const tokens = tokensOf(word);
    const prefix = bare(word);
    // The longest of the tokens, all of which must be in the subject.
    const token = tokens.toSorted((a, b) => b.length - a.length)[0];
    const [start] = startsOf(prefix);
    const terms = [token && hash("word", token), start && hash("start", start)];
    return { tokens, prefix, terms: terms.filter((term) => typeof term === "bigint") };
  });
  // Signs alone, as in "100 % off", find nothing.
  return parsed.filter(({ terms }) => terms.length > 0);
}

/** The word without the brackets of an address and without an @ in front. By index: a pattern would try every position of a hostile text. */
function bare(word: string): string {
  let [from, to] = [0, word.length];
  while (word[from] === "<" || word[from] === "@") from++;
  while (to > from && word[to - 1] === ">") to--;
  return word.slice(from, to);
}

/** True if the email has every word, and there is a word. */
export function matches({ subject, addresses }: Omit<Searchable, "metadata">, words: readonly SearchWord[]): boolean {
  const tokens = new Set(tokensOf(subject));
  const parts = addresses.flatMap(partsOf);
  const has = (word: SearchWord) =>
    (word.tokens.length > 0 && word.tokens.every((token) => tokens.has(token))) ||
    (word.prefix.length >= prefixLengths.at(-1)! && parts.some((part) => part.startsWith(word.prefix)));
  return words.length > 0 && words.every(has);
}

function tokensOf(text: string): string[] {
  return (fold(text).match(/[\p{L}\p{M}\p{N}]+/gu) ?? []).slice(0, mostTokens);
}

/** The address, and what follows each separator in it: `j.smith@mail.example.com` also as `smith@…`, `mail.example.com`, `example.com`. */
function partsOf(address: string): string[] {
  const text = fold(address);
  const domainEnd = text.lastIndexOf(".");
  const after = [...text.matchAll(/[._+@-]/g)].map(({ index }) => index).filter((index) => index < domainEnd);
  // The domain is never among those that are left out: destinationTerm relies on it.
  const domain = text.slice(text.lastIndexOf("@") + 1);
  return [...new Set([text, domain, ...after.map((index) => text.slice(index + 1))])].slice(0, mostParts);
}

/** The prefixes that are in the index, the longest first. */
function startsOf(part: string): string[] {
  return prefixLengths.filter((length) => part.length >= length).map((length) => part.slice(0, length));
}

function fold(text: string): string {
  return text.normalize("NFKC").toLowerCase();
}

function hash(kind: string, text: string): bigint {
  return createHash("sha256").update(`${kind}\0${text}`).digest().readBigInt64BE();
}
