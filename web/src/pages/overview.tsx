/** The first page: the guide for an empty workspace; afterwards mail over time, the newest emails, the domains, and whether the instance is ready. */
import { SimpleGrid, Stack, Text } from "@mantine/core";
import { EmailRow } from "../emails/email-row.tsx";
import { CallExample } from "../overview/call-example.tsx";
import { DomainsCard } from "../overview/domains-card.tsx";
import { Guide, useGuide } from "../overview/guide.tsx";
import { StatsCard } from "../overview/stats-card.tsx";
import { AnchorLink } from "../parts/links.tsx";
import { Page } from "../parts/page.tsx";
import { ProblemAlert } from "../parts/problem-alert.tsx";
import { Section } from "../parts/section.tsx";
import { Loading } from "../parts/states.tsx";
import { ReadinessCard } from "../shell/readiness-card.tsx";

export function OverviewPage() {
  const { emails, sentId, setSentId, isGuided } = useGuide();
  return (
    <Page title="Overview">
      {isGuided ? <Guide sentId={sentId} onSent={setSentId} /> : <StatsCard />}
      {!isGuided && <Newest emails={emails} />}
      <SimpleGrid cols={{ base: 1, md: 2 }} spacing="lg">
        {!isGuided && <DomainsCard />}
        <ReadinessCard />
      </SimpleGrid>
      {!isGuided && <CallExample domain={emails.data?.data[0]?.domain ?? "example.com"} />}
    </Page>
  );
}

function Newest({ emails }: { emails: ReturnType<typeof useGuide>["emails"] }) {
  return (
    <Section title="Newest emails">
      {emails.isPending ? (
        <Loading what="the newest emails" rows={5} height={56} />
      ) : emails.data?.data.length === 0 ? (
        <Text c="dimmed">No email has been sent yet.</Text>
      ) : emails.data ? (
        <Stack gap="sm">
          <Stack component="ul" gap={0} className="list framed" aria-label="Newest emails">
            {emails.data.data.map((email) => (
              <li key={email.id}>
                <EmailRow email={email} />
              </li>
            ))}
          </Stack>
          <AnchorLink to="/emails" size="sm">
            All emails
          </AnchorLink>
        </Stack>
      ) : (
        <ProblemAlert error={emails.error} onRetry={() => void emails.refetch()} />
      )}
    </Section>
  );
}
