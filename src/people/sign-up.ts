/** Sign-up: by the link of the first person, by an invitation, by a link in a mail, or with a form, depending on POSTHORN_SIGNUP.
 * Called by people.ts. */
import type { SystemMail } from "../emails/system-mail.ts";
import { makeToken } from "../ops/one-time-token.ts";
import { invalid, Problem, type Violation } from "../ops/problem.ts";
import type { Sql } from "../postgres/pool.ts";
import type { Secrets } from "../postgres/sealing.ts";
import { invalidEmail, judgeName, readEmail } from "../workspaces/rules.ts";
import { findInvite } from "../workspaces/store.ts";
import { createAttemptLimit } from "./limits.ts";
import { accountExistsMail, isFirstToken, linkLifetimeMs, linkTo, looksLikeToken, signUpMail } from "./links.ts";
import { type Hasher, judgePassword } from "./password.ts";
import {
  addFirstPerson,
  addLink,
  addPerson,
  addPersonByInvite,
  addPersonByLink,
  findLink,
  findPerson,
  hasPeople,
  type Person,
} from "./store.ts";

export type SignUpMode = "first" | "open" | "closed";
/** How a person without a link can sign up now. */
export type SignUpBy = "form" | "mail" | "link" | "closed";

export type SignUpInput = { email: string; name: string; password: string; token: string };

export type SignUpDeps = {
  sql: Sql;
  secrets: Pick<Secrets, "mac">;
  mode: SignUpMode;
  mail: SystemMail;
  hasher: Hasher;
  base(): string;
  nowMs(): number;
  /** Runs work that the answer does not wait for. Shutdown waits for it. */
  runInBackground(work: Promise<void>): void;
  /** Called after a person was added, which makes the first person's link invalid. */
  onPerson(): Promise<void>;
};

export function createSignUp(deps: SignUpDeps) {
  const { sql } = deps;
  const byAddress = createAttemptLimit({ burst: 50, periodMs: 20_000 });
  const byMailbox = createAttemptLimit({ burst: 3, periodMs: 600_000 });

  async function signUpOptions(): Promise<{ by: SignUpBy; first: boolean }> {
    const first = !(await hasPeople(sql));
    if (deps.mode === "closed") return { by: "closed", first };
    // On loopback too: every user of the machine and every page in its browsers can reach loopback.
    if (first) return { by: "link", first };
    if (deps.mode === "first") return { by: "closed", first };
    return { by: (await deps.mail.canSend()) ? "mail" : "form", first };
  }

  /** The new person, or undefined when a link was sent by mail instead. */
  async function signUp(input: SignUpInput, client: { address: string }): Promise<Person | undefined> {
    byAddress.check(client.address, performance.now());
    byAddress.take(client.address, performance.now());
    if (input.token !== "") return await notifyAdded(addByToken(input));
    const { by } = await signUpOptions();
    if (by === "closed" || by === "link") throw signUpRefused(by);
    const email = readEmail(input.email);
    if (by === "mail") {
      if (!email) throw invalid([invalidEmail]);
      deps.runInBackground(sendSignUpMail(email));
      return undefined;
    }
    const problems = judge(input);
    if (!email) problems.unshift(invalidEmail);
    if (!email || problems.length > 0) throw invalid(problems);
    return await notifyAdded(
      prepare(input).then(async (person) => requireAdded(await addPerson(sql, { ...person, email }))),
    );
  }

  async function notifyAdded(adding: Promise<Person>): Promise<Person> {
    const person = await adding;
    await deps.onPerson();
    return person;
  }

  async function addByToken(input: SignUpInput): Promise<Person> {
    const problems = judge(input);
    if (!looksLikeToken(input.token)) throw invalidLink();
    if (isFirstToken(deps.secrets, input.token)) {
      if (deps.mode === "closed" || (await hasPeople(sql))) throw invalidLink();
      const email = readEmail(input.email);
      if (!email) problems.unshift(invalidEmail);
      if (!email || problems.length > 0) throw invalid(problems);
      return await addFirst(email, input);
    }
    const invitation = await findInvite(sql, input.token);
    if (!invitation && (await findLink(sql, input.token))?.kind !== "sign_up") throw invalidLink();
    if (problems.length > 0) throw invalid(problems);
    const person = await prepare(input);
    return requireAdded(
      invitation
        ? await addPersonByInvite(sql, person, { token: input.token, email: invitation.email })
        : await addPersonByLink(sql, person, input.token),
    );
  }

  async function addFirst(email: string, input: SignUpInput): Promise<Person> {
    const person = await addFirstPerson(sql, { ...(await prepare(input)), email });
    if (!person) throw signUpRefused("closed");
    return person;
  }

  async function prepare({ name, password }: SignUpInput) {
    return { name: name.trim(), passwordHash: await deps.hasher.hash(password), nowMs: deps.nowMs() };
  }

  /** Runs in the background, so that the answer and its timing do not reveal whether the address has an account. */
  async function sendSignUpMail(email: string): Promise<void> {
    try {
      byMailbox.check(email, performance.now());
    } catch {
      return;
    }
    byMailbox.take(email, performance.now());
    if (await findPerson(sql, email)) return await deps.mail.send({ to: email, ...accountExistsMail(deps.base()) });
    const token = makeToken();
    await addLink(sql, { token, kind: "sign_up", email, forMs: linkLifetimeMs.sign_up });
    await deps.mail.send({ to: email, ...signUpMail(linkTo(deps.base(), "sign_up", token)) });
  }

  return { signUpOptions, signUp };
}

function judge({ name, password }: SignUpInput): Violation[] {
  return [...judgeName(name.trim()), ...judgePassword(password, "password")];
}

function requireAdded(person: Person | "no link" | "has account" | undefined): Person {
  if (person === "no link") throw invalidLink();
  if (person === undefined || person === "has account")
    throw new Problem("already_exists", "This address already has an account. Sign in, or request a new password.");
  return person;
}

export function invalidLink(): Problem {
  return new Problem("not_found", "This link is unknown, already used or expired. Request a new one.");
}

function signUpRefused(by: "closed" | "link"): Problem {
  return new Problem("permission_denied", signUpHelp[by]);
}

/** What the dashboard shows for each option, and the message of a refused sign-up. */
export const signUpHelp: Record<SignUpBy, string> = {
  form: "Sign up with your address, your name and a password.",
  mail: "Sign up with your address. You get a link by mail to continue.",
  link: "The first person signs up with a one-time link. It is in the file first-sign-up in the server's data directory, and posthorn people first-link prints it. Open it in this browser.",
  closed: "Sign-up is closed. Ask an owner of a workspace for an invitation.",
};
