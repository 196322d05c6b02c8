/** Encrypts secrets before they are stored: AES-256-GCM with a key derived from POSTHORN_SECRET. Stores with secrets use it. */
import { createCipheriv, createDecipheriv, createHmac, hkdfSync, randomBytes, timingSafeEqual } from "node:crypto";
import type { Sql } from "./pool.ts";

export type Secrets = ReturnType<typeof createSecrets>;

export function createSecrets(secret: string) {
  const derive = (purpose: string) => Buffer.from(hkdfSync("sha256", secret, "posthorn", purpose, 32));
  const sealKey = derive("seal v1");
  return {
    /** Derives a separate key for each purpose (return-path tokens, cursors …), so that a value made for one is invalid for another. */
    derive,
    /** `context` names the row: a sealed text that is copied to another row does not open. */
    seal(plain: string, context: string): string {
      const iv = randomBytes(12);
      const cipher = createCipheriv("aes-256-gcm", sealKey, iv).setAAD(Buffer.from(context));
      const body = Buffer.concat([cipher.update(plain, "utf8"), cipher.final()]);
      return `s1.${Buffer.concat([iv, cipher.getAuthTag(), body]).toString("base64")}`;
    },
    open(sealed: string, context: string): string {
      if (!sealed.startsWith("s1."))
        throw new Error("the stored secret has an unknown format: expected the prefix s1.");
      const bytes = Buffer.from(sealed.slice(3), "base64");
      const decipher = createDecipheriv("aes-256-gcm", sealKey, bytes.subarray(0, 12)).setAAD(Buffer.from(context));
      decipher.setAuthTag(bytes.subarray(12, 28));
      return Buffer.concat([decipher.update(bytes.subarray(28)), decipher.final()]).toString("utf8");
    },
    mac(purpose: string, text: string): Buffer {
      return createHmac("sha256", derive(purpose)).update(text).digest();
    },
  };
}

export class SecretError extends Error {
  override readonly name = "SecretError";
}

/** The first node stores a check value. A node with another secret must not start: it would write rows that the others cannot read. */
export async function checkSecret(sql: Sql, secrets: Secrets): Promise<void> {
  const mine = secrets.mac("secret check", "posthorn").toString("base64");
  const [row] = await sql<{ value: string }[]>`
    insert into settings (name, value) values ('secret_check', ${mine})
    on conflict (name) do update set value = settings.value returning value`;
  const stored = Buffer.from(row!.value);
  if (stored.length !== mine.length || !timingSafeEqual(stored, Buffer.from(mine))) {
    throw new SecretError(
      "POSTHORN_SECRET is not the one this database was created with, so this node cannot decrypt its keys. " +
        "Set it to the secret of the first node (the file `secret` in its data directory).",
    );
  }
}
