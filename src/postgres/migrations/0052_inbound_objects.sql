-- A received message that is in object storage: one piece, whose `data` is '*'. Without its row in content_objects, it is deleted.
alter table inbound_contents add column object uuid;
