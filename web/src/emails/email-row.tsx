/** One email in a list: status, subject, recipients and time. */
import { Badge, Group, Text } from "@mantine/core";
import { Link } from "@tanstack/react-router";
import type { Email } from "../../../src/gen/v1/email_pb.ts";
import { StatusBadge } from "../parts/icons.tsx";
import { Time } from "../parts/time.tsx";
import { emailLabel } from "./labels.ts";

export function EmailRow({ email }: { email: Email }) {
  const others = email.to.length + email.cc.length + email.bcc.length - 1;
  return (
    <Link to="/emails/$id" params={{ id: email.id }} className="row">
      <StatusBadge of={emailLabel(email.status)} />
      <div className="middle">
        <Group gap="xs" wrap="nowrap">
          <Text fw={600} className="cut" dir="auto">
            {email.subject || "(no subject)"}
          </Text>
          {email.test && (
            <Badge variant="light" color="grape" size="sm" className="mark">
              Test
            </Badge>
          )}
        </Group>
        <Text size="sm" c="dimmed" className="cut">
          to {email.to[0]}
          {others > 0 && ` and ${others} more`}
        </Text>
      </div>
      <span className="aside">{email.createdAt && <Time at={email.createdAt} />}</span>
    </Link>
  );
}
