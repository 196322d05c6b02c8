/** The page of one email: its status, its recipients with their events, and its content. */
import { Alert, Badge, Text } from "@mantine/core";
import { getRouteApi } from "@tanstack/react-router";
import type { Email } from "../../../src/gen/v1/email_pb.ts";
import { Copyable } from "../parts/copy-button.tsx";
import { StatusBadge } from "../parts/icons.tsx";
import { AnchorLink } from "../parts/links.tsx";
import { Back, Fact, Facts, Page, Section } from "../parts/page.tsx";
import { Loading, ProblemAlert } from "../parts/states.tsx";
import { Time } from "../parts/time.tsx";
import { WriteOnly } from "../shell/write-only.tsx";
import { formatSize } from "./attachments.tsx";
import { CancelEmail } from "./cancel-email.tsx";
import { EmailContent } from "./content.tsx";
import { emailLabel, isOpen } from "./labels.ts";
import { useEmail } from "./queries.ts";
import { Recipients } from "./recipients.tsx";
import { ResendEmail } from "./resend-email.tsx";

const route = getRouteApi("/emails/$id");
const back = <Back to="/emails">Emails</Back>;

export function EmailPage() {
  const { id } = route.useParams();
  const query = useEmail(id);
  const email = query.data?.email;
  // The key remounts the page for another email, so that no state of the previous one stays.
  if (email) return <EmailDetails key={id} email={email} />;
  return (
    <Page title="Email" back={back}>
      {query.isPending ? (
        <Loading what="the email" rows={3} height={180} />
      ) : (
        <ProblemAlert error={query.error} onRetry={() => void query.refetch()} />
      )}
    </Page>
  );
}

function EmailDetails({ email }: { email: Email }) {
  return (
    <Page
      title={email.subject || "(no subject)"}
      badge={
        <>
          <StatusBadge of={emailLabel(email.status)} />
          {email.test && (
            <Badge variant="light" color="grape">
              Test
            </Badge>
          )}
        </>
      }
      back={back}
      actions={
        <WriteOnly>
          {isOpen(email.status) && <CancelEmail email={email} />}
          <ResendEmail email={email} />
        </WriteOnly>
      }
    >
      {email.statusMessage !== "" && (
        <Alert color={emailLabel(email.status).color} className="wrap">
          {email.statusMessage}
        </Alert>
      )}
      <EmailFacts email={email} />
      <Recipients email={email} />
      <EmailContent email={email} />
      <Text size="sm">
        <AnchorLink to="/inbound" search={{ parent: email.id }}>
          Show replies to this email
        </AnchorLink>
      </Text>
    </Page>
  );
}

function EmailFacts({ email }: { email: Email }) {
  const metadata = Object.entries(email.metadata);
  return (
    <Section title="Details">
      <Facts>
        <Fact name="From">{email.from}</Fact>
        <Fact name="To">{email.to.join(", ")}</Fact>
        <Fact name="Cc">{email.cc.join(", ")}</Fact>
        <Fact name="Bcc">{email.bcc.join(", ")}</Fact>
        <Fact name="Accepted">{email.createdAt && <Time at={email.createdAt} long />}</Fact>
        <Fact name="Scheduled for">{email.scheduledAt && <Time at={email.scheduledAt} long />}</Fact>
        <Fact name="Retries end">{isOpen(email.status) && email.expiresAt && <Time at={email.expiresAt} long />}</Fact>
        <Fact name="Size">{formatSize(email.sizeBytes)}</Fact>
        <Fact name="Email id">
          <Copyable value={email.id} name="the email id" />
        </Fact>
        <Fact name="Message-ID">
          <Copyable value={email.messageId} name="the Message-ID" />
        </Fact>
      </Facts>
      {metadata.length > 0 && (
        <>
          <Text fw={600}>Metadata</Text>
          <Facts>
            {metadata.map(([key, value]) => (
              <Fact key={key} name={key}>
                {value}
              </Fact>
            ))}
          </Facts>
        </>
      )}
    </Section>
  );
}
