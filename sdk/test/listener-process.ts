/** A process that listens with a cursor file and prints the id of each event that it has handled. listen.test.ts starts and kills it. */
import { writeSync } from "node:fs";
import { Posthorn } from "../src/index.ts";
import { fileCursorStore } from "../src/node.ts";

await new Posthorn().events.listen({
  store: fileCursorStore(process.argv[2]!),
  onEvent: ({ id }) => void writeSync(1, `${id}\n`),
  onError: () => {},
});
