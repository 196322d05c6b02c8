/** The endpoints of single sign-on under /auth. people/pages.ts serves them with its own checks. */
import type { Action, Redirect } from "../endpoint.ts";
import type { Oidc } from "./flow.ts";
import type { createMethods } from "./methods.ts";

export function oidcActions(oidc: Oidc, methods: ReturnType<typeof createMethods>): Record<string, Action> {
  return {
    async "oidc/start"(text, visitor) {
      const input = {
        provider: text("provider"),
        purpose: purposeFrom(text("purpose")),
        returnPath: text("return"),
        invitation: text("invitation"),
      };
      const { url, cookies } = await oidc.start(input, visitor);
      return { body: { url }, cookies };
    },
    async "sign-in-methods"(_text, visitor) {
      return { body: await methods.list(visitor) };
    },
    async "oidc/unlink"(text, visitor) {
      return { body: await methods.unlink(text("id"), visitor) };
    },
  };
}

function purposeFrom(text: string): "sign_in" | "link" | "confirm" {
  return text === "link" || text === "confirm" ? text : "sign_in";
}

export function oidcRedirects(oidc: Oidc): Record<string, Redirect> {
  return { "oidc/callback": (query, visitor) => oidc.callback(query, visitor) };
}
