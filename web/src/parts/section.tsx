/** A part of a page with a heading of its own. */
import { Card, Group, Stack, Title } from "@mantine/core";
import { type ReactNode, useId } from "react";

export function Section(props: { title: string; mark?: ReactNode; actions?: ReactNode; children: ReactNode }) {
  const id = useId();
  return (
    <Card withBorder padding="lg" component="section" aria-labelledby={id}>
      <Stack>
        <Group justify="space-between">
          <Group gap="sm">
            <Title order={2} size="h3" id={id}>
              {props.title}
            </Title>
            {props.mark}
          </Group>
          {props.actions && <Group gap="xs">{props.actions}</Group>}
        </Group>
        {props.children}
      </Stack>
    </Card>
  );
}
