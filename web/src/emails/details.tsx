/** The details of an email next to its timeline: addresses, times, metadata, files, and the ids last. */
import { Link } from "@tanstack/react-router";
import type { Email } from "../../../src/gen/v1/email_pb.ts";
import { Copyable } from "../parts/copy-button.tsx";
import { AnchorLink } from "../parts/links.tsx";
import { Fact, Section } from "../parts/page.tsx";
import { Time } from "../parts/time.tsx";
import { formatSize } from "./attachments.tsx";
import { useKeys } from "./key-names.ts";
import { isOpen } from "./outcomes.ts";

export function EmailDetails({ email }: { email: Email }) {
  const key = useKeys(email.keyId !== "")?.find(({ id }) => id === email.keyId);
  const metadata = Object.entries(email.metadata);
  return (
    <Section title="Details">
      <dl className="facts one-column">
        <Fact name="To">{email.to.join(", ")}</Fact>
        <Fact name="Cc">{email.cc.join(", ")}</Fact>
        <Fact name="Bcc">{email.bcc.join(", ")}</Fact>
        <Fact name="From">{email.from}</Fact>
        <Fact name="Accepted">{email.createdAt && <Time at={email.createdAt} long />}</Fact>
        <Fact name="Scheduled for">{email.scheduledAt && <Time at={email.scheduledAt} long />}</Fact>
        <Fact name="Retries end">{isOpen(email.status) && email.expiresAt && <Time at={email.expiresAt} long />}</Fact>
        <Fact name="Topic">{email.unsubscribeTopic}</Fact>
        <Fact name="API key">
          {key && (
            <AnchorLink to="/emails" search={{ sender: key.id }} title="All emails that this key sent">
              {key.name}
            </AnchorLink>
          )}
        </Fact>
        <Fact name="Metadata">
          {metadata.length > 0 && (
            <span className="chips">
              {metadata.map(([name, value]) => (
                <Link
                  key={name}
                  to="/emails"
                  search={{ key: name, value }}
                  className="chip wrap"
                  title="All emails with this value"
                >
                  {name}: {value}
                </Link>
              ))}
            </span>
          )}
        </Fact>
        <Fact name="Attachments">
          {email.attachments.length > 0 &&
            email.attachments.map(({ filename, sizeBytes, contentId }) => (
              <div key={`${filename} ${contentId}`} className="wrap">
                {filename} <span className="faint">{formatSize(sizeBytes)}</span>
              </div>
            ))}
        </Fact>
        <Fact name="Size">{formatSize(email.sizeBytes)}</Fact>
        <Fact name="Replies">
          <AnchorLink to="/inbound" search={{ parent: email.id }}>
            Show replies to this email
          </AnchorLink>
        </Fact>
        <Fact name="Email id">
          <Copyable value={email.id} name="the email id" />
        </Fact>
        <Fact name="Message-ID">
          <Copyable value={email.messageId} name="the Message-ID" />
        </Fact>
      </dl>
    </Section>
  );
}
