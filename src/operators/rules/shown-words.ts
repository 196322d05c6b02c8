/** What operators may read of a stranger's text about system mail: the words of a receiving server, or a reply. Either may quote the link of
 * the mail, which gives access to an account. Called by ../system-mail.ts. */

export function shownWords(text: string, maxLength = 500): string {
  const words = text
    // A link may be broken into lines, so nothing after its beginning is shown.
    .replace(/token(?:=|%3d)[\s\S]*/i, "token=…")
    .replace(/[\w-]{43,}/g, "…")
    .replace(/[\s\p{Cc}\u202a-\u202e\u2066-\u2069]+/gu, " ")
    .trim();
  return words.length > maxLength
    ? `${words
        .slice(0, maxLength)
        .toWellFormed()
        .replace(/\ufffd$/, "")}…`
    : words;
}
