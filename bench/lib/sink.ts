/** The receiving side of a bench, in a process of its own: node sink.ts [HOST PORT DELAY_MS]. With a delay, every message takes that long. */
import { startSink } from "../../test/harness/sink.ts";
import { serveCounts } from "./counted.ts";

const [host = "127.0.0.1", port = "0", delayMs = "0"] = process.argv.slice(2);
const slow = Number(delayMs);
const reply = "250 2.0.0 taken";
const sink = await startSink({
  ...{ record: false, host, port: Number(port) },
  // Byte by byte, so that the whole reply takes as long as asked for.
  script: ({ verb }) => (slow > 0 && verb === "dot" ? { reply, dripMs: slow / reply.length } : undefined),
});
serveCounts(sink.port, () => ({ taken: sink.accepted }));
