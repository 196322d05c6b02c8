/** The new words of an answer: what was quoted from the message before, and the line that introduces it, are taken off. */

/** All of `text` where nothing in it looks quoted, or where nothing else would be left. */
export function newTextOf(text: string): string {
  const lines = text.slice(0, maxCharacters).replaceAll("\r\n", "\n").split("\n");
  const end = endOfNew(lines);
  const kept = lines.slice(0, end).filter((line) => !isQuoted(line));
  const result = trimmed(kept).join("\n");
  return result === "" ? interleaved(lines.slice(0, end)) : result;
}

const maxCharacters = 1024 * 1024;

/** The first line from which on everything belongs to an earlier message. */
function endOfNew(lines: readonly string[]): number {
  for (const [i, line] of lines.entries()) {
    const flat = line.trim();
    if (flat === "") continue;
    if (separators.some((separator) => separator.test(flat))) return i;
    // An introduction may be broken over up to four lines.
    for (let more = 0; more < 4 && i + more < lines.length; more++) {
      const joined = lines
        .slice(i, i + more + 1)
        .map((part) => part.trim())
        .join(" ");
      if (joined.length > 400) break;
      if (introductions.some((words) => words.test(joined)) && quotesFollow(lines, i + more + 1)) return i;
    }
    if (isHeaderBlock(lines, i)) return i;
  }
  return lines.length;
}

function isQuoted(line: string): boolean {
  return /^\s{0,3}>/.test(line);
}

/** Words such as "On Monday Ann wrote:" introduce a quotation only when one follows, or when nothing new follows. */
function quotesFollow(lines: readonly string[], from: number): boolean {
  const rest = lines.slice(from).filter((line) => line.trim() !== "");
  const first = rest[0];
  if (first === undefined || isQuoted(first)) {
    // New words below the quotation: then only the quoted lines go, not all that follows.
    return rest.every((line) => isQuoted(line)) || !rest.some((line) => !isQuoted(line) && line.trim().length > 0);
  }
  return true;
}

/** Text below or between quotations: every quoted line goes, and each introduction above one. */
function interleaved(lines: readonly string[]): string {
  const own = lines.filter((line) => !isQuoted(line) && !introductions.some((words) => words.test(line.trim())));
  return trimmed(own).join("\n");
}

/** Outlook's way to quote: a block of header lines, in the reader's own language. */
function isHeaderBlock(lines: readonly string[], at: number): boolean {
  if (!headerStart.test(lines[at]!.trim().replace(/^\*+|\*+(?=:)/g, ""))) return false;
  const following = lines.slice(at + 1, at + 8).map((line) => line.trim().replace(/^\*+|\*+(?=:)/g, ""));
  return following.filter((line) => headerOther.test(line)).length >= 2;
}

function trimmed(lines: readonly string[]): string[] {
  let start = 0;
  let end = lines.length;
  while (start < end && lines[start]!.trim() === "") start++;
  while (end > start && (lines[end - 1]!.trim() === "" || /^_{5,}$/.test(lines[end - 1]!.trim()))) end--;
  return lines
    .slice(start, end)
    .filter((line, i, all) => !introductions.some((words) => words.test(line.trim())) || i < all.length - 1);
}

const separators = [
  /^-{2,} ?(?:original message|ursprüngliche nachricht|original-nachricht|message d'origine|message original|mensaje original|messaggio originale|mensagem original|oorspronkelijk bericht|ursprungligt meddelande|oprindelig meddelelse|wiadomość oryginalna|исходное сообщение|原始邮件|原始郵件|元のメッセージ|원본 메시지) ?-{2,}$/i,
  /^-{5,} ?forwarded message ?-{5,}$/i,
  /^_{20,}$/,
  /^(?:##-|-- ?)?(?:please type your reply above this line|reply above this line)/i,
];

/** "On … wrote:" as the mail programs of many languages say it. */
const introductions = [
  /^>* ?On .{4,300} wrote:$/i,
  /^>* ?Am .{4,300} schrieb .{1,200}:$/i,
  /^>* ?.{4,200} schrieb am .{4,200}:$/i,
  /^>* ?Le .{4,300} a écrit ?:$/i,
  /^>* ?El .{4,300} escribió:$/i,
  /^>* ?Il .{4,300} ha scritto:$/i,
  /^>* ?Em .{4,300} escreveu:$/i,
  /^>* ?Op .{4,300} schreef .{1,200}:$/i,
  /^>* ?Den .{4,300} skrev .{1,200}:$/i,
  /^>* ?Dnia .{4,300} napisał(?:\(a\)|a)?:?$/i,
  /^>* ?.{4,300} (?:пишет|написал(?:а)?):$/i,
  /^>* ?.{2,300}写道[::]$/,
  /^>* ?.{2,300}(?:のメール|書きました)[::]$/,
  /^>* ?.{4,300}님이 작성:$/,
];

const headerStart = /^(?:From|Von|De|Da|Van|Från|Fra|Od|От|发件人|寄件者|差出人|보낸 사람) ?[::] ?\S/i;
const headerOther =
  /^(?:Sent|Date|To|Cc|Subject|Gesendet|Datum|An|Betreff|Envoyé|À|Objet|Enviado(?: el)?|Para|Asunto|Assunto|Inviato|A|Oggetto|Verzonden|Aan|Onderwerp|Skickat|Till|Ämne|Sendt|Til|Emne|Wysłano|Do|Temat|Отправлено|Кому|Тема|发送时间|收件人|主题|送信日時|宛先|件名) ?[::]/i;
