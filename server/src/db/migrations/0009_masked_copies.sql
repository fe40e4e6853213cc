-- Whether the credentials of a copy, in its arguments and macros, are sealed and masked. Earlier versions have stored some
-- in the clear; a task of the server masks those, because a migration has no keys.
alter table command add column is_masked boolean not null default false;
create index command_unmasked on command (id) where command_type = 'HadoopCommand' and not is_masked;
