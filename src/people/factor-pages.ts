/** The endpoints under /auth for the second step of a sign-in, second factors, confirmations and sessions. pages.ts checks the requests and
 * serves them. */
import { invalid } from "../ops/problem.ts";
import { fromWireId, toWireId } from "../postgres/ids.ts";
import type { Action, Reply } from "./endpoint.ts";
import type { People, SignedIn, Visitor } from "./people.ts";
import type { Passkey } from "./store/passkeys.ts";

/** Answers of GET requests. They come without a body and change nothing. */
export function factorReads(people: People): Record<string, (visitor: Visitor) => Promise<Reply>> {
  return {
    async factors(visitor) {
      const found = await people.factors.list(await people.requireSession(visitor), visitor);
      return { body: { ...found, passkeys: found.passkeys.map(passkeyOnWire) } };
    },
    async sessions(visitor) {
      const sessions = await people.sessions.list(await people.requireSession(visitor));
      return { body: { sessions: sessions.map((one) => ({ ...one, id: toWireId("session", one.id) })) } };
    },
  };
}

export function factorActions(people: People): Record<string, Action> {
  const { signInSteps, factors, confirmation, sessions } = people;
  const requireSession = people.requireSession;
  return {
    async "second-factor"(text, visitor, { credential }) {
      const { value, cookies } = await signInSteps.finish({ code: text("code"), credential }, visitor);
      return { body: sessionOnWire(value), cookies };
    },
    async "cancel-sign-in"(_text, visitor) {
      return { body: {}, cookies: (await signInSteps.cancel(visitor)).cookies };
    },
    async "passkey-sign-in"(_text, visitor, { credential }) {
      const { value, cookies } = await signInSteps.byPasskey(credential, visitor);
      return { body: sessionOnWire(value), cookies };
    },
    /** Options for navigator.credentials, for a purpose. */
    async "passkey-options"(text, visitor) {
      const purpose = text("purpose");
      if (purpose === "sign_in" || purpose === "second_factor")
        return { body: await signInSteps.passkeyOptions(purpose, visitor) };
      if (purpose !== "confirm" && purpose !== "add")
        throw invalid([{ field: "purpose", description: "must be sign_in, second_factor, confirm or add" }]);
      const live = await requireSession(visitor);
      const part = purpose === "confirm" ? confirmation : factors;
      return { body: await part.passkeyOptions(live, visitor) };
    },
    async confirm(text, visitor, { credential }) {
      const live = await requireSession(visitor);
      await confirmation.confirm({ password: text("password"), code: text("code"), credential }, live, visitor);
      return { body: {} };
    },
    async "begin-totp"(_text, visitor) {
      return { body: await factors.beginTotp(await requireSession(visitor)) };
    },
    async "confirm-totp"(text, visitor) {
      const live = await requireSession(visitor);
      return { body: { recoveryCodes: await factors.confirmTotp(text("code"), live, visitor) } };
    },
    async "remove-totp"(_text, visitor) {
      await factors.removeTotp(await requireSession(visitor), visitor);
      return { body: {} };
    },
    async "replace-recovery-codes"(_text, visitor) {
      const live = await requireSession(visitor);
      return { body: { recoveryCodes: await factors.replaceRecoveryCodes(live, visitor) } };
    },
    async "add-passkey"(text, visitor, { credential }) {
      const live = await requireSession(visitor);
      const added = await factors.addPasskey({ name: text("name"), credential }, live, visitor);
      return { body: { ...added, passkey: passkeyOnWire(added.passkey) } };
    },
    async "rename-passkey"(text, visitor) {
      const live = await requireSession(visitor);
      await factors.renamePasskey({ id: fromWireId("passkey", text("id")), name: text("name") }, live, visitor);
      return { body: {} };
    },
    async "remove-passkey"(text, visitor) {
      const live = await requireSession(visitor);
      await factors.removePasskey(fromWireId("passkey", text("id")), live, visitor);
      return { body: {} };
    },
    async "end-session"(text, visitor) {
      const live = await requireSession(visitor);
      await sessions.end(fromWireId("session", text("id")), live, visitor);
      return { body: {} };
    },
    async "end-other-sessions"(_text, visitor) {
      const live = await requireSession(visitor);
      return { body: { ended: await sessions.endOthers(live, visitor) } };
    },
  };
}

export function sessionOnWire({ person, workspaces }: SignedIn) {
  return {
    person: { ...person, id: toWireId("person", person.id) },
    workspaces: workspaces.map((workspace) => ({ ...workspace, id: toWireId("workspace", workspace.id) })),
  };
}

function passkeyOnWire({ id, name, createdAt, lastUsedAt }: Passkey) {
  return { id: toWireId("passkey", id), name, createdAt, lastUsedAt };
}
