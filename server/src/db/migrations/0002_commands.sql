-- Clusters, nodes, commands and their queue. The command row is the job: there is no second truth beside it.

create table cluster (
  id bigint generated always as identity primary key,
  account_id bigint not null default current_account_id() references account (id) on delete cascade,
  engine jsonb not null,
  spark_config jsonb not null default '{}',
  pools jsonb not null default '{}',
  max_concurrent_commands integer,
  idle_cluster_timeout_hours integer,
  idle_cluster_timeout_seconds integer,
  state text not null default 'DOWN' check (state in ('DOWN', 'PENDING', 'UP', 'TERMINATING')),
  created_at timestamptz not null default now(),
  updated_at timestamptz not null default now()
);
create index cluster_by_account on cluster (account_id, id);

create table cluster_label (
  account_id bigint not null default current_account_id() references account (id) on delete cascade,
  label text not null,
  cluster_id bigint not null references cluster (id) on delete cascade,
  primary key (account_id, label)
);
create index cluster_label_by_cluster on cluster_label (cluster_id);

-- A running Headgate. Only the node that spawned a run adopts it again.
create table node (
  id uuid primary key,
  host text not null,
  boot_id text not null,
  state text not null default 'active' check (state in ('active', 'paused', 'draining', 'drained')),
  memory_budget_mib integer not null,
  version text not null,
  started_at timestamptz not null default now(),
  heartbeat_at timestamptz not null default now()
);

create table command (
  id bigint generated always as identity primary key,
  account_id bigint not null default current_account_id() references account (id) on delete cascade,
  user_id bigint not null,
  cluster_id bigint not null references cluster (id),
  label text not null,
  command_type text not null check (command_type in ('SparkCommand', 'HadoopCommand', 'HiveCommand')),
  -- the `command` object of the interface, secrets replaced by their mask; json keeps the order of its keys
  command json not null,
  -- sealed: values of the command that are secret (encryptionKey)
  secrets bytea,
  -- for the run, but not part of the interface's object
  options json,
  name text,
  template text not null default 'generic',
  pool text,
  app_id bigint,
  timeout_seconds integer,
  macros text,
  resolved_macros text,
  can_notify boolean not null default false,
  command_source text not null default 'API',
  request_id text not null,
  retry integer not null default 0,
  retry_delay_minutes integer not null default 0,
  status text not null default 'waiting'
    check (status in ('waiting', 'running', 'cancelling', 'done', 'error', 'cancelled')),
  progress integer not null default 0,
  created_at timestamptz not null default now(),
  start_time timestamptz,
  end_time timestamptz,
  pid integer,
  qlog text,
  num_result_dir integer not null default 0,
  -- the queue: every write after a claim carries the fence; zero rows written means stop
  fence bigint not null default 0,
  attempt integer not null default 0,
  -- null: free to be claimed by anybody; set: the node that runs it
  node_id uuid references node (id),
  -- null until the runner is spawned: what was never spawned may be claimed again freely
  handle jsonb,
  due_at timestamptz not null default now(),
  heartbeat_at timestamptz,
  memory_mib integer not null default 0,
  result_bytes bigint,
  log_bytes bigint
);
create index command_history on command (account_id, created_at desc, id desc);
create index command_history_of_user on command (account_id, user_id, created_at desc, id desc);
-- what waits, in the order it is due: small whatever is stored
create index command_waiting on command (cluster_id, due_at, id) where status = 'waiting' or (status = 'running' and node_id is null);
-- what a node holds
create index command_held on command (node_id) where status in ('running', 'cancelling');
create index command_active_by_account on command (account_id) where status in ('running', 'cancelling');
create index command_by_cluster on command (cluster_id);
create index command_sealed on command (id) where secrets is not null;
create index command_ended on command (end_time) where end_time is not null;

-- Tags in a table of their own: row-level security keeps array operators off their index.
create table command_tag (
  account_id bigint not null default current_account_id() references account (id) on delete cascade,
  command_id bigint not null references command (id) on delete cascade,
  tag text not null,
  created_at timestamptz not null,
  primary key (command_id, tag)
);
create index command_tag_history on command_tag (account_id, tag, created_at desc, command_id desc);

-- The program or query as it runs: inline text or the script read at submission, macros filled in. A rerun uses the
-- same text. `original` is null where nothing was filled in.
create table command_source_text (
  command_id bigint primary key references command (id) on delete cascade,
  account_id bigint not null default current_account_id() references account (id) on delete cascade,
  original text,
  resolved text not null
);

create table command_attempt (
  command_id bigint not null references command (id) on delete cascade,
  account_id bigint not null default current_account_id() references account (id) on delete cascade,
  number integer not null,
  started_at timestamptz not null default now(),
  ended_at timestamptz,
  exit_code integer,
  cause text,
  primary key (command_id, number)
);

-- Every account has one local cluster labelled `default`; the ones that are here already get theirs now.
with made as (insert into cluster (account_id, engine) select id, '{"type":"local"}' from account returning id, account_id)
insert into cluster_label (account_id, label, cluster_id) select account_id, 'default', id from made;

-- Nodes belong to no account.
alter table node enable row level security;
create policy no_account on node to headgate_account using (false);
alter table cluster enable row level security;
create policy own_account on cluster to headgate_account using (account_id = (select current_account_id()));
alter table cluster_label enable row level security;
create policy own_account on cluster_label to headgate_account using (account_id = (select current_account_id()));
alter table command enable row level security;
create policy own_account on command to headgate_account using (account_id = (select current_account_id()));
alter table command_tag enable row level security;
create policy own_account on command_tag to headgate_account using (account_id = (select current_account_id()));
alter table command_source_text enable row level security;
create policy own_account on command_source_text to headgate_account using (account_id = (select current_account_id()));
alter table command_attempt enable row level security;
create policy own_account on command_attempt to headgate_account using (account_id = (select current_account_id()));

grant select on node to headgate_account;
grant select, insert, update, delete on cluster, cluster_label to headgate_account;
grant select, insert, update on command to headgate_account;
grant select, insert on command_tag, command_source_text, command_attempt to headgate_account;
