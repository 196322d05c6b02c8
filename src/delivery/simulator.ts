/** Stands in for the world on test keys and in capture mode: the mailbox name decides, and what is delivered lies in the local mailbox. */
import type { Log } from "../ops/log.ts";
import { simulate } from "../rules/simulate.ts";
import { toWireId } from "../store/ids.ts";
import type { Leased } from "../store/lease.ts";
import type { Settlement } from "../store/settle.ts";
import type { Conversation, createJudge } from "./judge.ts";
import type { Mailbox } from "./mailbox.ts";

export type Simulator = (row: Leased, message: { raw: Buffer; returnPath: string }) => Promise<Settlement>;

const conversation: Conversation = { relay: false, remoteMx: "mailbox.posthorn.test", tls: undefined };

export function createSimulator(deps: {
  judge: ReturnType<typeof createJudge>;
  mailbox: Mailbox;
  log: Log;
}): Simulator {
  return async (row, { raw, returnPath }) => {
    const result = simulate({ address: row.address, attempt: row.attempts + 1 });
    if (result.kind === "suppressed") return deps.judge.suppress(row, { reason: "manual", sourceEvent: null });
    const settlement = deps.judge.simulated(row, result, conversation);
    if (settlement.status !== "delivered") return settlement;
    const emailId = toWireId("email", row.emailId);
    const file = await deps.mailbox.deliver({ emailId, returnPath, recipient: row.address, raw });
    deps.log.info({ event: "email.delivered", emailId, file }, "an email was captured");
    return { ...settlement, ...(result.followUp && { followUp: result.followUp }) };
  };
}
