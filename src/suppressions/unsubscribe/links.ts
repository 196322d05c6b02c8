/** Makes and reads the links of emails: the URL with its token, and the header fields of one-click unsubscribe. The key of the tokens is
 * created at its first use, and stored sealed. emails/accept.ts makes links, endpoint.ts reads them. */
import { randomBytes, randomUUID } from "node:crypto";
import { Problem } from "../../ops/problem.ts";
import type { Sql } from "../../postgres/pool.ts";
import type { Secrets } from "../../postgres/sealing.ts";
import { type Link, type LinkKey, makeLinkToken, readLinkToken } from "./rules/token.ts";
import { addLinkKey, readLinkKeys, type SealedKey } from "./store/keys.ts";

export type UnsubscribeLinks = {
  /** Throws a Problem if this service cannot have links. */
  requirePublicUrl(): void;
  /** The URL of the link. */
  make(link: Link): Promise<string>;
  /** Undefined for a token that this service did not make. */
  read(token: string): Promise<Link | undefined>;
};

export const linkPath = "/unsubscribe/";

/** The context of the sealed text (postgres/sealing.ts). */
export const linkKeyContext = (id: string) => `unsubscribe key ${id}`;

/** The longest URL that fits on the line of its header field (mail/mime/header.ts). */
const longestUrl = 890;

export function createUnsubscribeLinks(deps: {
  sql: Sql;
  secrets: Pick<Secrets, "seal" | "open">;
  publicUrl: string | undefined;
}): UnsubscribeLinks {
  const { sql, secrets, publicUrl } = deps;
  let loaded: Promise<LinkKey[]> | undefined;

  /** Kept for the life of the program: keys do not change. A failure is not kept. */
  async function keys(): Promise<LinkKey[]> {
    loaded ??= load().catch((error) => {
      loaded = undefined;
      throw error;
    });
    return await loaded;
  }

  async function load(): Promise<LinkKey[]> {
    let rows = await readLinkKeys(sql);
    if (rows.length === 0) {
      await addLinkKey(sql, newKey());
      rows = await readLinkKeys(sql);
    }
    return rows.map(({ id, number, sealed }) => ({
      number,
      key: Buffer.from(secrets.open(sealed, linkKeyContext(id)), "base64"),
    }));
  }

  function newKey(): SealedKey {
    const id = randomUUID();
    return { id, number: 1, sealed: secrets.seal(randomBytes(32).toString("base64"), linkKeyContext(id)) };
  }

  function requirePublicUrl(): string {
    if (canHoldLinks(publicUrl)) return publicUrl;
    throw new Problem("failed_precondition", noPublicUrl(publicUrl));
  }

  return {
    requirePublicUrl,
    async make(link) {
      const base = requirePublicUrl();
      const [newest] = await keys();
      const url = `${base}${linkPath}${makeLinkToken(link, newest!)}`;
      if (url.length > longestUrl)
        throw new Problem(
          "failed_precondition",
          "POSTHORN_PUBLIC_URL is too long for links in emails. Use a shorter one.",
        );
      return url;
    },
    read: async (token) => readLinkToken(token, await keys()),
  };
}

function noPublicUrl(publicUrl: string | undefined): string {
  const found = publicUrl === undefined ? "is not set" : `is ${publicUrl}`;
  return `unsubscribe needs the public https address of this service, because mail programs post to it, and POSTHORN_PUBLIC_URL ${found}. Set it to an address such as https://mail.example.com, or send without unsubscribe.`;
}

/** False also for hosts that no other machine can reach. posthorn doctor warns about private addresses, which a company may use for mail to
 * itself. */
export function canHoldLinks(publicUrl: string | undefined): publicUrl is string {
  if (!publicUrl?.startsWith("https://")) return false;
  return !hostsOfThisMachine.test(new URL(publicUrl).hostname);
}

/** As `URL` writes them: 127.0.0.0/8, and the addresses that mean no certain one, also mapped to IPv6. */
const hostsOfThisMachine = /(^|\.)localhost\.?$|^127\.|^0\.0\.0\.0$|^\[::(1|ffff:(7f[\da-f]{2}:[\da-f]+|0:0))?\]$/;

/** RFC 8058 §3.1: both fields, covered by the DKIM signature (mail/dkim.ts). */
export function unsubscribeFields(url: string): [name: string, value: string][] {
  return [
    ["List-Unsubscribe", `<${url}>`],
    ["List-Unsubscribe-Post", "List-Unsubscribe=One-Click"],
  ];
}
