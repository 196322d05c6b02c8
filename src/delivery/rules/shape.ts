/** Folds a reply to its shape: the words stay, and what differs between two messages is replaced, so that equal wordings count as one.
 * Addresses are personal data and never stay. ../wordings.ts calls it. */

/** The same as the text that the wordings are matched against. */
const readCharacters = 1000;
const shapeCharacters = 200;
/** Shorter parts of an address are common words and initials. */
const shortestPart = 3;
/** A word of this length within a mailbox is taken for a name: Miller in jmiller. */
const shortestName = 5;

export function foldReply(text: string, recipient: string): string {
  const personal = personalParts(recipient);
  // Invisible characters within a word, and other forms of the same letters, would hide an address.
  const visible = text
    .slice(0, readCharacters)
    .normalize("NFKC")
    .replace(/\p{Cf}/gu, "");
  const words = visible.split(/[\s\p{C}]+/u);
  // A cut word may be the beginning of an address.
  if (text.length > readCharacters) words.pop();
  const folded = words.map((word) => foldWord(word, personal)).filter((word) => word !== "");
  let shape = "";
  for (const [at, word] of folded.entries()) {
    // "<id> <id>" says no more than "<id>".
    if (word.startsWith("<") && word === folded[at - 1]) continue;
    if (shape.length + word.length + 1 > shapeCharacters) break;
    shape += shape === "" ? word : ` ${word}`;
  }
  return shape.toWellFormed();
}

type Personal = { mailbox: string; domain: string; parts: ReadonlySet<string> };

const betweenParts = /[^\p{L}\p{N}]+/u;

function personalParts(address: string): Personal {
  const lower = address.normalize("NFKC").toLowerCase();
  const at = lower.lastIndexOf("@");
  const mailbox = lower.slice(0, at);
  const parts = mailbox.split(betweenParts);
  const named = [mailbox, mailbox.replace(/\+.*$/s, ""), parts.join("")];
  const long = parts.filter((part) => part.length >= shortestPart);
  return { mailbox, domain: lower.slice(at + 1), parts: new Set([...named, ...long].filter((part) => part !== "")) };
}

function foldWord(word: string, { mailbox, domain, parts }: Personal): string {
  const lower = word.toLowerCase();
  if (/@|%40|=40/.test(lower)) return "<address>";
  if (lower.includes("://") || lower.includes("www.")) return "<url>";
  const core = word.replace(/^[^\p{L}\p{N}]+|[^\p{L}\p{N}]+$/gu, "");
  // Also within "rcpt=miller" and "Miller's".
  const names = [core.toLowerCase(), ...lower.split(betweenParts)];
  const isPersonal = (name: string) => parts.has(name) || (name.length >= shortestName && mailbox.includes(name));
  if (names.some(isPersonal) || (mailbox.length >= shortestPart && lower.includes(mailbox))) return "<address>";
  if (domain !== "" && lower.includes(domain)) return "<host>";
  if (core === "") return word.length <= shortestPart ? word : "";
  const kind = kindOf(core);
  return kind === undefined ? word : word.replace(core, () => kind);
}

const exchangeError =
  /^(?:AGENT|APPROVAL|QUEUE|RESOLVER|ROUTING|SMTPSEND|STOREDRV|TRANSPORT)(?:\.[A-Za-z]+)*\.[A-Z][A-Za-z]*[a-z]$/;

/** What replaces the word. Undefined: it stays. */
function kindOf(core: string): string | undefined {
  // Enhanced codes, and the codes of receivers: CS01, TSS04, OFR_999, OFR004_104.
  if (/^[245]\.\d{1,3}\.\d{1,3}$/.test(core) || /^[A-Z]{2,4}(?:[-_:]|\d{3}_)?\d{1,3}$/.test(core)) return undefined;
  if (/^\d{1,3}(?:\.\d{1,3}){3}$/.test(core) || /^[\da-f]{0,4}(?::[\da-f]{0,4}){2,7}$/i.test(core)) return "<ip>";
  // Exchange names its errors this way: RESOLVER.ADR.RecipNotFound. Others write domains in capitals: EXAMPLE.COM.
  if (core.length <= 40 && exchangeError.test(core)) return undefined;
  if (/[\p{L}\p{N}]\.[\p{L}\p{N}]/u.test(core)) return "<host>";
  if (/^\d+$/.test(core)) return "<n>";
  return /\d/.test(core) || core.length > 24 ? "<id>" : undefined;
}
