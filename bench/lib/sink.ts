/** An SMTP sink in its own process: node sink.ts [HOST PORT DELAY_MS]. With a delay, each message takes that long. */
import { startSink } from "../../test/harness/sink.ts";
import { serveCounts } from "./counting-process.ts";

const [host = "127.0.0.1", port = "0", delayMs = "0"] = process.argv.slice(2);
const slow = Number(delayMs);
const reply = "250 2.0.0 ok";
const sink = await startSink({
  record: false,
  host,
  port: Number(port),
  // Send the reply byte by byte, so that it takes as long as requested.
  script: ({ verb }) => (slow > 0 && verb === "dot" ? { reply, dripMs: slow / reply.length } : undefined),
});
serveCounts(sink.port, () => ({ received: sink.accepted }));
