/** Parses SMTP replies from a byte stream, with limits on their size. The client connection passes in each chunk from the socket. */
import type { Reply } from "./evidence.ts";

export const replyLimits = { lineBytes: 2048, lines: 64, bytes: 16 * 1024 } as const;

class ReplyError extends Error {}

export class ReplyReader {
  #pending: Buffer = Buffer.alloc(0);
  #lines: string[] = [];
  #code = "";
  #bytes = 0;

  /**
   * Calls `onReply` for each complete reply. Returns an error message when the server does not speak SMTP or exceeds a
   * limit. Replies before that point still count, because the last of them may have accepted a message.
   */
  push(chunk: Buffer, onReply: (reply: Reply) => void): string | undefined {
    let rest = this.#pending.length === 0 ? chunk : Buffer.concat([this.#pending, chunk]);
    try {
      for (let end = rest.indexOf(LF); end >= 0; end = rest.indexOf(LF)) {
        const reply = this.#line(rest.subarray(0, end));
        rest = rest.subarray(end + 1);
        if (reply) onReply(reply);
      }
      if (rest.length > replyLimits.lineBytes) throw new ReplyError(`reply line over ${replyLimits.lineBytes} bytes`);
    } catch (error) {
      if (error instanceof ReplyError) return error.message;
      throw error;
    }
    this.#pending = rest;
    return undefined;
  }

  /** True while the reader has received part of a reply. */
  get partial(): boolean {
    return this.#pending.length > 0 || this.#lines.length > 0;
  }

  #line(bytes: Buffer): Reply | undefined {
    // A bare LF also ends a line: some old servers send it, and in a reply it allows no smuggling.
    const content = bytes.at(-1) === CR ? bytes.subarray(0, -1) : bytes;
    if (content.length > replyLimits.lineBytes) throw new ReplyError(`reply line over ${replyLimits.lineBytes} bytes`);
    this.#bytes += content.length;
    if (this.#bytes > replyLimits.bytes) throw new ReplyError(`reply over ${replyLimits.bytes} bytes`);
    if (this.#lines.length >= replyLimits.lines) throw new ReplyError(`reply over ${replyLimits.lines} lines`);
    const line = decode(content);
    // RFC 5321 §4.2: three digits, the first 2–5, then a space, a hyphen or the end of the line.
    const match = /^([2-5][0-9]{2})(?:([ -])(.*))?$/.exec(line);
    if (!match) throw new ReplyError(`not an SMTP reply: ${JSON.stringify(line.slice(0, 80))}`);
    const [, code = "", separator = " ", text = ""] = match;
    // RFC 5321 §4.2.1: every line of one reply carries the same code.
    if (this.#lines.length > 0 && code !== this.#code) {
      throw new ReplyError(`the code changes within a reply, from ${this.#code} to ${code}`);
    }
    this.#code = code;
    this.#lines.push(text);
    if (separator === "-") return undefined;
    const reply = assemble(code, this.#lines);
    this.#lines = [];
    this.#bytes = 0;
    return reply;
  }
}

function assemble(code: string, lines: readonly string[]): Reply {
  // RFC 2034 §4: the text of every line begins with the enhanced code. The result contains it once.
  const leading = /^([245]\.[0-9]{1,3}\.[0-9]{1,3})(?=[\s:;,)-]|$)/.exec(lines[0] ?? "")?.[1];
  const text = lines.map((line) => (leading && line.startsWith(leading) ? line.slice(leading.length) : line).trim());
  return {
    code: Number(code),
    enhanced: leading ?? quotedCode(lines),
    text: text.join("\n"),
    line: [code, leading, ...text].filter((part) => part).join(" "),
  };
}

/** qmail and its forks put the code into the text: "sorry, no mailbox here by that name (#5.1.1)". */
function quotedCode(lines: readonly string[]): string | null {
  return /#([245]\.[0-9]{1,3}\.[0-9]{1,3})\b/.exec(lines.join(" "))?.[1] ?? null;
}

// RFC 5321 §4.2.1 does not define the charset: read UTF-8 if valid, else Latin-1. Control characters become spaces,
// because events and the dashboard show the text.
function decode(bytes: Buffer): string {
  const utf8 = bytes.toString("utf8");
  const text = utf8.includes("\uFFFD") ? bytes.toString("latin1") : utf8;
  return text.replace(/[\u0000-\u001f\u007f-\u009f]/g, " ");
}

const LF = 0x0a;
const CR = 0x0d;
