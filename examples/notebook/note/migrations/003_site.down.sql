-- Takes the site away; the notes and what is published of them stay.
drop table notebook.builds;
drop function notebook.tell_build();
drop table notebook.site_assets;
drop table notebook.site_pages;
