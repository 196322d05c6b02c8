/** A passkey in software, for tests of the endpoints: it can do what browsers prevent, such as answers for another site. The browser
 * tests use Chromium's own virtual authenticator. */
import { createHash, createPrivateKey, generateKeyPairSync, randomBytes, sign } from "node:crypto";
import { isoCBOR } from "@simplewebauthn/server/helpers";
import type { Browser } from "./people.ts";
import type { RunningProgram } from "./program.ts";

export type Overrides = {
  origin?: string;
  rpId?: string;
  /** Default: 1 more than in the last answer. */
  counter?: number;
  isVerified?: boolean;
  /** The format of the attestation. */
  fmt?: string;
};

type Options = { challenge: string; rp?: { id?: string }; rpId?: string };

export type SoftwarePasskey = ReturnType<typeof makePasskey>;

export function makePasskey(origin: string) {
  const { privateKey, publicKey } = generateKeyPairSync("ec", { namedCurve: "P-256" });
  const id = randomBytes(32);
  let counter = 0;

  function authData(options: Options, overrides: Overrides, isNew: boolean): Buffer {
    const rpId = overrides.rpId ?? options.rp?.id ?? options.rpId ?? "";
    counter = overrides.counter ?? counter + 1;
    const flags = 0x01 | ((overrides.isVerified ?? true) ? 0x04 : 0) | (isNew ? 0x40 : 0);
    const count = Buffer.alloc(4);
    count.writeUInt32BE(counter);
    const head = [createHash("sha256").update(rpId).digest(), Buffer.from([flags]), count];
    if (!isNew) return Buffer.concat(head);
    const length = Buffer.alloc(2);
    length.writeUInt16BE(id.length);
    const { x, y } = publicKey.export({ format: "jwk" }) as { x: string; y: string };
    const cose = new Map<number, number | Uint8Array>([
      [1, 2],
      [3, -7],
      [-1, 1],
      [-2, new Uint8Array(Buffer.from(x, "base64url"))],
      [-3, new Uint8Array(Buffer.from(y, "base64url"))],
    ]);
    return Buffer.concat([...head, Buffer.alloc(16), length, id, isoCBOR.encode(cose)]);
  }

  const clientData = (type: string, { challenge }: Options, overrides: Overrides) =>
    Buffer.from(JSON.stringify({ type, challenge, origin: overrides.origin ?? origin, crossOrigin: false }));

  const answer = (response: Record<string, unknown>) => ({
    id: id.toString("base64url"),
    rawId: id.toString("base64url"),
    type: "public-key",
    clientExtensionResults: {},
    response,
  });

  return {
    /** The answer of navigator.credentials.create(). */
    create(options: object, overrides: Overrides = {}) {
      const read = options as Options;
      const attestation = new Map<string, unknown>([
        ["fmt", overrides.fmt ?? "none"],
        ["attStmt", new Map()],
        ["authData", new Uint8Array(authData(read, overrides, true))],
      ]);
      return answer({
        clientDataJSON: clientData("webauthn.create", read, overrides).toString("base64url"),
        attestationObject: Buffer.from(isoCBOR.encode(attestation as never)).toString("base64url"),
        transports: ["internal"],
      });
    },
    /** The answer of navigator.credentials.get(). */
    get(options: object, overrides: Overrides = {}) {
      const read = options as Options;
      const data = authData(read, overrides, false);
      const client = clientData("webauthn.get", read, overrides);
      const signed = Buffer.concat([data, createHash("sha256").update(client).digest()]);
      const key = createPrivateKey(privateKey.export({ type: "pkcs8", format: "pem" }) as string);
      return answer({
        clientDataJSON: client.toString("base64url"),
        authenticatorData: data.toString("base64url"),
        signature: sign("sha256", signed, key).toString("base64url"),
      });
    },
  };
}

/** Adds a passkey to the account of the browser's session, which has a second factor from then on. */
export async function addPasskey(browser: Browser, program: Pick<RunningProgram, "url">): Promise<SoftwarePasskey> {
  const passkey = makePasskey(program.url.replace("127.0.0.1", "localhost"));
  const options = (await browser.post("/auth/passkey-options", { purpose: "add" })).body;
  const added = await browser.post("/auth/add-passkey", { name: "Key", credential: passkey.create(options) });
  if (added.status !== 200) throw new Error(`add-passkey: ${JSON.stringify(added.body)}`);
  return passkey;
}
