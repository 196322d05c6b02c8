/** Merges the SPF records of a name, and the include of this service, into the one record that a name may have. Called by record-view.ts. */
import { isSpf, parseSpf, type Qualifier } from "../../mail/spf.ts";

/** From the strictest to the most lenient. A merged record must not reject mail that one of its records accepted. */
const strictness: readonly Qualifier[] = ["-", "~", "?"];

/**
 * Returns the merged record, or undefined if a record is invalid: its terms cannot be kept. Quotation marks and white
 * space around a value are removed. The include comes last, so that a check of the merged record counts the lookups of all other terms.
 */
export function mergeSpf(texts: readonly string[], include: string): string | undefined {
  const records = texts.map(unquote).filter(isSpf);
  if (records.length === 0 || records.some((text) => !parseSpf(text).ok)) return undefined;
  const terms = records.map((text) => text.split(" ").slice(1).filter(Boolean));
  const alls = terms.flat().filter(isAll);
  const isMechanism = (term: string) => !isAll(term) && !/^[a-z][a-z0-9_.-]*=/i.test(term);
  const redirects = terms.flat().filter((term) => /^redirect=/i.test(term));
  // RFC 7208 §6.1: a redirect is ignored next to `all`, and occurs once. An include means the same for mail that passes.
  const keepsRedirect = records.length === 1 && alls.length === 0 && redirects.length === 1;
  const mechanisms = terms.flatMap((own) => [
    ...own.filter(isMechanism),
    ...(keepsRedirect || own.some(isAll)
      ? []
      : own.filter((term) => /^redirect=/i.test(term)).map((term) => `include:${term.slice("redirect=".length)}`)),
  ]);
  const merged = unique([...mechanisms.filter((term) => !sameTerm(term, include)), include]);
  const end = keepsRedirect ? redirects : [mostLenient(alls)];
  // Other modifiers, such as exp=, may occur once.
  const modifier = terms.flat().find((term) => /^exp=/i.test(term));
  return ["v=spf1", ...merged, ...end, ...(modifier === undefined ? [] : [modifier])].join(" ");
}

/** A TXT value without the quotation marks and the white space that were entered with it. */
export function unquote(text: string): string {
  // By index: a pattern at the end would try every position of a hostile text.
  let [from, to] = [0, text.length];
  while (from < to && isAround(text[from]!)) from++;
  while (to > from && isAround(text[to - 1]!)) to--;
  return text.slice(from, to);
}

function isAround(character: string): boolean {
  return /[\s"'\u201c\u201d]/.test(character);
}

function mostLenient(alls: readonly string[]): string {
  const qualifiers = alls.map((term) => (/^[-~?]/.test(term) ? term[0] : "~") as Qualifier);
  const place = Math.max(-1, ...qualifiers.map((one) => strictness.indexOf(one)));
  return `${strictness[place] ?? "~"}all`;
}

function isAll(term: string): boolean {
  return /^[+\-~?]?all$/i.test(term);
}

function unique(terms: readonly string[]): string[] {
  return terms.filter((term, index) => terms.findIndex((other) => sameTerm(other, term)) === index);
}

function sameTerm(a: string, b: string): boolean {
  const bare = (term: string) => term.toLowerCase().replace(/^\+/, "").replace(/\.$/, "");
  return bare(a) === bare(b);
}
