/** The checks of posthorn doctor on single sign-on: each provider answers, its clock agrees with this machine's, and people can still sign
 * in when passwords are off. */
import { discoverNow } from "../../../people/oidc/client.ts";
import type { ProviderSettings } from "../../../people/rules/provider.ts";
import { countPasswordOnly } from "../../../people/store/identities.ts";
import type { Config } from "../../config.ts";
import { baseUrl } from "../../config.ts";
import { withStore } from "../with-store.ts";
import type { Finding } from "./finding.ts";

const check = "sign-in";
/** Half of the difference that a sign-in tolerates. */
const maxSkewMs = 30_000;

export async function providerChecks(config: Config): Promise<Finding[]> {
  return await Promise.all(config.providers.map((provider) => checkProvider(provider, config)));
}

async function checkProvider(provider: ProviderSettings, config: Config): Promise<Finding> {
  const { name, issuer } = provider;
  let skewMs = 0;
  try {
    await discoverNow(provider, (headers) => {
      const providerMs = Date.parse(headers.get("date") ?? "");
      if (!Number.isNaN(providerMs)) skewMs = Math.abs(providerMs - Date.now());
    });
  } catch (error) {
    const setting = `POSTHORN_OIDC_${name.toUpperCase()}_ISSUER`;
    const fix = `Check ${setting}, and that this machine can open ${issuer.replace(/\/$/, "")}/.well-known/openid-configuration`;
    return { check, result: "fail", found: `${name}: ${issuer} does not answer: ${messageOf(error)}`, fix };
  }
  if (skewMs > maxSkewMs)
    return {
      check,
      result: "warn",
      found: `${name}: the clocks of the provider and of this machine differ by ${Math.round(skewMs / 1000)} seconds`,
      fix: "Synchronize the clocks of this machine and of the database with NTP; sign-ins fail beyond 60 seconds.",
    };
  const redirect = `${baseUrl(config, config.http.port)}/auth/oidc/callback`;
  return { check, result: "ok", found: `${name}: ${issuer} answers; its redirect URI is ${redirect}` };
}

/** Where passwords are off, people need a linked provider. */
export async function passwordChecks(config: Config): Promise<Finding[]> {
  if (config.passwordSignIn) return [];
  const count = await withStore(config, ({ sql }) => countPasswordOnly(sql));
  if (count === 0) return [];
  return [
    {
      check,
      result: "warn",
      found: `passwords are off, and ${count} ${count === 1 ? "person has" : "people have"} linked no provider`,
      fix: "Set POSTHORN_PASSWORD_SIGN_IN to on until they have linked one on their account pages.",
    },
  ];
}

function messageOf(error: unknown): string {
  const { message, cause } = error as Error;
  const why = (cause as Error | undefined)?.message;
  return (why ? `${message}: ${why}` : message).split("\n")[0]!.slice(0, 200);
}
