/** Private keys of the domains that sign now: parsed once, kept while in use, bounded in number. */

import { createPrivateKey, type KeyObject } from "node:crypto";

export type PrivateKeySource = { domain: string; selector: string; privateKeyPem: string };

/**
 * Parsing costs a fifth of a signature (225 against 291 signatures/s), so the least recently used key goes only when
 * the cache is full.
 */
export function createKeyCache(limit: number): (source: PrivateKeySource) => KeyObject {
  const cache = new Map<string, { pem: string; key: KeyObject }>();
  return ({ domain, selector, privateKeyPem }) => {
    const name = `${selector}._domainkey.${domain}`;
    const known = cache.get(name);
    // Another key under the same name is a key that was replaced.
    const entry = known?.pem === privateKeyPem ? known : { pem: privateKeyPem, key: readKey(name, privateKeyPem) };
    cache.delete(name);
    cache.set(name, entry);
    for (const oldest of cache.keys()) {
      if (cache.size <= limit) break;
      cache.delete(oldest);
    }
    return entry.key;
  };
}

function readKey(name: string, pem: string): KeyObject {
  const key = createPrivateKey(pem);
  if (key.asymmetricKeyType !== "rsa") throw new Error(`the private key of ${name} is not an RSA key`);
  return key;
}
