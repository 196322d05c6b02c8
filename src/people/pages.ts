/** The endpoints under /auth for the dashboard: sign-up, sign-in, sign-out, passwords and invitations as JSON; factor-pages.ts has those
 * for second factors and sessions. This file checks requests (same origin, JSON, size) and sets cookies; people.ts decides what a person
 * may do. Called by http/dispatch.ts. */
import { Code, type ConnectError } from "@connectrpc/connect";
import { codeToHttpStatus } from "@connectrpc/connect/protocol-connect";
import { clientAddress } from "../http/client-address.ts";
import type { PageHandler } from "../http/dispatch.ts";
import { codeName, toConnectError } from "../http/errors.ts";
import { readSmallJson } from "../http/read-json.ts";
import { requireSameOrigin } from "../http/same-origin.ts";
import type { Request, Response } from "../http/server.ts";
import type { Log } from "../ops/log.ts";
import { Problem } from "../ops/problem.ts";
import { toWireId } from "../postgres/ids.ts";
import { createClientLimit } from "../shares/guessing.ts";
import type { Action, Redirect, Reply } from "./endpoint.ts";
import { factorActions, factorReads, sessionOnWire } from "./factor-pages.ts";
import { passwordLength } from "./password.ts";
import type { People, Visitor } from "./people.ts";
import { signUpHelp } from "./sign-up.ts";

export type PeoplePagesDeps = {
  people: People;
  log: Log;
  publicUrl: string | undefined;
  trustedProxies: readonly string[];
  passwordSignIn: boolean;
  /** Shown on the sign-in page. */
  providers: readonly { name: string; label: string }[];
  /** Endpoints of other files. */
  actions: Record<string, Action>;
  redirects: Record<string, Redirect>;
};

/** Requests of one client to all endpoints: every one of them queries the database before the caller is known. */
const callRate = { burst: 400, periodMs: 20 };

export function peoplePages(deps: PeoplePagesDeps): Map<string, PageHandler> {
  const { people } = deps;
  const calls = createClientLimit(callRate, "calls of people");
  const actions: Record<string, Action> = {
    ...factorActions(people),
    async link(text) {
      return { body: await people.link(text("token")) };
    },
    async "sign-up"(text, visitor) {
      const input = { email: text("email"), name: text("name"), password: text("password"), token: text("token") };
      const answer = await people.signUp(input, visitor);
      if (answer) return { body: sessionOnWire(answer.value), cookies: answer.cookies };
      return { status: 202, body: { sent: true, message: "A link to continue the sign-up was sent to this address." } };
    },
    async "sign-in"(text, visitor) {
      const { value, cookies } = await people.signIn({ email: text("email"), password: text("password") }, visitor);
      return { body: "secondFactor" in value ? value : sessionOnWire(value), cookies };
    },
    async "sign-out"(_text, visitor) {
      return { body: {}, cookies: (await people.signOut(visitor)).cookies };
    },
    async "change-password"(text, visitor) {
      const input = { currentPassword: text("currentPassword"), newPassword: text("newPassword") };
      const answer = await people.changePassword(input, visitor);
      return { body: sessionOnWire(answer.value), cookies: answer.cookies };
    },
    async "request-password-reset"(text, visitor) {
      return { body: { message: await people.requestReset(text("email"), visitor) } };
    },
    async "reset-password"(text, visitor) {
      await people.resetPassword({ token: text("token"), newPassword: text("newPassword") }, visitor);
      return {
        body: { message: "Your password was changed and every session has ended. Sign in with the new password." },
      };
    },
    async "accept-invitation"(text, visitor) {
      const workspace = await people.acceptInvitation(text("token"), visitor);
      return { body: { workspace: { ...workspace, id: toWireId("workspace", workspace.id) } } };
    },
    ...deps.actions,
  };

  const visitorOf = (request: Request): Visitor => ({
    cookie: request.headers.cookie,
    userAgent: request.headers["user-agent"],
    address: clientAddress(request, deps.trustedProxies),
    host: "authority" in request ? request.authority : request.headers.host,
  });

  async function act(request: Request, action: Action): Promise<Reply> {
    requireSameOrigin((name) => request.headers[name] as string | undefined, deps.publicUrl);
    const fields = await readSmallJson(request);
    const text = (field: string) => (typeof fields[field] === "string" ? fields[field] : "");
    return await action(text, visitorOf(request), fields);
  }

  const state = async (request: Request): Promise<Reply> => {
    const { value, cookies } = await people.state(visitorOf(request));
    const { passwordSignIn } = deps;
    const providers = deps.providers.map(({ name, label }) => ({ name, label }));
    return { body: { ...stateOnWire(value), passwordSignIn, providers }, cookies };
  };

  const redirect = async (request: Request, to: Redirect): Promise<Reply> => {
    const next = await to(/\?.*/.exec(request.url ?? "")?.[0] ?? "", visitorOf(request));
    return { ...next, status: 303, body: {} };
  };

  const page = (method: "GET" | "POST", answer: (request: Request) => Promise<Reply>): PageHandler => {
    return async (request, response) => {
      if (request.method !== method) {
        response.setHeader("allow", method);
        return reply(response, { status: 405, body: { code: "unimplemented", message: `Use ${method}.` } });
      }
      try {
        const { address } = visitorOf(request);
        calls.check(address, performance.now());
        calls.take(address, performance.now());
        reply(response, await answer(request));
      } catch (error) {
        const requestId = String(response.getHeader("x-request-id"));
        const failure = toConnectError(error, { log: deps.log, requestId, method: "auth" });
        for (const [key, value] of failure.metadata) response.setHeader(key, value);
        reply(response, refusal(failure, error));
      }
    };
  };

  return new Map([
    ["/auth/state", page("GET", state)],
    ...Object.entries(factorReads(people)).map(
      ([name, read]) => [`/auth/${name}`, page("GET", (request) => read(visitorOf(request)))] as const,
    ),
    ...Object.entries(actions).map(
      ([name, action]) => [`/auth/${name}`, page("POST", (request) => act(request, action))] as const,
    ),
    ...Object.entries(deps.redirects).map(
      ([name, to]) => [`/auth/${name}`, page("GET", (request) => redirect(request, to))] as const,
    ),
  ]);
}

function refusal(failure: ConnectError, error: unknown): Reply {
  const { violations = [], reason } = error instanceof Problem ? error : {};
  const body = {
    code: codeName(failure),
    message: failure.rawMessage,
    ...(violations.length > 0 && { violations }),
    ...(reason !== undefined && { reason }),
  };
  return { status: failure.code === Code.Internal ? 500 : codeToHttpStatus(failure.code), body };
}

function stateOnWire(state: Awaited<ReturnType<People["state"]>>["value"]) {
  return {
    ...(state.who ? sessionOnWire(state.who) : { person: null, workspaces: [] }),
    operator: state.operator ?? null,
    mayCreateWorkspace: state.mayCreateWorkspace,
    signUp: {
      by: state.by === "no mail" || state.by === "provider" ? "closed" : state.by,
      first: state.first,
      message: signUpHelp[state.by],
    },
    passwordReset: state.passwordReset,
    secondFactor: state.secondFactor ?? null,
    passkeyOrigin: state.passkeyOrigin,
    password: { minLength: passwordLength.min, maxLength: passwordLength.max },
  };
}

function reply(response: Response, { status = 200, body, cookies = [], location }: Reply): void {
  if (response.headersSent || response.destroyed) return;
  const text = `${JSON.stringify(body)}\n`;
  response.statusCode = status;
  if (cookies.length > 0) response.setHeader("set-cookie", [...cookies]);
  if (location !== undefined) response.setHeader("location", location);
  response.setHeader("content-type", "application/json");
  response.setHeader("content-length", Buffer.byteLength(text));
  response.end(text);
}
