-- A part of an email's content that is in object storage: one piece, whose `data` is '*'. Without its row in content_objects, it is deleted.
alter table email_contents add column object uuid;
