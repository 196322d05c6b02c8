/** The first page: what Posthorn is, whether this instance is ready, and what to do next. */
import { Anchor, Card, Code, SimpleGrid, Stack, Text, Title } from "@mantine/core";
import { Link } from "@tanstack/react-router";
import { useSession } from "../api/session.ts";
import { ReadinessCard } from "../shell/readiness-card.tsx";
import { SignIn } from "../shell/sign-in.tsx";

export function OverviewPage() {
  const { key } = useSession();
  return (
    <Stack gap="xl" maw={960}>
      <title>Overview · Posthorn</title>
      <Stack gap="xs">
        <Title order={1}>Posthorn</Title>
        <Text size="lg" maw={640}>
          Transactional email on your own machine: an API that takes your mail, a queue that keeps it safe, a mail
          server that delivers it, and events that tell you what became of it.
        </Text>
      </Stack>
      <SimpleGrid cols={{ base: 1, md: 2 }} spacing="lg">
        <ReadinessCard />
        {key === undefined ? <SignIn /> : <NextSteps />}
      </SimpleGrid>
    </Stack>
  );
}

function NextSteps() {
  const call = [
    `curl ${location.origin}/v1.KeyService/ListKeys`,
    `-H "Authorization: Bearer $POSTHORN_KEY"`,
    `-H "Connect-Protocol-Version: 1"`,
    `-H "Content-Type: application/json"`,
    "-d '{}'",
  ].join(" \\\n  ");
  return (
    <Card withBorder padding="lg" component="section" aria-labelledby="next-steps">
      <Stack>
        <Title order={2} size="h3" id="next-steps">
          You are signed in
        </Title>
        <Text>
          Make a key for each program that sends, with no more permission than it needs, on the page{" "}
          <Anchor component={Link} to="/keys">
            API keys
          </Anchor>
          . Every method of the API is called in the same way:
        </Text>
        <Code block tabIndex={0} aria-label="Example call">
          {call}
        </Code>
      </Stack>
    </Card>
  );
}
