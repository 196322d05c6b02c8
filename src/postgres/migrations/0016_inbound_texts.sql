-- The texts that GetInbound shows, so that a read needs no parsing. Null for a message of an earlier program, until it is read for the first
-- time, and for a message with very long texts.
alter table inbound_messages
  add column body text,
  add column new_text text,
  add column html text;
