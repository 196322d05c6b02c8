/** A real OpenID Connect provider on loopback, from the package oidc-provider, and a browser that follows its redirects. Tests choose who is
 * signed in there, and can change the answers of its token endpoint. */
import { createSign, generateKeyPairSync, type KeyObject, randomBytes } from "node:crypto";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { Provider } from "oidc-provider";
import type { Browser } from "./people.ts";
import type { Answer, RunningProgram } from "./program.ts";

export type Account = Record<string, unknown> & { sub: string };
type Tokens = { id_token: string; access_token: string };
type Json = Record<string, unknown>;

export type TestProvider = {
  issuer: string;
  /** The settings of the program for this provider, under the name `test`. */
  env: Record<string, string>;
  /** Registers the program, whose port is known now. */
  register(program: Pick<RunningProgram, "url">): void;
  /** The person who is signed in at the provider; undefined: the person cancels. */
  account: Account | undefined;
  /** Changes the answer of the token endpoint. */
  tamper: ((tokens: Tokens) => object) | undefined;
  /** Answers nothing but HTTP 503. */
  isDown: boolean;
  /** Requests that arrived, by path. */
  requests: string[];
  replaceKeys(): void;
  /** An ID token with other claims and header fields, signed with a key: by default the provider's. */
  forge(tokens: Tokens, change: { claims?: Json; header?: Json; key?: KeyObject; unsigned?: boolean }): Tokens;
  stop(): Promise<void>;
};

const clientSecret = "the secret of the test client, 0123456789";

export type ProviderOptions = {
  /** Put the claims into the ID token, instead of the answer of the UserInfo endpoint. */
  idTokenClaims?: boolean;
  /** The discovery document says that ID tokens have no auth_time, as that of Google does, or it lists no claims at all. */
  withoutAuthTime?: "not listed" | "no list";
  /** The program has no secret at the provider. */
  public?: boolean;
  /** `localhost` makes the provider another site than the program, for a real browser. */
  host?: "127.0.0.1" | "localhost";
};

export async function startProvider(options: ProviderOptions = {}): Promise<TestProvider> {
  let handle: (request: IncomingMessage, response: ServerResponse) => void = (_request, response) => response.end();
  let registered: string | undefined;
  let keys = makeKeys();
  const server = createServer((request, response) => {
    test.requests.push(request.url!.split("?")[0]!);
    if (test.isDown) return void response.writeHead(503).end();
    if (request.url === "/token") changeAnswer(response, (tokens) => test.tamper?.(tokens as Tokens) ?? tokens);
    if (request.url === "/.well-known/openid-configuration" && options.withoutAuthTime)
      changeAnswer(response, (metadata) => ({
        ...metadata,
        claims_supported: options.withoutAuthTime === "no list" ? undefined : ["sub", "email", "email_verified"],
      }));
    handle(request, response);
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const issuer = `http://${options.host ?? "127.0.0.1"}:${(server.address() as AddressInfo).port}`;

  function build(): void {
    const provider = new Provider(issuer, configuration());
    const callback = provider.callback();
    handle = (request, response) => {
      if (!request.url!.startsWith("/interaction/")) return callback(request, response);
      const { account } = test;
      const denied = { error: "access_denied", error_description: "<b>no</b>" };
      const result = account ? { login: { accountId: account.sub } } : denied;
      void provider.interactionFinished(request, response, result).catch((error) => response.destroy(error));
    };
  }

  function configuration() {
    return {
      clients: [
        {
          client_id: "posthorn",
          ...(options.public ? { token_endpoint_auth_method: "none" } : { client_secret: clientSecret }),
          redirect_uris: [`${registered}/auth/oidc/callback`],
          response_types: ["code"],
          grant_types: ["authorization_code"],
        },
      ],
      jwks: { keys: [{ ...keys.privateKey.export({ format: "jwk" }), kid: keys.kid, use: "sig", alg: "RS256" }] },
      cookies: { keys: ["test"] },
      features: { devInteractions: { enabled: false } },
      interactions: { url: (_ctx: unknown, { uid }: { uid: string }) => `/interaction/${uid}` },
      scopes: ["openid", "email", "profile", "groups"],
      claims: { openid: ["sub"], email: ["email", "email_verified"], profile: ["name"], groups: ["groups"] },
      conformIdTokenClaims: options.idTokenClaims !== true,
      ttl: { Interaction: 600, Grant: 600, Session: 600, AccessToken: 600, IdToken: 600, AuthorizationCode: 60 },
      pkce: { required: () => true },
      findAccount: (_ctx: unknown, sub: string) => ({ accountId: sub, claims: () => ({ ...test.account, sub }) }),
      // Every scope is granted without a page that asks.
      async loadExistingGrant(ctx: {
        oidc: { client: { clientId: string }; session: { accountId: string }; provider: Provider };
      }) {
        const { client, session, provider } = ctx.oidc;
        const grant = new provider.Grant({ clientId: client.clientId, accountId: session.accountId });
        grant.addOIDCScope("openid email profile groups");
        await grant.save();
        return grant;
      },
    };
  }

  function changeAnswer(response: ServerResponse, change: (answer: object) => object): void {
    const end = response.end.bind(response);
    response.end = ((body: string | Buffer) => {
      if (response.statusCode !== 200) return end(body);
      const changed = JSON.stringify(change(JSON.parse(String(body)) as object));
      response.setHeader("content-length", Buffer.byteLength(changed));
      return end(changed);
    }) as typeof response.end;
  }

  const test: TestProvider = {
    issuer,
    env: {
      POSTHORN_OIDC: "test",
      POSTHORN_OIDC_TEST_ISSUER: issuer,
      POSTHORN_OIDC_TEST_CLIENT_ID: "posthorn",
      POSTHORN_OIDC_TEST_LABEL: "Example login",
      ...(!options.public && { POSTHORN_OIDC_TEST_CLIENT_SECRET: clientSecret }),
    },
    register({ url }) {
      registered = url;
      build();
    },
    account: undefined,
    tamper: undefined,
    isDown: false,
    requests: [],
    replaceKeys() {
      keys = makeKeys();
      build();
    },
    forge(tokens, { claims = {}, header = {}, key = keys.privateKey, unsigned = false }) {
      const [head, payload] = tokens.id_token.split(".").slice(0, 2).map(decode);
      const text = `${encode({ ...head, ...header })}.${encode({ ...payload, ...claims })}`;
      const signature = unsigned ? "" : createSign("RSA-SHA256").update(text).sign(key).toString("base64url");
      return { ...tokens, id_token: `${text}.${signature}` };
    },
    stop: () =>
      new Promise<void>((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
  return test;
}

export function makeKeys() {
  return { ...generateKeyPairSync("rsa", { modulusLength: 2048 }), kid: randomBytes(8).toString("hex") };
}

const encode = (value: object) => Buffer.from(JSON.stringify(value)).toString("base64url");
const decode = (part: string) => JSON.parse(Buffer.from(part, "base64url").toString()) as Json;

/** Starts a sign-in or a link in the browser, and follows the provider up to the address that leads back to the program. */
export async function visitProvider(
  browser: Browser,
  program: Pick<RunningProgram, "url">,
  input: Json = {},
): Promise<{ started: Answer; back: URL }> {
  const started = await browser.post("/auth/oidc/start", { provider: "test", ...input });
  if (started.status !== 200) throw new Error(`start: ${JSON.stringify(started.body)}`);
  return { started, back: await followUntil(program.url, started.body.url as string) };
}

/** Follows redirects with a cookie jar of its own, as at another site. */
export async function followUntil(end: string, from: string): Promise<URL> {
  const jar = new Map<string, string>();
  let url = new URL(from);
  for (let left = 10; left > 0; left--) {
    const cookie = [...jar].map((pair) => pair.join("=")).join("; ");
    const answer = await fetch(url, { redirect: "manual", headers: cookie ? { cookie } : {} });
    for (const line of answer.headers.getSetCookie()) {
      const [name, value] = line.split(";")[0]!.split("=") as [string, string];
      jar.set(name, value);
    }
    const location = answer.headers.get("location");
    if (location === null)
      throw new Error(`${answer.status} at ${url.pathname}: ${(await answer.text()).slice(0, 500)}`);
    url = new URL(location, url);
    if (url.origin === end) return url;
  }
  throw new Error(`no end of redirects at ${url.href}`);
}

/** The request with which the browser comes back from the provider: without cookies that are SameSite=Strict. Returns where it goes.
 * `address` is the client's, if the program trusts this machine as a proxy. */
export async function comeBack(browser: Browser, back: URL, address?: string): Promise<string> {
  const cookie = [...browser.cookies]
    .filter(([name]) => name.endsWith("posthorn.oidc"))
    .map(([name, value]) => `${name}=${value}`)
    .join("; ");
  const headers = { ...(cookie && { cookie }), ...(address && { "x-forwarded-for": address }) };
  const answer = await fetch(back, { redirect: "manual", headers: { ...headers, "sec-fetch-site": "cross-site" } });
  browser.lastSet = answer.headers.getSetCookie();
  for (const line of browser.lastSet) {
    const [, name, value] = /^([^=]+)=([^;]*)/.exec(line)!;
    browser.cookies.set(name!, value!);
  }
  if (answer.status !== 303) throw new Error(`${answer.status}: ${await answer.text()}`);
  return answer.headers.get("location")!;
}

export async function signInBy(
  browser: Browser,
  program: Pick<RunningProgram, "url">,
  input: Json = {},
  address?: string,
): Promise<string> {
  const { back } = await visitProvider(browser, program, input);
  return await comeBack(browser, back, address);
}
