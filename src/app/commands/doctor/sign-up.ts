/** The check of posthorn doctor on sign-up: open sign-up needs mail, with which people confirm their addresses. */
import { findSenderProblem } from "../../../emails/system-mail.ts";
import { firstWorkspace } from "../../../workspaces/store.ts";
import type { Config } from "../../config.ts";
import { withStore } from "../with-store.ts";
import type { Finding } from "./finding.ts";

export async function signUpChecks(config: Config): Promise<Finding[]> {
  if (config.signup !== "open") return [];
  // Capture mode sends from its example domain by default.
  if (config.delivery === "capture" && config.systemFrom === undefined) return [];
  const problem = await withStore(config, async ({ sql }) =>
    findSenderProblem(sql, { workspaceId: await firstWorkspace(sql), from: config.systemFrom }),
  );
  if (problem === undefined)
    return [{ check: "sign-up", result: "ok", found: "open; people confirm their address by mail" }];
  return [
    {
      check: "sign-up",
      result: "warn",
      found: "POSTHORN_SIGNUP is open, but no mail can be sent to confirm addresses, so sign-up stays closed",
      fix: problem,
    },
  ];
}
