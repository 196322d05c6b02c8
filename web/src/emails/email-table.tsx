/** The table of the log. Only the rows near the window exist in the page, so that it stays fast with 10,000 of them. */
import { useMediaQuery } from "@mantine/hooks";
import { Link } from "@tanstack/react-router";
import { useWindowVirtualizer } from "@tanstack/react-virtual";
import { memo, useCallback, useLayoutEffect, useRef, useState } from "react";
import type { Email } from "../../../src/gen/v1/email_pb.ts";
import { Mark } from "../parts/outcome.tsx";
import { LogTime } from "../parts/time.tsx";
import { outcomeLabel } from "./outcomes.ts";
import "./log.css";

/** The heights of .log-row in log.css, for a wide and for a narrow window. */
const rowHeight = 40;
const narrowRowHeight = 62;
const narrow = "(max-width: 62em)";
/** The next page is loaded when so many rows remain, so that scrolling does not stop at its end. */
const rowsAhead = 40;

export function EmailTable(props: { emails: readonly Email[]; onEnd(): void; isBusy: boolean }) {
  const { emails, onEnd, isBusy } = props;
  const frame = useRef<HTMLUListElement>(null);
  const [top, setTop] = useState(0);
  useLayoutEffect(() => setTop((frame.current?.getBoundingClientRect().top ?? 0) + window.scrollY), []);
  const height = useMediaQuery(narrow, undefined, { getInitialValueInEffect: false }) ? narrowRowHeight : rowHeight;
  const rows = useWindowVirtualizer({
    count: emails.length,
    // New functions make the virtualizer compute all rows again, hence useCallback.
    estimateSize: useCallback(() => height, [height]),
    getItemKey: useCallback((n: number) => emails[n]!.id, [emails]),
    overscan: 12,
    scrollMargin: top,
  });
  useLayoutEffect(() => {
    if (height > 0) rows.measure();
  }, [rows, height]);
  const items = rows.getVirtualItems();
  const last = items.at(-1)?.index ?? 0;
  useLayoutEffect(() => {
    if (last >= emails.length - rowsAhead) onEnd();
  }, [last, emails.length, onEnd]);
  return (
    <div className="card log" aria-busy={isBusy || undefined}>
      <div className="log-head" aria-hidden="true">
        {["Outcome", "Recipient", "Subject", "From", "Time"].map((name) => (
          <span key={name}>{name}</span>
        ))}
      </div>
      <ul
        className="list"
        aria-label="Emails, newest first"
        ref={frame}
        style={{ height: rows.getTotalSize(), position: "relative" }}
      >
        {items.map(({ key, index, start }) => (
          <li
            key={key}
            className="log-slot"
            aria-setsize={emails.length}
            aria-posinset={index + 1}
            style={{ transform: `translateY(${start - top}px)` }}
          >
            <EmailRow email={emails[index]!} />
          </li>
        ))}
      </ul>
    </div>
  );
}

/** Scrolling renders the table many times a second, and a row only when it comes into view. */
export const EmailRow = memo(function EmailRow({ email }: { email: Email }) {
  const { text, tone, meaning } = outcomeLabel(email.outcome);
  const others = email.to.length + email.cc.length + email.bcc.length - 1;
  const to = email.to[0] ?? email.cc[0] ?? email.bcc[0] ?? "";
  return (
    <Link to="/emails/$id" params={{ id: email.id }} className="log-row">
      <span className="log-outcome">
        <Mark tone={tone} title={meaning}>
          {text}
        </Mark>
        {email.replied && (
          <Mark tone="replied" title="A reply to this email arrived.">
            Replied
          </Mark>
        )}
      </span>
      <span className="log-to cut">
        {to}
        {others > 0 && <span className="faint"> and {others} more</span>}
      </span>
      <span className="log-subject cut" dir="auto">
        {email.test && <span className="faint">Test · </span>}
        {email.subject || "(no subject)"}
      </span>
      <span className="log-from cut faint">{email.from}</span>
      <span className="log-time faint num">{email.createdAt && <LogTime at={email.createdAt} />}</span>
    </Link>
  );
});
