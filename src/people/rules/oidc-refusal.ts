/** Why a sign-in at a provider is refused: a constant for the audit log, the metrics and the address of the page, and the sentence that the
 * dashboard shows for it. Text of the provider is never shown. Used by oidc/ and by the dashboard. */

export const oidcSentences = {
  oidc_state: "This sign-in was started in another browser, was used already, or is older than ten minutes. Try again.",
  oidc_nonce: "The provider's answer belongs to another sign-in. Try again.",
  oidc_issuer: "The answer came from another provider than the one you chose. Try again.",
  oidc_audience: "The provider's answer is meant for another service. Ask the operator to check the client id.",
  oidc_algorithm:
    "The provider's answer is not signed with an accepted algorithm. Ask the operator to check the provider.",
  oidc_signature: "The signature of the provider's answer is wrong. Try again.",
  oidc_expired:
    "The provider's answer has expired. Try again; if it fails again, ask the operator to check the clocks.",
  oidc_answer: "The provider's answer cannot be read. Ask the operator to check the provider.",
  oidc_denied: "The sign-in was canceled at the provider. Try again, or choose another way to sign in.",
  oidc_provider: "The provider refused the sign-in. Try again, or ask the operator to check the provider.",
  oidc_unavailable: "The provider cannot be reached. Try again in a minute.",
  oidc_email_not_verified:
    "The provider does not confirm your email address, so it cannot open or create an account. Sign in in another way, then link the provider on your account page.",
  oidc_not_linked:
    "Your address has an account that is not linked with this provider. Sign in as before, then link the provider on your account page.",
  oidc_domain:
    "You have no account here, and your email domain cannot sign up. Ask an owner of a workspace for an invitation.",
  oidc_invitation: "The invitation is for another email address, or it is no longer open. Ask for a new one.",
  oidc_role: "Your groups at the provider give you no access here. Ask the person who manages them.",
  oidc_not_a_member: "You are not a member of any workspace. Ask an owner to invite you.",
  oidc_disabled: "This account is disabled. Ask the operator of this service to enable it.",
  oidc_quota: "The workspace has as many members or owners as it may have. Ask its owner or the operator.",
  oidc_first_person:
    "The first person needs an invitation of the operator, who creates it with: posthorn people invite EMAIL",
  oidc_linked_elsewhere: "This account at the provider is linked with another person here. Unlink it there first.",
  oidc_already_linked: "You have linked another account at this provider. Unlink it first.",
  oidc_session: "Your session has ended while you were at the provider. Sign in, then try again.",
  oidc_other_account:
    "You signed in at the provider with an account that is not linked with yours here. Confirm with your own account.",
  oidc_not_recent:
    "The provider did not ask you to sign in again, so it did not confirm that it is you. Sign out there, then try again.",
  oidc_auth_time:
    "The provider does not say when you signed in there, so it cannot confirm that it is you. Confirm with your password, a passkey or an authenticator app. If you have none of them, add a passkey or an app on this page within 15 minutes.",
  oidc_no_auth_time:
    "The provider did not say when you signed in there, so it did not confirm that it is you. Try again; if it fails again, ask the operator to check the setting AUTH_TIME of the provider.",
  oidc_needs_factor: "You have a second factor, which this provider does not replace. Confirm with your second factor.",
  oidc_limit: "Too many sign-ins failed from your network. Try again in a minute.",
  oidc_failed: "The sign-in failed because of an error on the server. Try again.",
} as const;

export type OidcReason = keyof typeof oidcSentences;

export const oidcReasons = Object.keys(oidcSentences) as OidcReason[];

export class OidcRefusal extends Error {
  readonly reason: OidcReason;
  /** The person whose account it was about, if known. */
  readonly personId: string | undefined;
  constructor(reason: OidcReason, extra: { cause?: unknown; personId?: string } = {}) {
    super(oidcSentences[reason], { cause: extra.cause });
    this.name = "OidcRefusal";
    this.reason = reason;
    this.personId = extra.personId;
  }
}
