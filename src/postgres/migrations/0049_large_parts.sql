-- A large part of an email's content as octets, in pieces of at most 256 KiB; `data` is then '*', which no program reads as content. Small parts,
-- and all parts of earlier releases, are text in `data`. Uncompressed: attachments rarely compress, and trying takes longer than storing them.
alter table email_contents add column bytes bytea, alter column bytes set storage external;
