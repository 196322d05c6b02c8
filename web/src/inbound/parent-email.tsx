/** The email that an inbound message replies to, with the other replies to it. */
import { useQuery } from "@connectrpc/connect-query";
import { Stack, Text } from "@mantine/core";
import { EmailService } from "../../../src/gen/v1/email_pb.ts";
import { InboundService } from "../../../src/gen/v1/inbound_pb.ts";
import { outcomeLabel } from "../emails/outcomes.ts";
import { useEmail } from "../emails/queries.ts";
import { HtmlPreview } from "../parts/html-preview.tsx";
import { AnchorLink, ButtonLink } from "../parts/links.tsx";
import { Mark } from "../parts/outcome.tsx";
import { Fact, Facts, Section, TextBlock } from "../parts/page.tsx";
import { Loading, ProblemAlert } from "../parts/states.tsx";
import { Time } from "../parts/time.tsx";

export function ParentEmail({ id, exceptId }: { id: string; exceptId: string }) {
  const query = useEmail(id);
  const email = query.data?.email;
  if (!email)
    return (
      <Section title="Original email">
        {query.isPending ? (
          <Loading what="the email" rows={2} height={120} />
        ) : (
          <ProblemAlert error={query.error} onRetry={() => void query.refetch()} />
        )}
      </Section>
    );
  const outcome = outcomeLabel(email.outcome);
  return (
    <Stack gap="lg" miw={0}>
      <Section
        title="Original email"
        badge={<Mark tone={outcome.tone}>{outcome.text}</Mark>}
        actions={
          <ButtonLink to="/emails/$id" params={{ id: email.id }} variant="default" size="xs">
            Open email
          </ButtonLink>
        }
      >
        <Facts>
          <Fact name="Subject">{email.subject || "(no subject)"}</Fact>
          <Fact name="From">{email.from}</Fact>
          <Fact name="To">{email.to.join(", ")}</Fact>
          <Fact name="Accepted">{email.createdAt && <Time at={email.createdAt} long />}</Fact>
        </Facts>
        {email.hasContent && <Content id={id} />}
      </Section>
      <OtherReplies parentId={id} exceptId={exceptId} />
    </Stack>
  );
}

function Content({ id }: { id: string }) {
  const query = useQuery(EmailService.method.getEmailContent, { id }, { staleTime: Number.POSITIVE_INFINITY });
  if (query.isPending) return <Loading what="the content" rows={1} height={160} />;
  if (!query.data) return <ProblemAlert error={query.error} onRetry={() => void query.refetch()} />;
  const { body, html } = query.data;
  if (body !== "") return <TextBlock text={body} label="Text of the email" />;
  return html === "" ? <Text c="dimmed">The email had no text.</Text> : <HtmlPreview html={html} title="The email" />;
}

function OtherReplies({ parentId, exceptId }: { parentId: string; exceptId: string }) {
  const query = useQuery(InboundService.method.listInbound, { parentEmailId: parentId, pageSize: 20 });
  const others = query.data?.data.filter(({ id }) => id !== exceptId) ?? [];
  if (others.length === 0) return null;
  return (
    <Section title="Other replies">
      <Stack component="ul" className="list" gap="xs">
        {others.map((one) => (
          <li key={one.id}>
            <AnchorLink to="/inbound/$id" params={{ id: one.id }} className="wrap">
              {one.from}: {one.subject || "(no subject)"}
            </AnchorLink>{" "}
            <Text span size="sm" c="dimmed">
              {one.receivedAt && <Time at={one.receivedAt} />}
            </Text>
          </li>
        ))}
      </Stack>
    </Section>
  );
}
