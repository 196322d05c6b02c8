/** Names in mail to strangers. With open sign-up a stranger chooses the name of a person and of a workspace, and mail from this service
 * must not carry a link or a text of a stranger's choice. Called by links.ts. */

const maxLength = 40;
/** More digits in a row of digits and separators look like a telephone number, which phones turn into a link. */
const maxDigits = 4;

/** Letters, digits and the marks of ordinary names. Without a dot, colon, slash or at sign no mail program finds a link in it. */
const plain = /^[\p{L}\p{M}\p{N} '’&,()+-]+$/u;

/** The name as it may be shown, or undefined when the mail must not contain it. It is shown whole or not at all: what is left of a
 * phishing text without its link is still a phishing text. */
export function shownName(text: string): string | undefined {
  // NFKC turns full-width and other compatibility forms of dots and slashes into plain ones.
  const name = text.normalize("NFKC").trim();
  // An abbreviation such as "Dr. Who" or "Acme Inc." has a dot, but no letter follows it.
  const withoutAbbreviations = name.replace(/(?<=\p{L})\.(?= |$)/gu, "");
  if ([...name].length > maxLength || !plain.test(withoutAbbreviations)) return undefined;
  return (name.match(/\p{N}/gu) ?? []).length > maxDigits ? undefined : name;
}
