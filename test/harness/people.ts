/** Simulates a person with a browser: stores cookies, sends an Origin header, and calls /auth and the API. */
import { readdir, readFile } from "node:fs/promises";
import { join } from "node:path";
import PostalMime from "postal-mime";
import { type Answer, call, type RunningProgram } from "./program.ts";
import { until } from "./wait.ts";

export type Browser = {
  /** By name, with values as in a Cookie header. */
  cookies: Map<string, string>;
  /** The Set-Cookie lines of the last response. */
  lastSet: string[];
  get(path: string): Promise<Answer>;
  post(path: string, body?: unknown, headers?: Record<string, string | undefined>): Promise<Answer>;
  /** Makes one RPC with the session in a workspace. */
  rpc(method: string, request?: unknown, workspace?: string, headers?: Record<string, string>): Promise<Answer>;
  /** Opens an event stream with the session in a workspace. */
  stream(workspace: string, signal?: AbortSignal): Promise<Response>;
};

export const password = "correct horse battery";

export function openBrowser(program: Pick<RunningProgram, "url">): Browser {
  const cookies = new Map<string, string>();
  const cookieHeader = () => [...cookies].map(([name, value]) => `${name}=${value}`).join("; ");
  const browser: Browser = {
    cookies,
    lastSet: [],
    get: (path) => send(path, { method: "GET", headers: withoutEmpty({ cookie: cookieHeader() }) }),
    post: (path, body = {}, headers = {}) =>
      send(path, {
        method: "POST",
        headers: withoutEmpty({
          "content-type": "application/json",
          origin: program.url,
          cookie: cookieHeader(),
          ...headers,
        }),
        body: typeof body === "string" ? body : JSON.stringify(body),
      }),
    rpc: (method, request = {}, workspace, headers = {}) =>
      call(program.url, method, request, {
        key: null,
        headers: {
          origin: program.url,
          cookie: cookieHeader(),
          ...(workspace && { "posthorn-workspace": workspace }),
          ...headers,
        },
      }),
    stream: (workspace, signal) =>
      fetch(`${program.url}/v1.EmailService/StreamEvents`, {
        method: "POST",
        headers: {
          "content-type": "application/json",
          "connect-protocol-version": "1",
          origin: program.url,
          cookie: cookieHeader(),
          "posthorn-workspace": workspace,
        },
        body: "{}",
        signal,
      }),
  };
  return browser;

  async function send(path: string, init: RequestInit): Promise<Answer> {
    const response = await fetch(program.url + path, init);
    browser.lastSet = response.headers.getSetCookie();
    for (const line of browser.lastSet) storeCookie(line);
    const text = await response.text();
    const body = response.headers.get("content-type") === "application/json" ? JSON.parse(text) : { text };
    return { status: response.status, headers: response.headers, body };
  }

  function storeCookie(line: string): void {
    const [, name, value] = /^([^=]+)=([^;]*)/.exec(line)!;
    if (/; *max-age=0/i.test(line)) cookies.delete(name!);
    else cookies.set(name!, value!);
  }
}

function withoutEmpty(headers: Record<string, string | undefined>): Record<string, string> {
  return Object.fromEntries(Object.entries(headers).filter(([, value]) => value)) as Record<string, string>;
}

export type Session = {
  person: { id: string; email: string; name: string };
  workspaces: { id: string; name: string; role: string }[];
};

/** The one-time sign-up link of the first person, read from its file. */
export async function firstLink(program: Pick<RunningProgram, "dataDir">): Promise<string> {
  const file = join(program.dataDir, "first-sign-up");
  return await until(`the link in ${file}`, async () => (await readFile(file, "utf8")).trim());
}

/** Signs up the first person, who becomes the owner of the first workspace. */
export async function signUpFirst(
  program: RunningProgram,
  email = "owner@there.test",
): Promise<{ browser: Browser; session: Session; workspace: string }> {
  const browser = openBrowser(program);
  const token = tokenIn(await firstLink(program));
  const answer = await browser.post("/auth/sign-up", { email, name: "Olga Owner", password, token });
  if (answer.status !== 200) throw new Error(`sign-up: ${JSON.stringify(answer.body)}`);
  const session = answer.body as Session;
  return { browser, session, workspace: session.workspaces[0]!.id };
}

/** Invites a new person and joins with a separate browser. */
export async function joinAs(
  owner: { browser: Browser; workspace: string },
  program: RunningProgram,
  who: { email: string; role: string },
): Promise<Browser> {
  const role = `MEMBER_ROLE_${who.role.toUpperCase()}`;
  const request = { email: who.email, role };
  const invited = await owner.browser.rpc("WorkspaceService/InviteMember", request, owner.workspace);
  if (invited.status !== 200) throw new Error(`InviteMember: ${JSON.stringify(invited.body)}`);
  const browser = openBrowser(program);
  const token = tokenIn(invited.body.inviteUrl as string);
  const joined = await browser.post("/auth/sign-up", { token, name: who.email.split("@")[0], password });
  if (joined.status !== 200) throw new Error(`joining: ${JSON.stringify(joined.body)}`);
  return browser;
}

export function tokenIn(text: string): string {
  const found = /#token=([\w-]{43})/.exec(text)?.[1];
  if (!found) throw new Error(`no link in ${text}`);
  return found;
}

/** Waits for a captured mail to an address with a subject, and returns its text. */
export async function capturedMail(program: RunningProgram, to: string, subject: RegExp): Promise<string> {
  return await until(`a mail to ${to} with the subject ${subject}`, async () => {
    const folder = join(program.dataDir, "mailbox", "new");
    for (const name of await readdir(folder)) {
      const mail = await PostalMime.parse(await readFile(join(folder, name)));
      if (mail.to?.some(({ address }) => address === to) && subject.test(mail.subject ?? "")) return mail.text;
    }
    return undefined;
  });
}
