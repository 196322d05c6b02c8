/** The message for the recipients of one attempt: read, composed and signed when it is first needed, and dropped when the receiver does
 * not need it yet or any longer. An attempt creates one per form of the message. */
import { toOutgoing } from "../emails/outgoing.ts";
import type { ContentKey } from "../emails/store/content.ts";
import type { Turns } from "../shares/turns.ts";
import type { DataSource } from "../smtp/client/envelope.ts";
import type { Composer } from "./compose/pool.ts";
import type { Memory, Reservation } from "./memory.ts";
import type { createSigning, Signer } from "./signing.ts";
import type { LeasedEmail } from "./store/lease.ts";

export type MessageSourceDeps = {
  contentOf(key: ContentKey): Promise<string[] | undefined>;
  signing: ReturnType<typeof createSigning>;
  composer: Composer;
  memory: Memory;
  /** Shares composing and signing between workspaces. */
  turns: Turns;
};

export type MessageRequest = { email: LeasedEmail; destination: string; smtputf8: boolean; signal: AbortSignal };

export type MessageSource = DataSource & {
  /** The DKIM key, and the domain of the return path. */
  signer(): Promise<Signer>;
  /** Frees the memory of the message. A later `load` composes it again. */
  drop(): void;
};

/** The message cannot be composed, now or later. */
export class Undeliverable extends Error {
  override readonly name = "Undeliverable";
  readonly category: string;
  constructor(category: string, reason: string) {
    super(reason);
    this.category = category;
  }
}

export function createMessageSource(deps: MessageSourceDeps, request: MessageRequest): MessageSource {
  const { email, destination, smtputf8, signal } = request;
  let loading: Promise<Buffer> | undefined;
  let composed: { raw: Buffer; memory: Reservation } | undefined;

  async function signer(): Promise<Signer> {
    const found = await deps.signing.signerOf(email.workspaceId, email.domainId);
    if (!found) throw new Undeliverable("no_dkim_key", noKeyReason(email));
    return found;
  }

  async function load(): Promise<Buffer> {
    const { id: emailId, workspaceId, sizeBytes, contentDay: day } = email;
    const memory = await deps.memory.reserve({ sizeBytes, destination, workspaceId }, signal);
    try {
      const [parts, key] = await Promise.all([deps.contentOf({ workspaceId, emailId, day }), signer()]);
      if (!parts) throw new Undeliverable("content_lost", contentLostReason);
      const raw = await compose(parts, key);
      memory.shrink();
      composed = { raw, memory };
      return raw;
    } catch (error) {
      memory.release();
      throw error;
    }
  }

  async function compose(parts: string[], { source }: Signer): Promise<Buffer> {
    const endTurn = await deps.turns.take(email.workspaceId, signal);
    const { raw } = await deps.composer
      .compose({ email: toOutgoing(email, parts), signer: source, smtputf8, signal })
      .finally(endTurn);
    return raw;
  }

  return {
    signer,
    get length() {
      return composed?.raw.length;
    },
    async load() {
      if (composed) return composed.raw;
      loading ??= load().finally(() => {
        loading = undefined;
      });
      return await loading;
    },
    drop() {
      composed?.memory.release();
      composed = undefined;
    },
  };
}

const contentLostReason = "The content of this email was deleted because its retention period has passed.";

function noKeyReason({ domain }: LeasedEmail): string {
  return `${domain} no longer has a DKIM key, so the email cannot be signed. Check the domain and send the email again.`;
}
