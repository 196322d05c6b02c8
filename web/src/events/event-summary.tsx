/** What one event of a timeline says: label, description, the receiver's reply and facts. */
import type { Event } from "../../../src/gen/v1/event_pb.ts";
import { AnchorLink } from "../parts/links.tsx";
import { describe } from "./describe.ts";

export function EventSummary({ event }: { event: Event }) {
  const { label, text, reply, facts, inboundId } = describe(event);
  return (
    <>
      <p className="wrap" dir="auto">
        <strong>{label.text}</strong>
        {text && ` · ${text}`}
      </p>
      {reply !== "" && <blockquote className="reply wrap">{reply}</blockquote>}
      {inboundId && (
        <AnchorLink to="/inbound/$id" params={{ id: inboundId }}>
          Read message
        </AnchorLink>
      )}
      {facts.length > 0 && (
        <p className="wrap small faint">{facts.map(([name, value]) => `${name}: ${value}`).join(" · ")}</p>
      )}
    </>
  );
}
