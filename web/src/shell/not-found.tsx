/** The pages for errors of navigation: an unknown URL, and a page that could not be loaded. The router uses them. */
import { Alert, Button, Stack, Text, Title } from "@mantine/core";
import type { ErrorComponentProps } from "@tanstack/react-router";
import { ButtonLink } from "../parts/links.tsx";

export function NotFound() {
  return (
    <Stack align="flex-start">
      <title>Not found · Posthorn</title>
      <Title order={1}>Page not found</Title>
      <Text>Check the URL. It may also belong to a newer version of Posthorn.</Text>
      <ButtonLink to="/" variant="default">
        Go to overview
      </ButtonLink>
    </Stack>
  );
}

/** A page that failed to load or render, usually because Posthorn was upgraded while the dashboard was open. */
export function PageError({ error }: ErrorComponentProps) {
  return (
    <Alert color="red" title="This page could not be loaded" role="alert">
      <Stack align="flex-start" gap="sm">
        <Text size="sm">Posthorn may have been upgraded while the page was open. Reloading usually helps.</Text>
        <Text size="sm" style={{ overflowWrap: "anywhere" }}>
          {error instanceof Error ? error.message : String(error)}
        </Text>
        <Button size="xs" variant="default" onClick={() => location.reload()}>
          Reload page
        </Button>
      </Stack>
    </Alert>
  );
}
