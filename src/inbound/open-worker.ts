/** The entry point of a thread that opens one large stored message and exits. Started by open.ts. */
import { parentPort, workerData } from "node:worker_threads";
import { openStored } from "./open.ts";

const { raw, attachmentId } = workerData as { raw: Uint8Array; attachmentId: string | undefined };
parentPort!.postMessage(await openStored(raw, attachmentId));
