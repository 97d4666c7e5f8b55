-- Ends all logins to the Tasks panel.
drop table postbus.login_links;
drop table postbus.sessions;
