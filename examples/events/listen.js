// Follows what becomes of emails. After a restart it resumes after the last event that it handled.
import { Posthorn } from "posthorn";
import { fileCursorStore } from "posthorn/node";

const posthorn = new Posthorn();
const stop = new AbortController();
for (const signal of ["SIGINT", "SIGTERM"]) process.once(signal, () => stop.abort());

console.log("Waiting for events. Press Ctrl-C to stop.");
await posthorn.events.listen({
  store: fileCursorStore(process.env.CURSOR_FILE ?? "events.cursor"),
  signal: stop.signal,
  onDelivered: ({ emailId, delivered }) => console.log("delivered", emailId, delivered.recipients.join(", ")),
  onBounced: ({ emailId, bounced }) =>
    console.log("bounced", emailId, bounced.recipients.join(", "), bounced.smtpReply),
  onReplied: ({ replied }) => console.log("reply from", replied.from, replied.newText),
  onError: (error) => console.error(error.message),
  onLogReset: ({ lastSharedCursor }) => console.error(`The server lost events. Resuming after ${lastSharedCursor}.`),
});
console.log("Stopped.");
