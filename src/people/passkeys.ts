/** Passkeys (Web Authentication): options for the browser, and the check of its answers. User verification is always required, so that a
 * passkey counts as two factors. Challenges are signed, not stored: strangers get them without limit, and only an accepted answer
 * writes a row, which makes the challenge work once. Called by factors.ts, sign-in.ts and confirm.ts. */
import { randomBytes } from "node:crypto";
import type {
  AuthenticationResponseJSON,
  PublicKeyCredentialCreationOptionsJSON,
  PublicKeyCredentialRequestOptionsJSON,
  RegistrationResponseJSON,
} from "@simplewebauthn/server";
import { Problem } from "../ops/problem.ts";
import type { Sql } from "../postgres/pool.ts";
import type { Secrets } from "../postgres/sealing.ts";
import { type RelyingParty, relyingParty } from "./rules/relying-party.ts";
import {
  findPasskey,
  type KnownPasskey,
  listPasskeys,
  serviceTimeMs,
  useChallenge,
  usePasskey,
} from "./store/passkeys.ts";
import type { Person } from "./store.ts";

const challengeMs = 5 * 60_000;
/** The purpose of the key that signs challenges. */
const challenges = "passkey challenges";
/** COSE: ES256, EdDSA, RS256. */
const algorithms = [-7, -8, -257];

/** What a challenge is for. A challenge for one purpose and subject is invalid for every other. */
export type Purpose = "add" | "sign_in" | "second_factor" | "confirm";
/** `subject` is the session, or the sign-in that waits for its second factor. */
export type ChallengeFor = { purpose: Purpose; subject: string };

export type WrongPasskey = "wrong_passkey" | "reused_passkey";
export type AcceptedPasskey = { credentialId: string; publicKey: Uint8Array; counter: number; transports: string[] };

export type Passkeys = {
  /** Undefined where no page can use passkeys. */
  party(host: string | undefined): RelyingParty | undefined;
  addOptions(
    person: Person,
    subject: string,
    host: string | undefined,
  ): Promise<PublicKeyCredentialCreationOptionsJSON>;
  /** `person` limits the browser to the passkeys of a person who is known. */
  useOptions(
    forWhat: ChallengeFor,
    host: string | undefined,
    person: Person | undefined,
  ): Promise<PublicKeyCredentialRequestOptionsJSON>;
  /** Checks a new passkey. */
  accept(credential: unknown, subject: string, host: string | undefined): Promise<AcceptedPasskey | WrongPasskey>;
  /** Checks the answer of a passkey and uses its challenge up. Returns the passkey and the person that it belongs to. */
  use(credential: unknown, forWhat: ChallengeFor, host: string | undefined): Promise<KnownPasskey | WrongPasskey>;
};

/** Loaded on first use: it takes longer to load than the rest of people together. */
const load = () => import("@simplewebauthn/server");

export function createPasskeys(deps: {
  sql: Sql;
  secrets: Pick<Secrets, "mac" | "isMac">;
  publicUrl: string | undefined;
}): Passkeys {
  const { sql } = deps;

  function requireParty(host: string | undefined): RelyingParty {
    const party = relyingParty(deps.publicUrl, host);
    if (!party) throw new Problem("failed_precondition", noPasskeysHere);
    return party;
  }

  const signed = (head: Buffer, { purpose, subject }: ChallengeFor) => `${purpose} ${subject} ${head.toString("hex")}`;

  async function makeChallenge(forWhat: ChallengeFor): Promise<Uint8Array<ArrayBuffer>> {
    const head = Buffer.concat([Buffer.alloc(8), randomBytes(16)]);
    head.writeDoubleBE((await serviceTimeMs(sql)) + challengeMs);
    return new Uint8Array(Buffer.concat([head, deps.secrets.mac(challenges, signed(head, forWhat))]));
  }

  /** When a challenge of ours ends, in service time; undefined for any other text. */
  function readChallenge(challenge: string, forWhat: ChallengeFor): number | undefined {
    const bytes = Buffer.from(challenge, "base64url");
    if (bytes.length !== 56 || bytes.toString("base64url") !== challenge) return undefined;
    const head = bytes.subarray(0, 24);
    const isOurs = deps.secrets.isMac(bytes.subarray(24), challenges, signed(head, forWhat));
    return isOurs ? head.readDoubleBE() : undefined;
  }

  /** The challenge that an answer contains, if we made it for this. */
  function challengeIn(credential: Answer, forWhat: ChallengeFor) {
    const challenge = challengeOf(credential);
    const endsAtMs = challenge === undefined ? undefined : readChallenge(challenge, forWhat);
    return challenge === undefined || endsAtMs === undefined ? undefined : { challenge, endsAtMs };
  }

  return {
    party: (host) => relyingParty(deps.publicUrl, host),

    async addOptions(person, subject, host) {
      const { generateRegistrationOptions } = await load();
      const known = await listPasskeys(sql, person.id);
      return await generateRegistrationOptions({
        rpName: "Posthorn",
        rpID: requireParty(host).id,
        userID: new Uint8Array(Buffer.from(person.id.replaceAll("-", ""), "hex")),
        userName: person.email,
        userDisplayName: person.name,
        challenge: await makeChallenge({ purpose: "add", subject }),
        timeout: challengeMs,
        attestationType: "none",
        excludeCredentials: known.map(({ credentialId, transports }) => ({ id: credentialId, transports })),
        authenticatorSelection: { residentKey: "required", requireResidentKey: true, userVerification: "required" },
        supportedAlgorithmIDs: algorithms,
      });
    },

    async useOptions(forWhat, host, person) {
      const { generateAuthenticationOptions } = await load();
      const known = person ? await listPasskeys(sql, person.id) : [];
      return await generateAuthenticationOptions({
        rpID: requireParty(host).id,
        challenge: await makeChallenge(forWhat),
        timeout: challengeMs,
        userVerification: "required",
        allowCredentials: known.map(({ credentialId, transports }) => ({ id: credentialId, transports })),
      });
    },

    async accept(credential, subject, host) {
      const party = requireParty(host);
      if (!isAnswer(credential)) return "wrong_passkey";
      const ours = challengeIn(credential, { purpose: "add", subject });
      if (!ours || !(await isWithoutAttestation(credential))) return "wrong_passkey";
      const { verifyRegistrationResponse } = await load();
      const { registrationInfo } = await orWrong(
        verifyRegistrationResponse({
          response: credential as unknown as RegistrationResponseJSON,
          expectedChallenge: ours.challenge,
          expectedOrigin: party.origin,
          expectedRPID: party.id,
          requireUserVerification: true,
          supportedAlgorithmIDs: algorithms,
        }),
      );
      if (!registrationInfo) return "wrong_passkey";
      if (!(await useChallenge(sql, ours.challenge, ours.endsAtMs))) return "reused_passkey";
      const { id, publicKey, counter } = registrationInfo.credential;
      return { credentialId: id, publicKey, counter, transports: transportsOf(credential) };
    },

    async use(credential, forWhat, host) {
      const party = requireParty(host);
      if (!isAnswer(credential)) return "wrong_passkey";
      const ours = challengeIn(credential, forWhat);
      const known = ours && (await findPasskey(sql, credential.id));
      if (!known) return "wrong_passkey";
      const { verifyAuthenticationResponse } = await load();
      const { authenticationInfo, verified } = await orWrong(
        verifyAuthenticationResponse({
          response: credential as unknown as AuthenticationResponseJSON,
          expectedChallenge: ours.challenge,
          expectedOrigin: party.origin,
          expectedRPID: party.id,
          // The counter is compared in the statement that stores it.
          credential: { id: credential.id, publicKey: known.publicKey as Uint8Array<ArrayBuffer>, counter: 0 },
          requireUserVerification: true,
        }),
      );
      if (!verified || !authenticationInfo) return "wrong_passkey";
      if (!(await useChallenge(sql, ours.challenge, ours.endsAtMs))) return "reused_passkey";
      return (await usePasskey(sql, known.id, authenticationInfo.newCounter)) ? known : "reused_passkey";
    },
  };
}

/** The part of an answer that is read before the library checks it. */
type Answer = { id: string; response: Record<string, unknown> };

function isAnswer(credential: unknown): credential is Answer {
  if (typeof credential !== "object" || credential === null) return false;
  const { id, response } = credential as Record<string, unknown>;
  return typeof id === "string" && id.length <= 1400 && typeof response === "object" && response !== null;
}

function challengeOf({ response }: Answer): string | undefined {
  try {
    const read = JSON.parse(Buffer.from(String(response.clientDataJSON), "base64url").toString("utf8"));
    return typeof read?.challenge === "string" ? read.challenge : undefined;
  } catch {
    return undefined;
  }
}

/** We ask for no attestation. The library would fetch the revocation list that a certificate in an attestation names: a URL that the
 * sender chooses. */
async function isWithoutAttestation({ response }: Answer): Promise<boolean> {
  try {
    const { decodeAttestationObject, isoBase64URL } = await import("@simplewebauthn/server/helpers");
    const decoded = decodeAttestationObject(isoBase64URL.toBuffer(String(response.attestationObject)));
    return decoded.get("fmt") === "none";
  } catch {
    return false;
  }
}

function transportsOf({ response }: Answer): string[] {
  const { transports } = response;
  const known = ["ble", "cable", "hybrid", "internal", "nfc", "smart-card", "usb"];
  return Array.isArray(transports) ? known.filter((name) => transports.includes(name)) : [];
}

/** The library throws for every answer that is not valid. */
async function orWrong<T extends object>(checking: Promise<T>): Promise<Partial<T>> {
  return await checking.catch(() => ({}));
}

const noPasskeysHere =
  "Passkeys need a host name: open the dashboard at http://localhost, or let the operator set POSTHORN_PUBLIC_URL to an https URL.";

export function refusedPasskey(): Problem {
  return new Problem(
    "unauthenticated",
    "This passkey was not accepted: it belongs to another site or account, was used already, or did not verify that it is you.",
  );
}
