/** The receiving side of a bench, in a process of its own. */
import { startSink } from "../../test/harness/sink.ts";

const sink = await startSink({ record: false });
process.send!(sink.port);
process.on("disconnect", () => process.exit(0));
