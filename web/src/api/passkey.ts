/** Passkeys in the browser. The code that talks to the authenticator is loaded when it is first needed. */
import type {
  PublicKeyCredentialCreationOptionsJSON,
  PublicKeyCredentialRequestOptionsJSON,
} from "@simplewebauthn/browser";
import { auth, authState } from "./auth.ts";

type Purpose = "sign_in" | "second_factor" | "confirm" | "add";

const load = () => import("@simplewebauthn/browser");

/** Whether this page can use passkeys. They belong to a host name, so a page at an IP address cannot. */
export function canUsePasskeys(origin: string | null | undefined = authState()?.passkeyOrigin): boolean {
  return origin === location.origin && typeof PublicKeyCredential === "function";
}

/** Lets the person choose a passkey, and returns its answer for the server. */
export async function askForPasskey(purpose: Exclude<Purpose, "add">): Promise<unknown> {
  const { startAuthentication } = await load();
  const optionsJSON = await optionsFor<PublicKeyCredentialRequestOptionsJSON>(purpose);
  return await startAuthentication({ optionsJSON }).catch(explain);
}

/** Offers passkeys in the autofill of the address field. Resolves when the person picks one; undefined if the browser cannot do it or the
 * question is withdrawn. */
export async function offerPasskeys(): Promise<unknown> {
  const { browserSupportsWebAuthnAutofill, startAuthentication } = await load();
  if (!(await browserSupportsWebAuthnAutofill())) return undefined;
  const optionsJSON = await optionsFor<PublicKeyCredentialRequestOptionsJSON>("sign_in");
  return await startAuthentication({ optionsJSON, useBrowserAutofill: true }).catch(() => undefined);
}

export async function withdrawOffer(): Promise<void> {
  (await load()).WebAuthnAbortService.cancelCeremony();
}

export async function createPasskey(): Promise<unknown> {
  const { startRegistration } = await load();
  const optionsJSON = await optionsFor<PublicKeyCredentialCreationOptionsJSON>("add");
  return await startRegistration({ optionsJSON }).catch(explain);
}

async function optionsFor<Options>(purpose: Purpose): Promise<Options> {
  return await auth<Options>("passkey-options", { purpose });
}

/** The messages of browsers are for programmers. */
function explain(error: unknown): never {
  const name = error instanceof Error ? error.name : "";
  if (name === "NotAllowedError" || name === "AbortError")
    throw new Error("The browser did not use a passkey: the question was closed, or took too long. Try again.");
  if (name === "InvalidStateError") throw new Error("This device already has a passkey for your account.");
  throw error;
}
