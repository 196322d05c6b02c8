/** An address that is no page of the dashboard. */
import { Stack, Text, Title } from "@mantine/core";
import { ButtonLink } from "../parts/links.tsx";

export function NotFound() {
  return (
    <Stack align="flex-start">
      <title>Not found · Posthorn</title>
      <Title order={1}>There is no such page</Title>
      <Text>The address may be mistyped, or it belongs to a newer version of Posthorn.</Text>
      <ButtonLink to="/" variant="default">
        Go to the overview
      </ButtonLink>
    </Stack>
  );
}
