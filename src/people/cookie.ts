/** The session's token out of a Cookie header, where its signature holds: one look without the library, for every API call of a person. */
import { createHmac, timingSafeEqual } from "node:crypto";

export function readSessionToken(cookies: string | undefined, name: string, secret: string): string | undefined {
  const value = cookieValue(cookies, name);
  const match = /^([A-Za-z0-9]{16,128})\.([A-Za-z0-9+/]{43}=)$/.exec(value ?? "");
  if (!match) return undefined;
  const [, token, signature] = match as unknown as [string, string, string];
  const right = createHmac("sha256", secret).update(token).digest();
  return timingSafeEqual(right, Buffer.from(signature, "base64")) ? token : undefined;
}

/** RFC 6265 §5.4: pairs parted by semicolons. Of two with one name the first counts, as in the library. */
export function cookieValue(cookies: string | undefined, name: string): string | undefined {
  for (const pair of (cookies ?? "").split(";")) {
    const at = pair.indexOf("=");
    if (at < 0 || pair.slice(0, at).trim() !== name) continue;
    const text = pair.slice(at + 1).trim();
    try {
      return decodeURIComponent(text);
    } catch {
      return undefined;
    }
  }
  return undefined;
}
