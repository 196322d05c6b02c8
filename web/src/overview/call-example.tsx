/** How a program sends: one call, ready to be copied. */
import { Group, Text } from "@mantine/core";
import { CopyButton } from "../parts/copy-button.tsx";
import { Section } from "../parts/section.tsx";
import { TextBlock } from "../parts/text-block.tsx";

export function CallExample({ domain }: { domain: string }) {
  const email = { from: `hello@${domain}`, to: ["delivered@there.test"], subject: "Hello", body: "It works." };
  const call = [
    `curl ${location.origin}/v1.EmailService/SendEmail`,
    `-H "Authorization: Bearer $POSTHORN_KEY"`,
    `-H "Connect-Protocol-Version: 1"`,
    `-H "Content-Type: application/json"`,
    `-d '${JSON.stringify(email)}'`,
  ].join(" \\\n  ");
  return (
    <Section title="From your program" actions={<CopyButton value={call} name="the call" />}>
      <Group gap="xs">
        <Text>Every method of the API is called in the same way:</Text>
      </Group>
      <TextBlock text={call} label="Example call" />
    </Section>
  );
}
