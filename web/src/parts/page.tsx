/** The head of a page and the width of its content: one heading, what it is for, and its main acts. */
import { Group, Stack, Text, Title } from "@mantine/core";
import type { ReactNode } from "react";

export function Page(props: {
  title: string;
  /** Beside the heading, such as a status. */
  mark?: ReactNode;
  intro?: ReactNode;
  actions?: ReactNode;
  /** Above the heading: the way back. */
  back?: ReactNode;
  children: ReactNode;
}) {
  const { title, mark, intro, actions, back, children } = props;
  return (
    <Stack gap="lg" maw={1040}>
      <title>{`${title} · Posthorn`}</title>
      <Stack gap="xs">
        {back}
        <Group justify="space-between" align="flex-start">
          <Group gap="sm" miw={0} maw="100%">
            <Title order={1} className="wrap">
              {title}
            </Title>
            {mark}
          </Group>
          {actions && <Group gap="xs">{actions}</Group>}
        </Group>
        {intro && (
          <Text c="dimmed" maw={680}>
            {intro}
          </Text>
        )}
      </Stack>
      {children}
    </Stack>
  );
}
