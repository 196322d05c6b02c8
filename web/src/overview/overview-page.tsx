/** The start page: the guide for an empty workspace, otherwise statistics, the newest emails, the domains and the state of the instance. */
import { SimpleGrid, Stack, Text } from "@mantine/core";
import { EmailRow } from "../emails/email-table.tsx";
import { AnchorLink } from "../parts/links.tsx";
import { Page, Section } from "../parts/page.tsx";
import { Loading, ProblemAlert } from "../parts/states.tsx";
import { ReadinessCard } from "../shell/readiness-card.tsx";
import { StatsCard } from "../stats/stats-card.tsx";
import { DomainsCard } from "./domains-card.tsx";
import { CallExample, Guide, useGuide } from "./guide.tsx";

export function OverviewPage() {
  const guide = useGuide();
  const { emails, isNew, isGuided } = guide;
  // The guide stays above the figures; before the first email there are none.
  const hasFigures = !isGuided || isNew === false;
  return (
    <Page title="Overview">
      {isGuided && <Guide progress={guide.progress} queries={guide.queries} />}
      {hasFigures && <StatsCard />}
      {hasFigures && <Newest emails={emails} />}
      <SimpleGrid cols={{ base: 1, md: 2 }} spacing="lg">
        {hasFigures && <DomainsCard />}
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
        <Text c="dimmed">No emails yet. Send a test email from the Emails page.</Text>
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
            Show all emails
          </AnchorLink>
        </Stack>
      ) : (
        <ProblemAlert error={emails.error} onRetry={() => void emails.refetch()} />
      )}
    </Section>
  );
}
