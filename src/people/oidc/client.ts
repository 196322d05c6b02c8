/** The protocol with a provider, by openid-client: discovery, the authorization code with PKCE, and the checks of the ID token. Every
 * failure is an OidcRefusal with a reason. Called by flow.ts and posthorn doctor. */
import type * as OpenIdClient from "openid-client";
import { aheadOfMachineMs } from "../../ops/clock.ts";
import { agoOf, toleranceMs } from "../rules/auth-time.ts";
import { OidcRefusal } from "../rules/oidc-refusal.ts";
import { type Claims, claimAt, mergeClaims, type ProviderSettings } from "../rules/provider.ts";
import { reasonOf } from "./reason.ts";

/** Each request to the provider. A sign-in makes three or four. */
const timeoutSeconds = 8;
const maxAnswerBytes = 1024 * 1024;
const keptMs = { found: 600_000, failed: 5_000 };

/** What the flow remembers of its start. */
export type Started = { state: string; nonce: string; codeVerifier: string; redirectUri: string };

/** The validated claims. Together, issuer and subject are the identity. */
export type Answered = {
  issuer: string;
  subject: string;
  claims: Claims;
  /** Milliseconds since the person signed in at the provider; undefined if it does not say that. */
  signedInAgoMs: number | undefined;
};

export type OidcClient = {
  /** The provider's page, to which the browser is sent. */
  begin(provider: ProviderSettings, started: Started & { again: boolean }): Promise<string>;
  /** Whether the provider can say when a person signed in there. Undefined: unknown. */
  saysWhen(provider: ProviderSettings): Promise<boolean | undefined>;
  /** `query` is that of the request with which the browser comes back. */
  finish(provider: ProviderSettings, started: Started, query: string): Promise<Answered>;
  /** What a new flow has to remember. */
  random(): Promise<{ state: string; nonce: string; codeVerifier: string }>;
};

type Known = { metadata: Promise<OpenIdClient.ServerMetadata>; untilMs: number };

/** `nowMs` is the database's wall time: the clock of this machine decides nothing. */
export function createOidcClient({ nowMs }: { nowMs(): number }): OidcClient {
  const known = new Map<string, Known>();

  /** Loaded at the first sign-in by a provider: few starts need it. */
  const load = () => import("openid-client");

  /** Requests that arrive together share one. A failure is kept briefly, so that a provider in trouble gets few requests. */
  function discover(provider: ProviderSettings): Promise<OpenIdClient.ServerMetadata> {
    const kept = known.get(provider.name);
    if (kept && kept.untilMs > performance.now()) return kept.metadata;
    const metadata = discoverNow(provider);
    const entry: Known = { metadata, untilMs: performance.now() + keptMs.found };
    known.set(provider.name, entry);
    metadata.catch(() => {
      entry.untilMs = performance.now() + keptMs.failed;
    });
    return metadata;
  }

  /** A new configuration each time: it holds the current difference of the clocks, and no keys, so that the provider may replace its keys at
   * any time. */
  async function configure(provider: ProviderSettings) {
    const client = await load();
    const metadata = await discover(provider).catch((cause: unknown) => {
      throw new OidcRefusal("oidc_unavailable", { cause });
    });
    const config = new client.Configuration(
      metadata,
      provider.clientId,
      {
        [client.clockSkew]: Math.round(aheadOfMachineMs(nowMs()) / 1000),
        [client.clockTolerance]: toleranceMs / 1000,
      },
      authentication(client, provider, metadata),
    );
    config.timeout = timeoutSeconds;
    config[client.customFetch] = boundedFetch;
    if (isPlainHttp(provider)) client.allowInsecureRequests(config);
    // Without this, TLS alone vouches for the ID token.
    client.enableNonRepudiationChecks(config);
    return { client, config };
  }

  return {
    async random() {
      const { randomState, randomNonce, randomPKCECodeVerifier } = await load();
      return { state: randomState(), nonce: randomNonce(), codeVerifier: randomPKCECodeVerifier() };
    },
    async saysWhen(provider) {
      if (provider.neverSaysWhen) return false;
      const { config } = await configure(provider);
      const claims = config.serverMetadata().claims_supported;
      return Array.isArray(claims) ? claims.includes("auth_time") : undefined;
    },
    async begin(provider, { state, nonce, codeVerifier, redirectUri, again }) {
      const { client, config } = await configure(provider);
      const url = client.buildAuthorizationUrl(config, {
        redirect_uri: redirectUri,
        scope: provider.scopes,
        state,
        nonce,
        code_challenge: await client.calculatePKCECodeChallenge(codeVerifier),
        code_challenge_method: "S256",
        // OpenID Connect Core §3.1.2.1: the provider asks again, and has to say when that was.
        ...(again && { prompt: "login", max_age: "0" }),
      });
      return url.href;
    },
    async finish(provider, started, query) {
      const { client, config } = await configure(provider);
      try {
        const tokens = await client.authorizationCodeGrant(config, new URL(started.redirectUri + query), {
          expectedState: started.state,
          expectedNonce: started.nonce,
          pkceCodeVerifier: started.codeVerifier,
          idTokenExpected: true,
        });
        const idToken = tokens.claims()!;
        const { iss: issuer, sub: subject } = idToken;
        if (subject.length > 255 || subject.includes("\0")) throw new OidcRefusal("oidc_answer");
        // Only the ID token is signed and belongs to this sign-in.
        const identity = { issuer, subject, signedInAgoMs: agoOf(idToken.auth_time, nowMs()) };
        if (hasAllClaims(idToken, provider) || !config.serverMetadata().userinfo_endpoint)
          return { ...identity, claims: idToken };
        const userInfo = await client.fetchUserInfo(config, tokens.access_token, subject);
        return { ...identity, claims: mergeClaims(idToken, userInfo, provider.emailVerifiedClaim) };
      } catch (error) {
        if (error instanceof OidcRefusal) throw error;
        throw new OidcRefusal(reasonOf(error), { cause: error });
      }
    },
  };
}

/** Also for posthorn doctor. `onAnswer` sees the answer's header fields. */
export async function discoverNow(
  provider: Pick<ProviderSettings, "issuer" | "clientId">,
  onAnswer: (headers: Headers) => void = () => {},
): Promise<OpenIdClient.ServerMetadata> {
  const client = await import("openid-client");
  const fetchAndShow: OpenIdClient.CustomFetch = async (url, options) => {
    const answer = await boundedFetch(url, options);
    onAnswer(answer.headers);
    return answer;
  };
  const config = await client.discovery(new URL(provider.issuer), provider.clientId, undefined, client.None(), {
    timeout: timeoutSeconds,
    [client.customFetch]: fetchAndShow,
    ...(isPlainHttp(provider) && { execute: [client.allowInsecureRequests] }),
  });
  return config.serverMetadata();
}

/** Only on this machine; the settings refuse it elsewhere. */
function isPlainHttp({ issuer }: Pick<ProviderSettings, "issuer">): boolean {
  return issuer.startsWith("http:");
}

/** RFC 8414 §2: without a list, a provider supports client_secret_basic. */
function authentication(
  client: typeof OpenIdClient,
  { clientSecret }: ProviderSettings,
  { token_endpoint_auth_methods_supported: methods }: OpenIdClient.ServerMetadata,
): OpenIdClient.ClientAuth {
  if (clientSecret === undefined) return client.None();
  const onlyPost = methods?.includes("client_secret_post") && !methods.includes("client_secret_basic");
  return onlyPost ? client.ClientSecretPost(clientSecret) : client.ClientSecretBasic(clientSecret);
}

function hasAllClaims(claims: Claims, { emailVerifiedClaim, roleClaim }: ProviderSettings): boolean {
  const needed = ["email", emailVerifiedClaim, ...(roleClaim === undefined ? [] : [roleClaim])];
  return needed.every((claim) => claimAt(claims, claim) !== undefined);
}

/** Reads an answer up to its limit. The signal of the call ends it in time. */
const boundedFetch: OpenIdClient.CustomFetch = async (url, options) => {
  const answer = await fetch(url, options as RequestInit);
  const chunks: Uint8Array[] = [];
  let size = 0;
  for await (const chunk of answer.body ?? []) {
    size += chunk.byteLength;
    if (size > maxAnswerBytes)
      throw new OidcRefusal("oidc_answer", { cause: new Error(`more than ${maxAnswerBytes} bytes`) });
    chunks.push(chunk);
  }
  const body = answer.body === null ? null : Buffer.concat(chunks);
  return new Response(body, { status: answer.status, headers: answer.headers });
};
