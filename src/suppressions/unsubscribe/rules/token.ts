/** The token in the link of an email: it names the recipient and the topic, and cannot be read, changed or made without the key. Nothing is
 * stored for it, so that a link works as long as the key exists, whatever happens to the row of the email. Decision 57 has the reasons.
 * Used by ../links.ts. Pure. */
import { createCipheriv, createDecipheriv, createHmac, timingSafeEqual } from "node:crypto";

/** What one link is about. */
export type Link = {
  /** A UUID, as stored. */
  workspaceId: string;
  /** A UUID, as stored. */
  emailId: string;
  /** As the email has it. */
  address: string;
  topic: string;
  /** The sending domain, for the page. Empty if it did not fit. */
  domain: string;
  /** The email was sent with a test key. */
  test: boolean;
};

/** `number` says which key of the table the token was made with. */
export type LinkKey = { number: number; key: Uint8Array };

/** With this limit, a token has at most 605 characters, and the header field with its URL fits on one line. */
const longestDomain = 80;

/**
 * As in SIV mode: the check value of the content is the nonce of its encryption, so that no nonce has to be unique. Two links with the same
 * content are equal.
 */
export function makeLinkToken(link: Link, { number, key }: LinkKey): string {
  const plain = write(link);
  const check = checkOf(plain, number, key);
  const cipher = createCipheriv("aes-256-ctr", subkey(key, "content"), check);
  return Buffer.concat([Buffer.of(number), check, cipher.update(plain), cipher.final()]).toString("base64url");
}

/** Undefined for any text that was not made with one of these keys. */
export function readLinkToken(token: string, keys: readonly LinkKey[]): Link | undefined {
  if (!/^[\w-]{80,700}$/.test(token)) return undefined;
  const bytes = Buffer.from(token, "base64url");
  // Refuses a second spelling of the same octets.
  if (bytes.toString("base64url") !== token) return undefined;
  const used = keys.find(({ number }) => number === bytes[0]);
  if (!used) return undefined;
  const check = bytes.subarray(1, 1 + checkOctets);
  const decipher = createDecipheriv("aes-256-ctr", subkey(used.key, "content"), check);
  const plain = Buffer.concat([decipher.update(bytes.subarray(1 + checkOctets)), decipher.final()]);
  return timingSafeEqual(checkOf(plain, used.number, used.key), check) ? read(plain) : undefined;
}

const checkOctets = 16;
const uuidOctets = 16;

function checkOf(plain: Uint8Array, number: number, key: Uint8Array): Buffer {
  const hmac = createHmac("sha256", subkey(key, "check"));
  return hmac.update(Buffer.of(number)).update(plain).digest().subarray(0, checkOctets);
}

function subkey(key: Uint8Array, purpose: string): Buffer {
  return createHmac("sha256", key).update(`posthorn unsubscribe 1 ${purpose}`).digest();
}

function write(link: Link): Buffer {
  const topic = Buffer.from(link.topic);
  const address = Buffer.from(link.address);
  const lengths = Buffer.alloc(4);
  lengths.writeUInt8(link.test ? 1 : 0, 0);
  lengths.writeUInt8(topic.length, 1);
  lengths.writeUInt16BE(address.length, 2);
  const domain = link.domain.length > longestDomain ? "" : link.domain;
  return Buffer.concat([
    uuidBytes(link.workspaceId),
    uuidBytes(link.emailId),
    lengths,
    topic,
    address,
    Buffer.from(domain),
  ]);
}

/** The check value has proved that `write` made these octets. */
function read(plain: Buffer): Link {
  const lengthsAt = 2 * uuidOctets;
  const topicAt = lengthsAt + 4;
  const addressAt = topicAt + plain.readUInt8(lengthsAt + 1);
  const domainAt = addressAt + plain.readUInt16BE(lengthsAt + 2);
  return {
    workspaceId: uuidText(plain.subarray(0, uuidOctets)),
    emailId: uuidText(plain.subarray(uuidOctets, lengthsAt)),
    test: plain.readUInt8(lengthsAt) === 1,
    topic: plain.toString("utf8", topicAt, addressAt),
    address: plain.toString("utf8", addressAt, domainAt),
    domain: plain.toString("utf8", domainAt),
  };
}

function uuidBytes(uuid: string): Buffer {
  return Buffer.from(uuid.replaceAll("-", ""), "hex");
}

function uuidText(bytes: Buffer): string {
  return bytes.toString("hex").replace(/^(.{8})(.{4})(.{4})(.{4})(.{12})$/, "$1-$2-$3-$4-$5");
}
