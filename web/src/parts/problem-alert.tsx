/** An error state that says what happened and offers the next step. */
import { Alert, Button, Stack, Text } from "@mantine/core";
import { explain } from "../api/problem.ts";

export function ProblemAlert({ error, onRetry }: { error: unknown; onRetry?: () => void }) {
  const { title, message } = explain(error);
  return (
    <Alert color="red" title={title} role="alert">
      <Stack align="flex-start" gap="sm">
        <Text size="sm">{message}</Text>
        {onRetry && (
          <Button size="xs" variant="default" onClick={onRetry}>
            Try again
          </Button>
        )}
      </Stack>
    </Alert>
  );
}
