-- What is still to be put into the storage of its account: of an attempt that has ended its log, and its result where
-- that is the command's. Written with the end of the attempt, taken away when all of it is there: the table is as large
-- as what is left to do, not as the history.
create table command_publishing (
  command_id bigint not null references command (id) on delete cascade,
  attempt integer not null,
  account_id bigint not null default current_account_id() references account (id) on delete cascade,
  -- the node that has the files
  node_id uuid not null,
  tries integer not null default 0,
  due_at timestamptz not null default now(),
  -- why the last try failed, for people
  failure text,
  primary key (command_id, attempt)
);
create index command_publishing_due on command_publishing (node_id, account_id, due_at);

alter table command_publishing enable row level security;
create policy own_account on command_publishing to headgate_account using (account_id = (select current_account_id()));
grant select on command_publishing to headgate_account;

-- Where the other nodes reach it, for what is on it alone; null: they do not.
alter table node add column address text;

-- The node that ran it, and has its files; null: before this was noted, when there was but one.
alter table command_attempt add column node_id uuid;
