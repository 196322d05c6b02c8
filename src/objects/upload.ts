/** Uploads content for a call or a message that waits for it: within a limit, and with an error that the caller understands. Used by
 * emails/store/parts.ts and inbound/store/inbound.ts. */
import { currentCall } from "../postgres/call-scope.ts";
import type { ContentStore } from "./content-store.ts";
import type { ObjectRef } from "./store/objects.ts";
import { StoreError, storeUnavailable } from "./store-error.ts";

/** Also for a caller without a deadline. */
const uploadWithinMs = 60_000;

/** Returns a function that uploads for one caller; the limit is for all uploads together. Rejects with a Problem if the store does not serve. */
export function createUploads(contents: ContentStore, workspaceId: string): (bytes: Buffer) => Promise<ObjectRef> {
  const call = currentCall();
  const signal = AbortSignal.timeout(Math.max(1, Math.min(call?.timeLeftMs() ?? uploadWithinMs, uploadWithinMs)));
  return async (bytes) => {
    try {
      return await contents.put(workspaceId, { bytes: bytes.length, chunks: () => [bytes] }, signal);
    } catch (error) {
      call?.check();
      if (error instanceof StoreError) throw storeUnavailable(error, { write: true });
      if (!signal.aborted) throw error;
      throw storeUnavailable(new StoreError("timeout", "an upload took too long", error), { write: true });
    }
  };
}
