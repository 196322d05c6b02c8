/** The dialog that shows new recovery codes once, to copy or to download. */
import { Alert, Button, Modal, SimpleGrid, Stack, Text } from "@mantine/core";
import { useState } from "react";
import { copyText } from "../parts/copy-button.tsx";
import { download } from "../parts/download.ts";

export function RecoveryCodes({ codes, onClose }: { codes: string[] | undefined; onClose(): void }) {
  const [copied, setCopied] = useState("");
  const text = (codes ?? []).join("\n");
  const copy = async () => setCopied((await copyText(text)) ? "Copied" : "Select the codes and copy them");
  const close = () => {
    setCopied("");
    onClose();
  };
  return (
    <Modal
      opened={codes !== undefined}
      onClose={close}
      title="Your recovery codes"
      // They are shown only once, so only the button closes the dialog.
      closeOnClickOutside={false}
      closeOnEscape={false}
      withCloseButton={false}
    >
      <Stack>
        <Text size="sm">Each of these codes signs you in once if you lose your app or your passkeys.</Text>
        <Alert color="yellow" role="alert">
          Store them safely, apart from your password. They are not shown again.
        </Alert>
        <ul className="codes" aria-label="Recovery codes">
          {codes?.map((code) => (
            <li key={code}>
              <code>{code}</code>
            </li>
          ))}
        </ul>
        <SimpleGrid cols={{ base: 1, xs: 2 }}>
          <Button variant="light" onClick={copy} aria-live="polite">
            {copied || "Copy codes"}
          </Button>
          <Button variant="light" onClick={() => download("posthorn-recovery-codes.txt", `${text}\n`, "text/plain")}>
            Download codes
          </Button>
        </SimpleGrid>
        <Button onClick={close}>I have saved them</Button>
      </Stack>
    </Modal>
  );
}
