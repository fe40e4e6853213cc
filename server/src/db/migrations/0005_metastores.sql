-- The Hive metastore of an account that has used Spark. Its tables are in a database of their own on the same server,
-- which bears the name of this one and the account's id, as does the only role that may enter it.
create table metastore (
  account_id bigint primary key references account (id) on delete cascade,
  -- sealed: of that role
  password bytea not null,
  -- sealed: what a Spark shows to the metastore's process to be let in
  secret bytea not null,
  created_at timestamptz not null default now()
);

-- Nobody but the server itself has to do with it.
alter table metastore enable row level security;
create policy no_account on metastore to headgate_account using (false);
