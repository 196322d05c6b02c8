/** Session cookies: their name, form and signature. The form is that of better-auth, which earlier releases used, so that sessions outlive
 * an upgrade. Called by people.ts, open-session.ts and session-caller.ts. */
import { createHmac, timingSafeEqual } from "node:crypto";

/** The prefix makes browsers refuse the cookie over plain HTTP. */
export function sessionCookieName(secure: boolean): string {
  return `${secure ? "__Secure-" : ""}posthorn.session_token`;
}

/** The cookie of a sign-in that waits for its second factor. The prefix also keeps other hosts of the domain from setting it. */
export function signInCookieName(secure: boolean): string {
  return `${secure ? "__Host-" : ""}posthorn.sign_in`;
}

/** The header that sets a session cookie; with no seconds left, the one that removes it. */
export function sessionCookie(value: string, name: string, seconds: number): string {
  const secure = /^__(Secure|Host)-/.test(name) ? "; Secure" : "";
  return `${name}=${encodeURIComponent(value)}; Max-Age=${seconds}; Path=/; HttpOnly${secure}; SameSite=Strict`;
}

export function signToken(token: string, secret: string): string {
  return `${token}.${signatureOf(token, secret).toString("base64")}`;
}

function signatureOf(token: string, secret: string): Buffer {
  return createHmac("sha256", secret).update(token).digest();
}

/** The session token in a Cookie header, if one of the secrets signed it. Runs for every API call of a person. */
export function readSessionToken(
  cookies: string | undefined,
  name: string,
  secrets: readonly string[],
): string | undefined {
  const value = cookieValue(cookies, name);
  const match = /^([A-Za-z0-9]{16,128})\.([A-Za-z0-9+/]{43}=)$/.exec(value ?? "");
  if (!match) return undefined;
  const [, token, signature] = match as unknown as [string, string, string];
  const given = Buffer.from(signature, "base64");
  return secrets.some((secret) => timingSafeEqual(signatureOf(token, secret), given)) ? token : undefined;
}

/** RFC 6265 §5.4: pairs separated by semicolons. Of two cookies with the same name the first counts. */
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
