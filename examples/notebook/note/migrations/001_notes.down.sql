-- Takes the notes away, with everything in them.
drop schema if exists notebook cascade;
