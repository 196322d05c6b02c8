/** Who may submit: the user name is always `posthorn`, the password is an API key that may send. Wrong logins are answered slowly, and after some of
 * them not checked for a while, by client and by key. A key that has logged in before is always checked: clients behind one address may be strangers
 * to each other. Used by policy.ts. */
import { createHash } from "node:crypto";
import { setTimeout as delay } from "node:timers/promises";
import type { Caller } from "../http/caller.ts";
import type { Authenticator } from "../http/gate.ts";
import { Problem } from "../ops/problem.ts";
import { createGuard } from "../shares/guessing.ts";
import type { Login } from "../smtp/server/auth.ts";
import type { RemoteClient } from "../smtp/server/policy.ts";
import { loginRefused } from "./replies.ts";

export type Logins = {
  /** The caller, or the reply that refuses the login. */
  logIn(login: Login, client: RemoteClient): Promise<Caller | { reply: string }>;
  /** The caller of a session that has logged in. Throws a Problem if its key may not send any more. */
  check(login: Login, client: RemoteClient): Promise<Caller>;
};

export type LoginDeps = {
  authenticator: Pick<Authenticator, "authenticate">;
  /** A test shortens it. */
  refusalMs?: number;
  onRefused?(): void;
};

const userName = "posthorn";
/** A client that tries many passwords waits for each answer. */
const defaultRefusalMs = 1000;
/** The public beginning of a key: attempts at one key count together, whatever their other characters are. */
const keyCharacters = 12;
const maxProved = 20_000;

export function createLogins({ authenticator, refusalMs = defaultRefusalMs, onRefused }: LoginDeps): Logins {
  const guard = createGuard({ burst: 60, periodMs: 20_000 }, "submission");
  /** Digests of the passwords that have logged in. */
  const proved = new Set<string>();

  function prove(digest: string): void {
    if (proved.size >= maxProved) proved.clear();
    proved.add(digest);
  }

  async function check({ password }: Login, { ip }: RemoteClient): Promise<Caller> {
    const caller = await authenticator.authenticate(`Bearer ${password}`, () => ip);
    if (!maySend(caller))
      throw new Problem(
        "permission_denied",
        "This API key may not send email: use one with the permission send or full.",
      );
    return caller;
  }

  return {
    check,
    async logIn(login, client) {
      const attempt = { account: login.password.slice(0, keyCharacters), address: client.ip };
      const digest = createHash("sha256").update(login.password).digest("base64");
      try {
        if (!proved.has(digest)) guard.check(attempt, performance.now());
      } catch (error) {
        onRefused?.();
        return { reply: `454 4.7.0 ${(error as Problem).message}` };
      }
      try {
        if (login.user.toLowerCase() !== userName) throw new Problem("unauthenticated", "wrong user name");
        const caller = await check(login, client);
        prove(digest);
        return caller;
      } catch (error) {
        if (!(error instanceof Problem) || !refusals.has(error.code)) throw error;
        onRefused?.();
        proved.delete(digest);
        // Only now: a program may open many sessions at once with the right key.
        guard.take(attempt, performance.now());
        await delay(refusalMs);
        return { reply: loginRefused };
      }
    },
  };
}

const refusals = new Set(["unauthenticated", "permission_denied"]);

function maySend({ permission, limits }: Caller): boolean {
  if (permission === "scoped") return limits?.scopes?.includes("send") ?? false;
  return permission === "full" || permission === "send";
}
