/** The page token of a list of sources: the position of the last source shown. Called by service.ts. */
import { isIP } from "node:net";

export type SourcePosition = { messages: number; ip: string };

export function tokenOf({ messages, ip }: SourcePosition): string {
  return Buffer.from(`${messages} ${ip}`).toString("base64url");
}

/** Null: the text is not such a token. */
export function positionOf(token: string): SourcePosition | null {
  const match = /^(\d{1,16}) (\S{0,45})$/.exec(token.length <= 100 ? Buffer.from(token, "base64url").toString() : "");
  if (!match) return null;
  const [, messages, ip] = match;
  return ip === "" || isIP(ip!) > 0 ? { messages: Number(messages), ip: ip! } : null;
}
