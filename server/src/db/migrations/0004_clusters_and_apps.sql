-- Clusters as accounts define them, with states that hold over restarts and nodes, and apps.

alter table cluster
  -- sealed: of a connect engine
  add column token bytea,
  -- raised by every change of the state; whoever carries a start or an end out writes with the fence it took
  add column state_fence bigint not null default 0,
  add column state_since timestamptz not null default now(),
  -- hour boundaries count from here
  add column up_since timestamptz,
  -- of PENDING and TERMINATING: until then a node is at it; null or over: anybody may take it up
  add column worked_until timestamptz,
  -- of the last start, when it failed
  add column start_failure text,
  add column start_failed_at timestamptz,
  -- history refers to its clusters, so a row stays when its cluster goes
  add column deleted_at timestamptz;
create index cluster_up on cluster (id) where state = 'UP';
create index cluster_changing on cluster (id) where state in ('PENDING', 'TERMINATING');
create index cluster_sealed on cluster (id) where token is not null;

-- Since when a cluster is idle: whether one of its commands has not ended, and when the last of them did.
drop index command_by_cluster;
create index command_by_cluster on command (cluster_id, end_time);

create table app (
  id bigint generated always as identity primary key,
  account_id bigint not null default current_account_id() references account (id) on delete cascade,
  name text not null,
  kind text not null default 'spark' check (kind = 'spark'),
  config jsonb not null default '{}',
  created_at timestamptz not null default now()
);
create index app_by_account on app (account_id, id);
create index command_of_app on command (app_id) where app_id is not null and end_time is null;

alter table app enable row level security;
create policy own_account on app to headgate_account using (account_id = (select current_account_id()));
grant select, insert, update, delete on app to headgate_account;
