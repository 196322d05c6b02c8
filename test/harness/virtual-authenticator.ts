/** Chromium's virtual authenticator: passkeys in a real browser without a device (the DevTools protocol's WebAuthn domain). */
import type { CDPSession, Page } from "playwright-core";

export type VirtualAuthenticator = {
  /** Whether the device recognizes its user. */
  setVerified(isVerified: boolean): Promise<void>;
  credentials(): Promise<{ credentialId: string; rpId?: string; signCount: number }[]>;
};

export async function addAuthenticator(page: Page): Promise<VirtualAuthenticator> {
  const cdp: CDPSession = await page.context().newCDPSession(page);
  await cdp.send("WebAuthn.enable");
  const { authenticatorId } = await cdp.send("WebAuthn.addVirtualAuthenticator", {
    options: {
      protocol: "ctap2",
      transport: "internal",
      hasResidentKey: true,
      hasUserVerification: true,
      isUserVerified: true,
      automaticPresenceSimulation: true,
    },
  });
  return {
    setVerified: async (isUserVerified) =>
      void (await cdp.send("WebAuthn.setUserVerified", { authenticatorId, isUserVerified })),
    credentials: async () => (await cdp.send("WebAuthn.getCredentials", { authenticatorId })).credentials,
  };
}
