/** Replies of receivers as tests write them: the lines as sent, with their codes. */
import type { Reply } from "../../src/smtp/client/evidence.ts";

/** Parses a reply as the SMTP client does. */
export function readReplyLines(lines: string): Reply {
  const parts = lines.split("\n").map((line) => line.slice(4));
  const leading = /^[245]\.\d{1,3}\.\d{1,3}(?=\s|$)/.exec(parts[0] ?? "")?.[0];
  const enhanced = leading ?? /#([245]\.\d{1,3}\.\d{1,3})/.exec(lines)?.[1] ?? null;
  const text = parts.map((part) => (leading ? part.replace(leading, "") : part).trim()).join("\n");
  return { code: Number(lines.slice(0, 3)), enhanced, text, line: lines.replace(/\n/g, " ") };
}
