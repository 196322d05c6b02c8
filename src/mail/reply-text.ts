/** Extracts the new text of a reply: removes the quoted text and the line that introduces it. Called by message/digest.ts. */

const maxCharacters = 1024 * 1024;
/** An introduction ("On … wrote:") may be wrapped over this many lines. */
const introductionLines = 4;
/** No introduction or separator is longer, so longer lines are not matched against the patterns. */
const maxMarkerLength = 500;

/** Returns an empty string if the reply contains only quoted text. */
export function newTextOf(text: string): string {
  const lines = text.slice(0, maxCharacters).replaceAll("\r\n", "\n").split("\n");
  const removed = new Set<number>();
  const end = endOfNew(lines, removed);
  const kept = lines.slice(0, end).filter((line, i) => !removed.has(i) && !isQuoted(line));
  return trimmed(kept).join("\n");
}

/** The index from which all lines belong to an earlier message. Adds the introductions of quotes with a reply below them to `removed`. */
function endOfNew(lines: readonly string[], removed: Set<number>): number {
  const lastOwn = lines.findLastIndex((line) => line.trim() !== "" && !isQuoted(line));
  for (const [i, line] of lines.entries()) {
    const flat = line.trim();
    if (flat === "" || flat.length > maxMarkerLength) continue;
    if (separators.some((separator) => separator.test(flat)) || isHeaderBlock(lines, i)) return i;
    const after = introductionEnd(lines, i);
    if (after === undefined) continue;
    let next = after;
    while (next < lines.length && lines[next]!.trim() === "") next++;
    // If new text follows the quote, remove only the quoted lines. If the quote has no ">" marks, everything below is the earlier message.
    const hasReplyBelow = next < lines.length && isQuoted(lines[next]!) && lastOwn > next;
    if (!hasReplyBelow) return i;
    for (let n = i; n < after; n++) removed.add(n);
  }
  return lines.length;
}

function introductionEnd(lines: readonly string[], at: number): number | undefined {
  const first = unquoted(lines[at]!);
  if (introductionEnding.test(first) && nameFirst.some((pattern) => pattern.test(first))) return at + 1;
  let joined = "";
  for (let n = at; n < Math.min(at + introductionLines, lines.length); n++) {
    const line = lines[n]!.trim();
    joined = n === at ? first : `${joined} ${line}`.trim();
    if (line === "" || joined.length > maxMarkerLength) return undefined;
    if (introductionEnding.test(line) && introductions.some((pattern) => pattern.test(joined))) return n + 1;
  }
  return undefined;
}

/** How every introduction ends. Tested first, because most lines end differently. */
const introductionEnding = /[:\uff1ała)]$/;

/** Removes the quote marks of a line, to find introductions inside a quote. */
function unquoted(line: string): string {
  return line.trim().replace(/^>+ ?/, "");
}

function isQuoted(line: string): boolean {
  return /^\s{0,3}>/.test(line);
}

/** Outlook quotes below a block of header lines, in the language of its user. */
function isHeaderBlock(lines: readonly string[], at: number): boolean {
  // Outlook writes the names in bold, which plain text shows as asterisks.
  const plain = (line: string) => line.slice(0, maxMarkerLength).replaceAll("*", "").trim();
  if (!headerStart.test(plain(lines[at]!))) return false;
  const following = lines.slice(at + 1, at + 8).map(plain);
  return following.filter((line) => headerOther.test(line)).length >= 2;
}

function trimmed(lines: readonly string[]): string[] {
  let start = 0;
  let end = lines.length;
  while (start < end && lines[start]!.trim() === "") start++;
  while (end > start && lines[end - 1]!.trim() === "") end--;
  return lines.slice(start, end);
}

const separators = [
  /^-{2,} ?(?:original message|ursprüngliche nachricht|original-nachricht|message d'origine|message original|mensaje original|messaggio originale|mensagem original|oorspronkelijk bericht|ursprungligt meddelande|oprindelig meddelelse|wiadomość oryginalna|исходное сообщение|原始邮件|原始郵件|元のメッセージ|원본 메시지) ?-{2,}$/i,
  /^-{5,} ?forwarded message ?-{5,}$/i,
  /^_{20,}$/,
  /^(?:##-|-- ?)?(?:please type your reply above this line|reply above this line)/i,
];

/** "On … wrote:" as mail programs write it in many languages. */
const introductions = [
  /^On .{4,300} wrote:$/i,
  /^Am .{4,300} schrieb .{1,200}:$/i,
  /^Le .{4,300} a écrit ?:$/i,
  /^El .{4,300} escribió:$/i,
  /^Il .{4,300} ha scritto:$/i,
  /^Em .{4,300} escreveu:$/i,
  /^Op .{4,300} schreef .{1,200}:$/i,
  /^Den .{4,300} skrev .{1,200}:$/i,
  /^Dnia .{4,300} napisał(?:\(a\)|a)?:?$/i,
];

/** The same in languages that start with the date or the name. The patterns start with arbitrary text, so they match one line only. */
const nameFirst = [
  /^.{4,200} schrieb am .{4,200}:$/i,
  /^.{4,300} (?:пишет|написал(?:а)?):$/i,
  /^.{2,300}写道[:\uff1a]$/,
  /^.{2,300}(?:のメール|書きました)[:\uff1a]$/,
  /^.{4,300}님이 작성:$/,
];

const headerStart = /^(?:From|Von|De|Da|Van|Från|Fra|Od|От|发件人|寄件者|差出人|보낸 사람) ?[:\uff1a] ?\S/i;
const headerOther =
  /^(?:Sent|Date|To|Cc|Subject|Gesendet|Datum|An|Betreff|Envoyé|À|Objet|Enviado(?: el)?|Para|Asunto|Assunto|Inviato|A|Oggetto|Verzonden|Aan|Onderwerp|Skickat|Till|Ämne|Sendt|Til|Emne|Wysłano|Do|Temat|Отправлено|Кому|Тема|发送时间|收件人|主题|送信日時|宛先|件名) ?[:\uff1a]/i;
