-- Takes away what is published of the notes; the notes stay.
alter table notebook.identity drop column webhook_key, drop column endpoint_id;
drop trigger notes_publish on notebook.notes;
drop trigger notes_publish_new on notebook.notes;
drop function notebook.keep_publications();
drop table notebook.publications;
alter table notebook.notes drop column published_at;
