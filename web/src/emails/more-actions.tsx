/** The menu with the less frequent actions on an email. */
import { ActionIcon, Menu } from "@mantine/core";
import { useNavigate } from "@tanstack/react-router";
import { useState } from "react";
import type { Email } from "../../../src/gen/v1/email_pb.ts";
import { copyText } from "../parts/copy-button.tsx";

export function MoreActions({ email }: { email: Email }) {
  const navigate = useNavigate();
  const [result, setResult] = useState("");
  const copy = async (name: string, value: string) =>
    setResult((await copyText(value)) ? `Copied ${name}` : `Copying ${name} failed`);
  return (
    <>
      <Menu position="bottom-end">
        <Menu.Target>
          <ActionIcon variant="default" size={36} aria-label="More actions">
            <span aria-hidden="true">···</span>
          </ActionIcon>
        </Menu.Target>
        <Menu.Dropdown>
          <Menu.Item onClick={() => void copy("the link", location.href)}>Copy link</Menu.Item>
          <Menu.Item onClick={() => void copy("the email id", email.id)}>Copy email id</Menu.Item>
          <Menu.Item onClick={() => void copy("the Message-ID", email.messageId)}>Copy Message-ID</Menu.Item>
          <Menu.Item onClick={() => void navigate({ to: "/events", search: { email: email.id, from: "0" } })}>
            Show as event log
          </Menu.Item>
        </Menu.Dropdown>
      </Menu>
      <span className="hidden" role="status">
        {result}
      </span>
    </>
  );
}
