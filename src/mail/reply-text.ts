/** The new words of an answer: what was quoted from the message before, and the line that introduces it, are taken off. */

/** Empty where the answer is nothing but a quotation. */
export function newTextOf(text: string): string {
  const lines = text.slice(0, maxCharacters).replaceAll("\r\n", "\n").split("\n");
  const gone = new Set<number>();
  const end = endOfNew(lines, gone);
  const kept = lines.slice(0, end).filter((line, i) => !gone.has(i) && !isQuoted(line));
  return trimmed(kept).join("\n");
}

const maxCharacters = 1024 * 1024;
/** An introduction may be broken over this many lines. */
const introductionLines = 4;

/** No line that introduces or separates is longer; what is longer is somebody's text, and no pattern is tried on it. */
const maxMark = 500;

/** The first line from which on everything belongs to an earlier message; introductions above quotations that are answered below go into `gone`. */
function endOfNew(lines: readonly string[], gone: Set<number>): number {
  const lastOwn = lines.findLastIndex((line) => line.trim() !== "" && !isQuoted(line));
  for (const [i, line] of lines.entries()) {
    const flat = line.trim();
    if (flat === "" || flat.length > maxMark) continue;
    if (separators.some((separator) => separator.test(flat)) || isHeaderBlock(lines, i)) return i;
    const after = introductionEnd(lines, i);
    if (after === undefined) continue;
    let next = after;
    while (next < lines.length && lines[next]!.trim() === "") next++;
    // New words below a quotation: only the quoted lines go. Without any mark, all that follows is the earlier message.
    const answeredBelow = next < lines.length && isQuoted(lines[next]!) && lastOwn > next;
    if (!answeredBelow) return i;
    for (let n = i; n < after; n++) gone.add(n);
  }
  return lines.length;
}

function introductionEnd(lines: readonly string[], at: number): number | undefined {
  const first = unquoted(lines[at]!);
  if (mayEnd.test(first) && nameFirst.some((words) => words.test(first))) return at + 1;
  let joined = "";
  for (let n = at; n < Math.min(at + introductionLines, lines.length); n++) {
    const line = lines[n]!.trim();
    joined = n === at ? first : `${joined} ${line}`.trim();
    if (line === "" || joined.length > maxMark) return undefined;
    if (mayEnd.test(line) && introductions.some((words) => words.test(joined))) return n + 1;
  }
  return undefined;
}

/** How every introduction ends: looked at first, since most lines end otherwise. */
const mayEnd = /[:\uff1ała)]$/;

/** An introduction inside a quotation: its marks are no part of it. */
function unquoted(line: string): string {
  return line.trim().replace(/^>+ ?/, "");
}

function isQuoted(line: string): boolean {
  return /^\s{0,3}>/.test(line);
}

/** Outlook's way to quote: a block of header lines, in the reader's own language. */
function isHeaderBlock(lines: readonly string[], at: number): boolean {
  // Outlook's names stand in bold, which plain text shows as stars.
  const plain = (line: string) => line.slice(0, maxMark).replaceAll("*", "").trim();
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

/** "On … wrote:" as the mail programs of many languages say it. */
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

/** The same in languages that begin with the date or the name, for which anything may stand: on one line only. */
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
