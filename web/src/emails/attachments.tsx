/** The files of an email, each to take away. */
import { Button, Group, Stack, Text } from "@mantine/core";
import type { AttachmentInfo } from "../../../src/gen/v1/email_pb.ts";
import { download } from "../parts/download.ts";
import { ProblemAlert } from "../parts/problem-alert.tsx";
import { saySize } from "../parts/size.ts";
import type { RawAttachment } from "./parse-raw.ts";

export function Attachments(props: { listed: AttachmentInfo[]; files: RawAttachment[] | undefined; error: unknown }) {
  const { listed, files, error } = props;
  return (
    <Stack gap="sm">
      {Boolean(error) && <ProblemAlert error={error} />}
      <Stack component="ul" gap={0} className="list framed" aria-label="Attachments">
        {listed.map(({ filename, contentType, sizeBytes, contentId }, place) => (
          <Group component="li" key={`${filename} ${contentId} ${sizeBytes}`} justify="space-between" p="sm">
            <div className="wrap">
              <Text className="wrap">{filename}</Text>
              <Text size="sm" c="dimmed" className="wrap">
                {contentType} · {saySize(sizeBytes)}
                {contentId !== "" && ` · shown inline as ${contentId}`}
              </Text>
            </div>
            <Button
              size="xs"
              variant="default"
              disabled={!files?.[place]}
              aria-label={`Download ${filename}`}
              // Never with its own type: the browser must keep it as a file, not open it as a page.
              onClick={() => download(filename, files![place]!.content, "application/octet-stream")}
            >
              Download
            </Button>
          </Group>
        ))}
      </Stack>
    </Stack>
  );
}
