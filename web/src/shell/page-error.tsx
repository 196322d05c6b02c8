/** A page that could not be shown, most often because a newer version was installed while this one was open. */
import { Alert, Button, Stack, Text } from "@mantine/core";
import type { ErrorComponentProps } from "@tanstack/react-router";

export function PageError({ error }: ErrorComponentProps) {
  return (
    <Alert color="red" title="This page could not be shown" role="alert">
      <Stack align="flex-start" gap="sm">
        <Text size="sm">Posthorn may have been upgraded while the page was open. Loading it again usually helps.</Text>
        <Text size="sm" style={{ overflowWrap: "anywhere" }}>
          {error instanceof Error ? error.message : String(error)}
        </Text>
        <Button size="xs" variant="default" onClick={() => location.reload()}>
          Load again
        </Button>
      </Stack>
    </Alert>
  );
}
