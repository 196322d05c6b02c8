/** One email: its state, what happened to each recipient, and its content. */
import { Alert, Badge, Text } from "@mantine/core";
import { getRouteApi } from "@tanstack/react-router";
import type { Email } from "../../../src/gen/v1/email_pb.ts";
import { CancelEmail } from "../emails/cancel-email.tsx";
import { EmailContent } from "../emails/content.tsx";
import { useEmail } from "../emails/queries.ts";
import { Recipients } from "../emails/recipients.tsx";
import { ResendEmail } from "../emails/resend-email.tsx";
import { emailWord, isOpen } from "../emails/words.ts";
import { Back } from "../parts/back.tsx";
import { Copyable } from "../parts/copy-button.tsx";
import { Fact, Facts } from "../parts/facts.tsx";
import { AnchorLink } from "../parts/links.tsx";
import { Mark } from "../parts/mark.tsx";
import { Page } from "../parts/page.tsx";
import { ProblemAlert } from "../parts/problem-alert.tsx";
import { Section } from "../parts/section.tsx";
import { saySize } from "../parts/size.ts";
import { Loading } from "../parts/states.tsx";
import { Time } from "../parts/time.tsx";
import { WriteOnly } from "../shell/write-only.tsx";

const route = getRouteApi("/emails/$id");
const back = <Back to="/emails">Emails</Back>;

export function EmailPage() {
  const { id } = route.useParams();
  const query = useEmail(id);
  const email = query.data?.email;
  // A page of its own for each: nothing of one email may stay while another loads.
  if (email) return <Shown key={id} email={email} />;
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

function Shown({ email }: { email: Email }) {
  return (
    <Page
      title={email.subject || "(no subject)"}
      mark={
        <>
          <Mark of={emailWord(email.status)} />
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
        <Alert color={emailWord(email.status).color} className="wrap">
          {email.statusMessage}
        </Alert>
      )}
      <About email={email} />
      <Recipients email={email} />
      <EmailContent email={email} />
      <Text size="sm">
        <AnchorLink to="/inbound" search={{ parent: email.id }}>
          Answers to this email
        </AnchorLink>
      </Text>
    </Page>
  );
}

function About({ email }: { email: Email }) {
  const metadata = Object.entries(email.metadata);
  return (
    <Section title="About">
      <Facts>
        <Fact name="From">{email.from}</Fact>
        <Fact name="To">{email.to.join(", ")}</Fact>
        <Fact name="Copy to">{email.cc.join(", ")}</Fact>
        <Fact name="Blind copy to">{email.bcc.join(", ")}</Fact>
        <Fact name="Accepted">{email.createdAt && <Time at={email.createdAt} long />}</Fact>
        <Fact name="Scheduled for">{email.scheduledAt && <Time at={email.scheduledAt} long />}</Fact>
        <Fact name="Retries end">{isOpen(email.status) && email.expiresAt && <Time at={email.expiresAt} long />}</Fact>
        <Fact name="Size">{saySize(email.sizeBytes)}</Fact>
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
