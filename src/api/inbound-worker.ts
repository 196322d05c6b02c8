/** Opens one large stored message in a thread of its own, and ends. Started by inbound-open.ts. */
import { parentPort, workerData } from "node:worker_threads";
import { openStored } from "./inbound-open.ts";

const { raw, attachmentId } = workerData as { raw: Uint8Array; attachmentId: string | undefined };
parentPort!.postMessage(await openStored(raw, attachmentId));
