/** Sends a test email and leads to what happens to it. */
import { Card } from "@mantine/core";
import { useNavigate } from "@tanstack/react-router";
import { SendForm } from "../emails/send-form.tsx";
import { Back } from "../parts/back.tsx";
import { Page } from "../parts/page.tsx";

export function SendPage() {
  const navigate = useNavigate();
  return (
    <Page
      title="Send a test email"
      back={<Back to="/emails">Emails</Back>}
      intro="A real email, sent as your programs send theirs: queued, signed, delivered, and told of by events."
    >
      <Card withBorder padding="lg" maw={560}>
        <SendForm onSent={(id) => void navigate({ to: "/emails/$id", params: { id } })} />
      </Card>
    </Page>
  );
}
