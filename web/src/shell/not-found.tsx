/** The pages for errors of navigation: an unknown URL, and a page that could not be loaded. The router uses them. */
import { Alert, Button, Stack, Text } from "@mantine/core";
import type { ErrorComponentProps } from "@tanstack/react-router";
import { ButtonLink } from "../parts/links.tsx";
import { Page } from "../parts/page.tsx";
import { Empty } from "../parts/states.tsx";

export function NotFound() {
  return (
    <Page title="Page not found">
      <Empty
        action={
          <ButtonLink to="/" variant="default">
            Go to overview
          </ButtonLink>
        }
      >
        There is no page at this address. Check it for typos, or find the page in the menu.
      </Empty>
    </Page>
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
